/* paceline get-model: what a job on a cluster has trained, out of its chief's memory. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/cli.h"
#include "cli/base/format.h"
#include "cli/base/options.h"
#include "cli/cluster/cluster_job.h"
#include "cli/run/folder.h"
#include "paceline/digest.h"
#include "paceline/file.h"
#include "paceline/json.h"
#include "paceline/mem.h"

#define STREAM_VERSION 1 /* docs/reference/agent-programs.md */
#define MODEL_FILE "model.safetensors"
#define JOB_FILE "job.json"
#define CONTAINER "trainer" /* unless the template names it */
#define EXEC_HEAD "exec", c->pod, "-c", c->container, "--", "paceline-agent", "model"

static const struct option_row option_rows[] = {
    NAMESPACE_OPTION("NS", "where the job is (default: the context's)"),
    TEXT_OPTION("context", context, "NAME", "which cluster (default: kubectl's current context)"),
    OUT_OPTION("DIR", "where " MODEL_FILE " and " JOB_FILE " go (default: the job's name)"),
};

static const struct command_line command = {
    COMMAND_OPTIONS(option_rows),
    COMMAND_OPERANDS(1, "JOB"),
    .before = "usage: paceline get-model JOB [options]\n"
              "Fetches the model that a job on a cluster has trained, and its job file. It asks "
              "kubectl, and\n"
              "is a plugin of it, too: kubectl paceline get-model JOB.\n",
    .after = "examples:\n"
             "  paceline get-model fashion-cnn -n team -o models\n",
};

/* The stream of `paceline-agent model`; the parts point into it. */
struct model_stream {
    struct buf stream;
    cJSON *head;
    const char *job, *bytes;
    size_t job_len, len;
};

static void model_release(struct model_stream *m)
{
    buf_release(&m->stream);
    cJSON_Delete(m->head);
}

/* The bytes of a part as the head announces them; -1: it does not. */
static int64_t get_model_announced(const cJSON *head, const char *field)
{
    double n = cluster_number(head, field);

    return n >= 0 && n < 0x1p53 ? (int64_t)n : -1;
}

static int check_length(const struct model_stream *m, size_t begin, struct err *err)
{
    int64_t job = get_model_announced(m->head, "jobBytes"),
            model = get_model_announced(m->head, "modelBytes");
    int64_t found = (int64_t)(m->stream.len - begin);

    if (job < 0 || model < 0)
        return err_set(err, ERR_DAMAGED, "the pod does not say how long its model is");
    if (found != job + model)
        return err_set(err, ERR_TRANSIENT, "the stream was cut: %lld of %lld bytes came; try again",
                       (long long)found, (long long)(job + model));
    return 0;
}

/* Finds the parts, and whether they are whole. */
static int get_model_take_apart(struct model_stream *m, struct err *err)
{
    const char *end = memchr(m->stream.data, '\n', m->stream.len);
    size_t begin = end ? (size_t)(end + 1 - m->stream.data) : 0;
    char digest[17];

    if (!end || json_parse(&m->head, m->stream.data, begin, "its first line", err) < 0)
        return err_set(err, ERR_DAMAGED, "what came is not the stream of `paceline-agent model`");
    if (get_model_announced(m->head, "version") != STREAM_VERSION)
        return err_set(err, ERR_INVALID,
                       "the pod sends version %lld of the stream, this program knows %d; use that "
                       "of the worker's image",
                       (long long)get_model_announced(m->head, "version"), STREAM_VERSION);
    if (check_length(m, begin, err) < 0)
        return -1;
    m->job = m->stream.data + begin;
    m->job_len = (size_t)get_model_announced(m->head, "jobBytes");
    m->bytes = m->job + m->job_len;
    m->len = (size_t)get_model_announced(m->head, "modelBytes");
    snprintf(digest, sizeof digest, "%016" PRIx64, digest_bytes(m->bytes, m->len));
    if (strcmp(digest, cluster_text(m->head, "modelDigest")) != 0)
        return err_set(
            err, ERR_DAMAGED,
            "the model was damaged on its way: its digest is %s, it was sent with %.40s; "
            "try again",
            digest, cluster_text(m->head, "modelDigest"));
    return 0;
}

