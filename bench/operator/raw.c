/*
 * The yardstick of the operator's speed: the same creates as fast as eight clients can send them.
 *
 * Reads the TrainingJobs of a namespace (they say managedBy somebody else, so that no operator
 * acts), makes the objects and pods that the operator would make, byte for byte, and creates them
 * over keep-alive TLS connections, one thread each. Prints one line: requests, failures and
 * seconds.
 *
 *   raw --server URL --ca FILE --token TEXT --namespace NS [--connections 8] [--bare]
 *
 * --bare leaves out our finalizer, so that the garbage collector can remove the pods by itself.
 */
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <curl/curl.h>

#include "operator/objects/objects.h"
#include "paceline/json.h"
#include "paceline/mem.h"

enum { MAX_CONNECTIONS = 64 };

struct raw_request {
    char *path, *body;
};
struct raw {
    const char *server, *ca, *token, *namespace_;
    int connections;
    bool bare;
    struct raw_request *requests;
    size_t n, cap;
    atomic_size_t next, failures;
};

/* The object without its finalizers; frees text. */
static char *without_finalizers(char *text)
{
    AUTO(auto_json) cJSON *object = cJSON_Parse(text);

    free(text);
    cJSON_DeleteItemFromObject(cJSON_GetObjectItem(object, "metadata"), "finalizers");
    return cJSON_PrintUnformatted(object);
}

static void add(struct raw *raw, const char *path, struct buf *body)
{
    char *text = STEAL(body->data);

    if (raw->bare)
        text = without_finalizers(text);
    if (raw->n == raw->cap) {
        raw->cap = raw->cap ? 2 * raw->cap : 1024;
        raw->requests = xrealloc(raw->requests, raw->cap * sizeof *raw->requests);
    }
    raw->requests[raw->n++] = (struct raw_request){xstrdup(path), text};
}

static int add_pods(struct raw *raw, const struct objects_config *config, const struct tj *tj,
                    enum cluster_role role, struct err *err)
{
    struct pod_maker *maker = pod_maker_new(config, tj, role, err);
    char path[512];

    if (!maker)
        return -1;
    snprintf(path, sizeof path, "/api/v1/namespaces/%s/pods", tj->meta.namespace_);
    for (int i = 0; i < tj->job->replicas[role].replicas; i++) {
        AUTO(buf_release) struct buf body;

        buf_init(&body, 0);
        pod_maker_body(maker, i, 0, &body);
        add(raw, path, &body);
    }
    pod_maker_free(maker);
    return 0;
}

/* Everything that the operator creates for the job in its first generation, in its order. */
static int add_job(struct raw *raw, const cJSON *object, struct err *err)
{
    static const unsigned char master_key[32];
    const struct objects_config config = {.operator_namespace = "paceline-system",
                                          .worker_image = "paceline",
                                          .master_key = master_key};
    struct tj *tj = NULL;

    if (tj_decode(&tj, object, err))
        return -1;
    if (!tj->job) {
        err_set(err, ERR_INVALID, "%s: %s", tj->meta.name, tj->problem);
        tj_free(tj);
        return -1;
    }
    tj->status.world.generation = 1;
    for (enum cluster_role r = 0; r < N_CLUSTER_ROLES; r++)
        tj->status.world.replicas[r] = tj->job->replicas[r].replicas;
    int rc = 0;
    for (enum owned_kind kind = 0; kind < N_OWNED && !rc; kind++) {
        AUTO(buf_release) struct buf body;
        AUTO(buf_release) struct buf path;

        buf_init(&body, 0);
        buf_init(&path, 0);
        if (!owned_wanted(tj, kind))
            continue;
        rc = owned_body(&config, tj, kind, &body, err);
        owned_path(&path, tj, tj->meta.namespace_, kind);
        if (!rc)
            add(raw, path.data, &body);
    }
    for (enum cluster_role r = 0; r < N_CLUSTER_ROLES && !rc; r++)
        if (tj->job->replicas[r].replicas)
            rc = add_pods(raw, &config, tj, r, err);
    tj_free(tj);
    return rc;
}

static size_t keep(char *data, size_t size, size_t n, void *arg)
{
    buf_add(arg, data, size * n);
    return size * n;
}

static CURL *connection_new(const struct raw *raw, struct curl_slist **headers, struct buf *answer)
{
    CURL *curl = curl_easy_init();
    AUTO(buf_release) struct buf line;

    buf_init(&line, 0);
    buf_printf(&line, "Authorization: Bearer %s", raw->token);
    *headers = curl_slist_append(NULL, line.data);
    *headers = curl_slist_append(*headers, "Content-Type: application/json");
    *headers = curl_slist_append(*headers, "Expect:");
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, *headers);
    curl_easy_setopt(curl, CURLOPT_CAINFO, raw->ca);
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "paceline-raw");
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
    return curl;
}

