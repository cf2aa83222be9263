/* paceline-operator: puts credentials, web thread and control loop together. */
#include <inttypes.h>
#include <malloc.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "operator/kube/incluster.h"
#include "operator/loop.h"
#include "operator/masterkey.h"
#include "operator/options.h"
#include "operator/release.h"
#include "paceline/mem.h"

/*
 * Objects of a list live for milliseconds between others that live for days, so one arena keeps
 * them together, and what is free at its end goes back early. A threshold that is set stays.
 */
static void tune_malloc(void)
{
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
    mallopt(M_TRIM_THRESHOLD, 256 << 10);
}

static int64_t operator_wall_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static uint64_t random_number(void)
{
    uint64_t number = 0;

    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        number = (uint64_t)operator_wall_ms() << 16 ^ (uint64_t)getpid();
    return number;
}

/* Unique for each process, also where several have one host name. */
static void make_identity(char *out, size_t size, const char *wanted)
{
    char host[128] = "";

    gethostname(host, sizeof host - 1);
    if (wanted)
        snprintf(out, size, "%s", wanted);
    else
        snprintf(out, size, "%s_%08x", host[0] ? host : "paceline-operator",
                 (unsigned int)random_number());
}

/* *web stays NULL when nothing is to be served. */
static int start_web(struct web **web, const struct operator_options *o, struct err *err)
{
    const char *text = o->web_address;
    struct listener_address address;

    if (!text) /* the kubelet's probes come from outside; at a desk nobody else has to look */
        text = incluster_offered() ? ":8080" : "127.0.0.1:8080";
    if (strcmp(text, "none") == 0)
        return 0;
    if (listener_parse(&address, text, err) != 0)
        return -1;
    *web = web_start(&address, PACELINE_VERSION, operator_wall_ms(), err);
    return *web ? 0 : err_wrap(err, "--web-address %s", text);
}

/* With the key, when it is in a file, and the client; the loop does the rest. */
static int operator_run(const struct operator_options *o, const char *namespace_,
                        struct kube_client *client, struct err *err)
{
    unsigned char key[MASTERKEY_BYTES];
    const char *own = o->operator_namespace ? o->operator_namespace : namespace_;
    char identity[256];
    struct loop_config config = {.client = client};
    struct web *web = NULL;

    if (o->master_key_file && masterkey_read_file(key, o->master_key_file, err) != 0)
        return -1;
    loop_catch_signals(client);
    if ((o->reach_pods || incluster_offered()) && agent_transport_new(&config.agents, err) != 0)
        return -1;
    if (start_web(&web, o, err) != 0) {
        agent_transport_free(config.agents);
        return -1;
    }
    make_identity(identity, sizeof identity, o->identity);
    config.web = web;
    config.controller = (struct controller_config){
        .identity = identity,
        .namespace_ = o->all_namespaces ? NULL : namespace_,
        .operator_namespace = own,
        .lease_name = o->lease_name,
        .operator_version = PACELINE_VERSION,
        .elect = !o->no_election,
        .lease_ms = o->lease_ms,
        .renew_ms = o->renew_ms,
        .retry_ms = o->retry_ms,
        .max_writes = (int)o->max_writes,
        .page = (int)o->page,
        .per_second = o->qps,
        .burst = o->burst,
        .request_ms = o->request_ms,
        .master_key = o->master_key_file ? key : NULL,
        .cluster_domain = o->cluster_domain,
        .worker_image = o->worker_image,
        .seed = random_number(),
        .in_cluster = !o->reach_pods && incluster_offered(),
    };
    log_info("starting version=" PACELINE_VERSION " namespace=%s own=%s identity=%s web=%d",
             o->all_namespaces ? "*" : namespace_, own, identity, web ? web_port(web) : 0);
    loop_run(&config);
    agent_transport_free(config.agents);
    web_stop(web);
    OPENSSL_cleanse(key, sizeof key);
    return 0;
}

static int connect_and_run(const struct operator_options *o, struct err *err)
{
    AUTO(kube_access_release) struct kube_access access = {0};
    AUTO(auto_free) char *namespace_ = NULL;
    /* Reads, the Lease and watches do not wait for writes. */
    struct kube_client_config config = {.max_requests = (int)o->max_writes + 32};
    struct kube_client *client = NULL;
    int rc;

    if (kube_access_load(&access, o->kubeconfig, o->context, err) != 0)
        return -1;
    log_info("credentials: %s server=%s", access.source, access.server);
    if (o->namespace_)
        namespace_ = xstrdup(o->namespace_);
    else
        namespace_ = xstrdup(access.namespace_ ? access.namespace_ : "default");
    if (kube_client_new(&client, &access, &config, err) != 0)
        return -1;
    rc = o->release_finalizers
             ? release_finalizers(client, o->all_namespaces ? NULL : namespace_, o->request_ms, err)
             : operator_run(o, namespace_, client, err);
    kube_client_free(client);
    return rc;
}

int main(int argc, char **argv)
{
    struct operator_options options;
    struct err err;
    int exit_code;

    if (!options_parse(&options, argc, argv, &exit_code))
        return exit_code;
    log_init(options.log_level, "");
    tune_malloc();
    if (connect_and_run(&options, &err) == 0)
        return EXIT_OK;
    log_error("%s", err.msg);
    return err_exit_code(err.code);
}