struct chief {
    char pod[256]; /* "": none runs */
    char container[64];
};

/* The first container is the engine's; others may have been put beside it. */
static void take_chief(struct chief *c, const cJSON *pod)
{
    const cJSON *containers = cluster_field(pod, "spec.containers"), *item;
    const char *name = cluster_text(cJSON_GetArrayItem(containers, 0), "name");

    cJSON_ArrayForEach(item, containers)
    {
        if (strcmp(cluster_text(item, "name"), CONTAINER) == 0)
            name = CONTAINER;
    }
    snprintf(c->pod, sizeof c->pod, "%s", cluster_text(pod, "metadata.name"));
    snprintf(c->container, sizeof c->container, "%s", *name ? name : CONTAINER);
}

/* The newest pod of worker 0 that runs. */
static int find_chief(const struct kubectl *k, const char *job, struct chief *c, struct err *err)
{
    AUTO(auto_free)
    char *selector =
        xasprintf("paceline.dev/job-name=%s,paceline.dev/role=worker,paceline.dev/index=0", job);
    const char *const arguments[] = {"get", "pods", "-l", selector, "-o", "json", NULL};
    AUTO(auto_json) cJSON *list = NULL;
    const cJSON *item;
    const char *newest = "";

    *c = (struct chief){0};
    if (kubectl_json(k, arguments, &list, err) < 0)
        return -1;
    cJSON_ArrayForEach(item, cluster_field(list, "items"))
    {
        const char *time = cluster_text(item, "metadata.creationTimestamp");

        if (strcmp(cluster_text(item, "status.phase"), "Running") != 0 || strcmp(time, newest) < 0)
            continue;
        newest = time;
        take_chief(c, item);
    }
    return 0;
}

static int get_model_explain_end(const cJSON *job, const char *name, struct err *err)
{
    AUTO(buf_release) struct buf volume = {0};
    const char *path = cluster_text(job, "spec.output.subPath");

    if (!cluster_field(job, "spec.output.volume"))
        return err_set(err, ERR_GONE,
                       "job %s has succeeded, but the pod of its worker 0 is gone and the model "
                       "with it; spec.output.volume keeps models beyond their pods",
                       name);
    buf_init(&volume, 200);
    json_print(cluster_field(job, "spec.output.volume"), 0, &volume);
    return err_set(err, ERR_GONE,
                   "job %s has succeeded and the pod of its worker 0 is gone; the model is in the "
                   "folder %s%s%s of its volume %s",
                   name, path, *path ? "/" : "", name, volume.data);
}

/* Why there is no model to fetch, by the job; what was found so far stays where that says more. */
static int get_model_explain(const struct kubectl *k, const char *name, bool pod_runs,
                             struct err *err)
{
    AUTO(auto_json) cJSON *job = NULL;
    struct err why;

    if (cluster_job_get(k, name, &job, &why) < 0) {
        if (pod_runs) /* and its own sentence is better */
            return -1;
        if (why.code == ERR_NOT_FOUND && k->namespace_)
            return err_set(err, ERR_NOT_FOUND, "there is no job %s in namespace %s", name,
                           k->namespace_);
        if (why.code == ERR_NOT_FOUND)
            return err_set(err, ERR_NOT_FOUND,
                           "there is no job %s in the context's namespace; -n names another", name);
        *err = why;
        return -1;
    }
    if (!cluster_field(job, "spec.model"))
        return err_set(err, ERR_INVALID,
                       "job %s has no spec.model: its own program knows where its model is", name);
    if (cluster_job_says(job, "Failed", "True"))
        return err_set(err, ERR_GONE, "job %s has failed and left no model: %s", name,
                       cluster_job_says(job, "Failed", "True"));
    if (!cluster_job_says(job, "Succeeded", "True"))
        return err_set(err, ERR_TRANSIENT, "job %s %s: %s", name,
                       cluster_job_trains(job) ? "is still training" : "has not trained yet",
                       cluster_job_progress(job).s);
    return pod_runs ? -1 : get_model_explain_end(job, name, err);
}