/* GET when body is NULL; the HTTP status, or 0. */
static long perform(CURL *curl, const struct raw *raw, const char *path, const char *body)
{
    AUTO(buf_release) struct buf url;
    long status = 0;

    buf_init(&url, 0);
    buf_printf(&url, "%s%s", raw->server, path);
    curl_easy_setopt(curl, CURLOPT_URL, url.data);
    if (body) {
        curl_easy_setopt(curl, CURLOPT_POST, 1L);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)strlen(body));
    }
    if (curl_easy_perform(curl) == CURLE_OK)
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static void *send_all(void *arg)
{
    struct raw *raw = arg;
    struct curl_slist *headers = NULL;
    AUTO(buf_release) struct buf answer;
    CURL *curl = connection_new(raw, &headers, &answer);
    size_t i = 0;

    buf_init(&answer, 0);
    while ((i = atomic_fetch_add(&raw->next, 1)) < raw->n) {
        answer.len = 0;
        long status = perform(curl, raw, raw->requests[i].path, raw->requests[i].body);
        if (status != 201 && atomic_fetch_add(&raw->failures, 1) == 0)
            fprintf(stderr, "%s: %ld %.300s\n", raw->requests[i].path, status, answer.data);
    }
    curl_easy_cleanup(curl);
    curl_slist_free_all(headers);
    return NULL;
}

static int read_jobs(struct raw *raw, struct err *err)
{
    struct curl_slist *headers = NULL;
    AUTO(buf_release) struct buf answer;
    CURL *curl = connection_new(raw, &headers, &answer);
    char path[512];

    buf_init(&answer, 0);
    snprintf(path, sizeof path, "/apis/%s/namespaces/%s/trainingjobs", API_VERSION,
             raw->namespace_);
    long status = perform(curl, raw, path, NULL);
    curl_easy_cleanup(curl);
    curl_slist_free_all(headers);
    if (status != 200)
        return err_set(err, ERR_IO, "%s: %ld %.200s", path, status, answer.data);
    cJSON *list = cJSON_Parse(answer.data);
    const cJSON *item = NULL;
    int rc = list ? 0 : err_set(err, ERR_INVALID, "%s: no JSON", path);
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(list, "items"))
    {
        if (!rc)
            rc = add_job(raw, item, err);
    }
    cJSON_Delete(list);
    return rc;
}

static int options_parse(struct raw *raw, int argc, char **argv)
{
    static const struct option options[] = {{"server", required_argument, NULL, 's'},
                                            {"ca", required_argument, NULL, 'c'},
                                            {"token", required_argument, NULL, 't'},
                                            {"namespace", required_argument, NULL, 'n'},
                                            {"bare", no_argument, NULL, 'b'},
                                            {"connections", required_argument, NULL, 'k'},
                                            {NULL, 0, NULL, 0}};
    int option = 0;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 's':
            raw->server = optarg;
            break;
        case 'c':
            raw->ca = optarg;
            break;
        case 't':
            raw->token = optarg;
            break;
        case 'n':
            raw->namespace_ = optarg;
            break;
        case 'b':
            raw->bare = true;
            break;
        case 'k':
            raw->connections = (int)strtol(optarg, NULL, 10);
            break;
        default:
            return -1;
        }
    }
    return raw->server && raw->ca && raw->token && raw->namespace_ && raw->connections > 0 &&
                   raw->connections <= MAX_CONNECTIONS
               ? 0
               : -1;
}

int main(int argc, char **argv)
{
    struct raw raw = {.connections = 8};
    struct err err;
    pthread_t threads[MAX_CONNECTIONS];
    struct timespec begin, end;

    if (options_parse(&raw, argc, argv)) {
        fprintf(stderr,
                "usage: %s --server URL --ca FILE --token TEXT --namespace NS "
                "[--connections N] [--bare]\n",
                argv[0]);
        return 2;
    }
    curl_global_init(CURL_GLOBAL_DEFAULT);
    if (read_jobs(&raw, &err)) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < raw.connections; i++)
        if (pthread_create(&threads[i], NULL, send_all, &raw))
            return 1;
    for (int i = 0; i < raw.connections; i++)
        pthread_join(threads[i], NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%zu %zu %.3f\n", raw.n, (size_t)raw.failures,
           (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec));
    for (size_t i = 0; i < raw.n; i++) {
        free(raw.requests[i].path);
        free(raw.requests[i].body);
    }
    free(raw.requests);
    curl_global_cleanup();
    return raw.failures ? 1 : 0;
}
