#include "cli/cluster/cluster_run.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "cli/cluster/cluster_job.h"
#include "cli/run/progress.h"
#include "paceline/clock.h"
#include "paceline/json.h"
#include "paceline/mem.h"

#define LOOK_MS 1000
#define MISSES_MAX 5 /* looks in a row that fail */

/* The state of a job that is shown while it runs. */
struct cluster_view {
    struct progress line; /* for what the terminal can do */
    const char *name;
    struct sentence shown;
};

/* On a terminal one line that changes; else a line whenever it waits for something else. */
static void cluster_run_show(struct cluster_view *v, const cJSON *job)
{
    struct sentence text = cluster_job_progress(job);

    if (!v->line.live && cluster_job_trains(job))
        snprintf(text.s, sizeof text.s, "trains");
    if (strcmp(text.s, v->shown.s) == 0)
        return;
    v->shown = text;
    progress_note(&v->line, "%s: %s", v->name, text.s);
}

/* The effective job, in the namespace that kubectl is given. */
static void manifest(const struct job *job, struct buf *out)
{
    AUTO(auto_json) cJSON *tree = NULL;
    AUTO(buf_release) struct buf text;

    buf_init(&text, 0);
    job_to_json(job, &text);
    tree = cJSON_ParseWithLength(text.data, text.len);
    cJSON_DeleteItemFromObjectCaseSensitive(cJSON_GetObjectItemCaseSensitive(tree, "metadata"),
                                            "namespace");
    json_print(tree, 0, out);
}

static int cluster_run_create(const struct cluster_run *s, const struct job *job, struct err *err)
{
    static const char *const arguments[] = {"create", "-f", "-", NULL};
    AUTO(buf_release) struct buf text;
    AUTO(buf_release) struct buf out;

    buf_init(&text, 0);
    buf_init(&out, KUBECTL_OUTPUT_MAX);
    manifest(job, &text);
    if (kubectl_run(s->kubectl, arguments, text.data, &out, err) == 0)
        return 0;
    if (err->code == ERR_CONFLICT)
        return err_set(err, ERR_CONFLICT,
                       "there is a job %s already; remove it with `kubectl delete tj %s`",
                       job->name, job->name);
    return err_wrap(err, "job %s", job->name);
}

/* Gives the job up: because it has not trained for so long. */
static int give_up(const struct cluster_run *s, const cJSON *tj, const char *name, struct err *err)
{
    struct sentence warning = cluster_job_warning(s->kubectl, name);

    return err_set(err, ERR_TRANSIENT, "job %s has not trained for %lld s: %s%s%s", name,
                   (long long)s->patience, cluster_job_progress(tj).s, *warning.s ? "; " : "",
                   warning.s);
}

/* 1: it has succeeded; 0: not yet. */
static int cluster_run_judge(const struct cluster_run *s, const cJSON *tj, const char *name,
                             int64_t since_ms, struct err *err)
{
    if (cluster_job_says(tj, "Succeeded", "True"))
        return 1;
    if (cluster_job_says(tj, "Failed", "True"))
        return err_set(err, ERR_GONE, "job %s has failed: %s", name,
                       cluster_job_says(tj, "Failed", "True"));
    return clock_ms() - since_ms < 1000 * s->patience ? 0 : give_up(s, tj, name, err);
}

/* Until it has succeeded; *tj is then its last state. */
static int await(const struct cluster_run *s, struct cluster_view *v, cJSON **tj, struct err *err)
{
    int64_t since_ms = clock_ms(); /* when it trained last */
    int misses = 0, rc = 0;

    while (rc == 0) {
        cJSON_Delete(STEAL(*tj));
        if (cluster_job_get(s->kubectl, v->name, tj, err) < 0) {
            if (err->code == ERR_INTERRUPTED || err->code == ERR_NOT_FOUND || ++misses > MISSES_MAX)
                return -1;
        } else {
            misses = 0;
            if (cluster_job_trains(*tj))
                since_ms = clock_ms();
            rc = cluster_run_judge(s, *tj, v->name, since_ms, err);
            if (rc == 0)
                cluster_run_show(v, *tj);
        }
        if (rc == 0 && kubectl_pause(s->kubectl, LOOK_MS, err) < 0)
            return -1;
    }
    return rc < 0 ? -1 : 0;
}

static int cluster_run_take_speed(const cJSON *tj, const char *name, double *speed, struct err *err)
{
    *speed = cluster_number(tj, "status.progress.samplesPerSecond");
    if (!(*speed > 0))
        return err_set(err, ERR_DAMAGED, "job %s has succeeded, but its status has no throughput",
                       name);
    if (cluster_number(tj, "status.launch.generation") > 1)
        fprintf(stderr, "job %s was launched %.0f times; what is measured is the last launch\n",
                name, cluster_number(tj, "status.launch.generation"));
    return 0;
}

/* With its pods, unless the user is in a hurry. */
static void remove_job(const struct cluster_run *s, const char *name, bool hurry)
{
    const char *const arguments[] = {"delete",
                                     "trainingjobs.paceline.dev",
                                     name,
                                     "--ignore-not-found",
                                     hurry ? "--wait=false" : "--cascade=foreground",
                                     hurry ? NULL : "--timeout=60s",
                                     NULL};
    AUTO(buf_release) struct buf out;
    struct err err;

    buf_init(&out, KUBECTL_OUTPUT_MAX);
    if (kubectl_run(s->kubectl, arguments, NULL, &out, &err) < 0)
        fprintf(stderr, "job %s is left behind: %s; remove it with `kubectl delete tj %s`\n", name,
                err.msg, name);
}

int cluster_run(const struct cluster_run *s, const struct job *job, double *samples_per_second,
                struct err *err)
{
    AUTO(auto_json) cJSON *tj = NULL;
    struct cluster_view view = {.name = job->name};
    int rc;

    progress_init(&view.line, stderr);
    if (cluster_run_create(s, job, err) < 0) {
        if (err->code == ERR_INTERRUPTED && !s->keep) /* it may have been made all the same */
            remove_job(s, job->name, true);
        return -1;
    }
    rc = await(s, &view, &tj, err);
    progress_end(&view.line);
    if (rc == 0)
        rc = cluster_run_take_speed(tj, job->name, samples_per_second, err);
    if (!s->keep)
        remove_job(s, job->name, rc < 0);
    return rc;
}