static int get_model_fetch(const struct kubectl *k, const char *name, struct chief *c,
                           struct model_stream *m, struct err *err)
{
    if (find_chief(k, name, c, err) < 0)
        return -1;
    if (!*c->pod)
        return get_model_explain(k, name, false, err);
    buf_init(&m->stream, 0);
    if (kubectl_run(k, (const char *const[]){EXEC_HEAD, NULL}, NULL, &m->stream, err) == 0)
        return get_model_take_apart(m, err);
    if (err->code == ERR_FORBIDDEN)
        return err_wrap(err, "the model is in the memory of a pod, and you may not `create "
                             "pods/exec` there");
    if (err->code == ERR_GONE || err->code == ERR_NOT_FOUND)
        return get_model_explain(k, name, err->code == ERR_GONE, err);
    return err_wrap(err, "pod %s", c->pod);
}

/* The model last: where it is, its job is. */
static int get_model_store(const struct model_stream *m, const char *path, struct err *err)
{
    AUTO(folder_release) struct folder folder = {.lock = -1};
    AUTO(auto_free) char *job = NULL;
    AUTO(auto_free) char *model = NULL;

    if (folder_take(&folder, path, true, err) < 0)
        return -1;
    job = folder_file(&folder, JOB_FILE);
    model = folder_file(&folder, MODEL_FILE);
    if (file_write_atomic(job, m->job, m->job_len, err) < 0)
        return -1;
    return file_write_atomic(model, m->bytes, m->len, err);
}

/* The pod may end; where that cannot be said it ends by itself later. */
static void get_model_let_go(const struct kubectl *k, const struct chief *c)
{
    AUTO(buf_release) struct buf out;
    struct err err;

    buf_init(&out, 4096);
    if (kubectl_run(k, (const char *const[]){EXEC_HEAD, "--fetched", NULL}, NULL, &out, &err) < 0)
        fprintf(stderr,
                "paceline get-model: pod %s stays until its spec.output.keepSeconds are over, for "
                "it could not be told that its model is here: %s\n",
                c->pod, err.msg);
}

static int get_model(const struct options *o, struct err *err)
{
    AUTO(kubectl_release) struct kubectl k;
    AUTO(model_release) struct model_stream m = {0};
    const char *out = o->out ? o->out : o->operand;
    struct chief chief;

    kubectl_init(&k, o->context, o->namespace_);
    if (get_model_fetch(&k, o->operand, &chief, &m, err) < 0 || get_model_store(&m, out, err) < 0)
        return -1;
    get_model_let_go(&k, &chief);
    const double r2 = cluster_number(m.head, "r2");

    printf("%s/%s: %s, step %s, test %s %s, digest %s\n", out, MODEL_FILE,
           format_bytes((double)m.len).s, format_count(cluster_number(m.head, "step")).s,
           isfinite(r2) ? "R2" : "accuracy",
           isfinite(r2) ? format_loss(r2).s : format_percent(cluster_number(m.head, "accuracy")).s,
           cluster_text(m.head, "digest"));
    return 0;
}

/* A name of a job, which becomes part of a selector and of a path. */
static bool get_model_is_name(const char *text)
{
    return *text >= 'a' && *text <= 'z' &&
           text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0';
}

int cmd_get_model(int argc, char **argv)
{
    AUTO(options_release) struct options o;
    struct err err;
    int code;

    if (!options_parse(&o, argc, argv, &command, &code))
        return code;
    if (!get_model_is_name(o.operand))
        return cli_usage_error("get-model", "\"%s\" is no job's name", o.operand);
    if (get_model(&o, &err) == 0)
        return EXIT_OK;
    fprintf(stderr, "paceline get-model: %s\n", err.msg);
    return err_exit_code(err.code);
}
