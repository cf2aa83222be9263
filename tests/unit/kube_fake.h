/* tests/operator/fake_server.py as a subprocess, and one-line requests to it. */
#ifndef PACELINE_TESTS_UNIT_KUBE_FAKE_H
#define PACELINE_TESTS_UNIT_KUBE_FAKE_H

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "operator/kube/client.h"
#include "operator/kube/kubeconfig.h"
#include "paceline/json.h"
#include "tests/unit/kube_pki.h"
#include "tests/unit/scratch.h"

#define PATIENCE_MS 20000 /* a call without an end by then has failed */

struct fake {
    char *folder; /* ca, server, other (a wrong host), client, stranger: .crt and .key */
    pid_t pid;
    int in;
    int https, other, http, proxy; /* ports */
};

static inline void fake_certificates(const char *folder)
{
    AUTO(pki_free) struct pki ca = pki_make(NULL, "test CA", NULL);
    AUTO(pki_free) struct pki stranger = pki_make(NULL, "stranger CA", NULL);
    AUTO(pki_free)
    struct pki server = pki_make(&ca, "server", "IP:127.0.0.1,DNS:api.example,DNS:localhost");
    AUTO(pki_free) struct pki other = pki_make(&ca, "other", "DNS:other.example");
    AUTO(pki_free) struct pki client = pki_make(&ca, "client", NULL);
    AUTO(pki_free) struct pki second = pki_make(&ca, "second client", NULL);

    pki_write(&ca, folder, "ca");
    pki_write(&stranger, folder, "stranger");
    pki_write(&server, folder, "server");
    pki_write(&other, folder, "other");
    pki_write(&client, folder, "client");
    pki_write(&second, folder, "second");
}

static inline void fake_start(struct fake *f)
{
    char *argv[] = {(char *)"python3", (char *)"tests/operator/fake_server.py", NULL, NULL};
    posix_spawn_file_actions_t actions;
    int in[2], out[2];
    FILE *ports;

    signal(SIGPIPE, SIG_IGN);
    f->folder = scratch_make();
    fake_certificates(f->folder);
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
        exit(1);
    argv[2] = f->folder;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    if (posix_spawnp(&f->pid, argv[0], &actions, NULL, argv, environ)) {
        fprintf(stderr, "python3 is needed\n");
        exit(1);
    }
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    f->in = in[1];
    ports = fdopen(out[0], "r");
    if (fscanf(ports, "%d %d %d %d", &f->https, &f->other, &f->http, &f->proxy) != 4)
        exit(1);
    fclose(ports);
}

static inline void fake_stop(struct fake *f)
{
    close(f->in); /* it ends by itself */
    waitpid(f->pid, NULL, 0);
    scratch_remove(f->folder);
}

/* A client by a kubeconfig of one cluster and one user, whose fields are given as flow YAML. */
static inline struct kube_client *fake_client(const struct fake *f, const char *cluster,
                                              const char *user,
                                              const struct kube_client_config *config)
{
    AUTO(auto_free)
    char *text = xasprintf("current-context: c\n"
                           "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
                           "clusters: [{name: k, cluster: {%s}}]\n"
                           "users: [{name: u, user: {%s}}]\n",
                           cluster, user);
    AUTO(auto_free) char *name = xasprintf("%s/config", f->folder);
    struct kube_client *client = NULL;
    struct kube_access access;
    struct err err = {0};

    CHECK_INT(kubeconfig_parse(&access, text, strlen(text), name, NULL, &err), 0);
    CHECK_STR(err.msg, "");
    CHECK_INT(kube_client_new(&client, &access, config, &err), 0);
    CHECK_STR(err.msg, "");
    if (!client)
        exit(1);
    return client;
}

static inline struct kube_client *fake_plain(const struct fake *f, const char *user)
{
    AUTO(auto_free)
    char *cluster =
        xasprintf("server: 'https://127.0.0.1:%d', certificate-authority: ca.crt", f->https);

    return fake_client(f, cluster, user, NULL);
}

static inline void auto_client(struct kube_client **c) { kube_client_free(*c); }

struct fake_answer {
    struct kube_client *client; /* for callbacks that do something */
    struct kube_call *call;
    int done, status;
    size_t len;
    int64_t retry_after_ms;
    char *body, *error;
    struct buf lines; /* each with a newline again */
    int n_lines, n_cut;
    uint64_t item_bytes;
    uint64_t received;
};

static inline void answer_release(struct fake_answer *a)
{
    free(a->body);
    free(a->error);
    buf_release(&a->lines);
}

static inline void answer_done(void *arg, const struct kube_response *r)
{
    struct fake_answer *a = arg;

    a->done++;
    a->call = NULL;
    a->status = r->status;
    a->len = r->len;
    a->retry_after_ms = r->retry_after_ms;
    a->received = r->received;
    CHECK(r->body != NULL);
    CHECK_INT(strlen(r->body), r->len);
    CHECK(!r->status == (r->error != NULL));
    free(a->body);
    free(a->error);
    a->body = xstrdup(r->body ? r->body : "");
    a->error = xstrdup(r->error ? r->error : "");
}

static inline void answer_line(void *arg, const struct kube_item *item)
{
    struct fake_answer *a = arg;

    a->n_cut += item->cut;
    a->item_bytes += item->received;
    CHECK_INT(strlen(item->text), item->len);
    if (!a->lines.data)
        buf_init(&a->lines, 0);
    buf_add(&a->lines, item->text, item->len);
    buf_puts(&a->lines, "\n");
    a->n_lines++;
}

static inline int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static inline void wait_done(struct kube_client *client, const struct fake_answer *a)
{
    int64_t end = now_ms() + PATIENCE_MS;

    while (!a->done && now_ms() < end)
        kube_client_poll(client, 100);
    CHECK_INT(a->done, 1);
}

static inline void begin(struct kube_client *client, struct fake_answer *a, enum kube_method method,
                         const char *path, const char *body)
{
    struct kube_request request = {.method = method,
                                   .path = path,
                                   .body = body,
                                   .body_len = body ? strlen(body) : 0,
                                   .timeout_ms = PATIENCE_MS};

    *a = (struct fake_answer){.client = client};
    a->call = kube_client_ops()->send(client, &request, answer_done, a);
}

static inline struct fake_answer request(struct kube_client *client, enum kube_method method,
                                         const char *path, const char *body)
{
    struct fake_answer a;

    begin(client, &a, method, path, body);
    wait_done(client, &a);
    return a;
}

static inline struct fake_answer get(struct kube_client *client, const char *path)
{
    return request(client, KUBE_GET, path, NULL);
}

static inline void begin_watch(struct kube_client *client, struct fake_answer *a, const char *path,
                               kube_item_fn *line, int64_t timeout_ms)
{
    static const struct sieve_field fields[] = {{.name = "text"}, {.name = "n"}, {.name = NULL}};
    struct kube_request r = {
        .method = KUBE_GET, .path = path, .timeout_ms = timeout_ms, .keep = fields};

    *a = (struct fake_answer){.client = client};
    a->call = kube_client_ops()->watch(client, &r, line, answer_done, a);
}

static inline struct fake_answer watch(struct kube_client *client, const char *path)
{
    struct fake_answer a;

    begin_watch(client, &a, path, answer_line, PATIENCE_MS);
    wait_done(client, &a);
    return a;
}

/* A list of objects with a field n; of the rest, `version` is kept. */
static inline struct fake_answer list(struct kube_client *client, const char *path)
{
    static const struct sieve_field fields[] = {{.name = "n"}, {.name = NULL}};
    static const struct sieve_field top[] = {
        {.name = "items", .fields = fields, .rule = SIEVE_ITEMS},
        {.name = "version"},
        {.name = NULL},
    };
    struct kube_request r = {
        .method = KUBE_GET, .path = path, .timeout_ms = PATIENCE_MS, .keep = top};
    struct fake_answer a = {.client = client};

    a.call = kube_client_ops()->list(client, &r, answer_line, answer_done, &a);
    wait_done(client, &a);
    return a;
}

/* A field of a JSON answer as text; the caller frees it. */
static inline char *field(const struct fake_answer *a, const char *name)
{
    AUTO(auto_json) cJSON *root = cJSON_Parse(a->body);
    const cJSON *node = cJSON_GetObjectItemCaseSensitive(root, name);
    char *printed, *text;

    if (!node)
        node = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(root, "headers"),
                                                name);
    if (cJSON_IsString(node))
        return xstrdup(node->valuestring);
    printed = node ? cJSON_PrintUnformatted(node) : NULL;
    text = xstrdup(printed ? printed : "absent");
    cJSON_free(printed);
    return text;
}

#define CHECK_FIELD(answer, name, want)                       \
    do {                                                      \
        AUTO(auto_free) char *field_ = field((answer), name); \
        CHECK_STR(field_, want);                              \
    } while (0)

#endif
