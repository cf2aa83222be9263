#include "cli/run/checkpoint_job.h"

#include <string.h>
#include <unistd.h>

#include "paceline/json.h"
#include "paceline/mem.h"
#include "worker/checkpoint/config.h"

/* The path of job.json beside the checkpoint. The caller frees it. */
static char *file_beside(const char *checkpoint)
{
    const char *slash = strrchr(checkpoint, '/');

    return xasprintf("%.*sjob.json", slash ? (int)(slash + 1 - checkpoint) : 0, checkpoint);
}

/* A checkpoint does not say where the data are; the job.json of the run does. */
static void take_place(struct job *job, const char *beside)
{
    AUTO(problems_release) struct problems problems = {0};
    AUTO(auto_job) struct job *run = job_load(beside, NULL, 0, &problems);

    if (!run || strcmp(run->name, job->name) != 0 || !run->dataset.name ||
        strcmp(run->dataset.name, job->dataset.name) != 0)
        return;
    free(job->dataset.path);
    job->dataset.path = STEAL(run->dataset.path);
    job->training.threads = run->training.threads;
}

/* Sets a path that is never opened, for a job that has none. */
static void add_place(struct word_list *sets, const struct word_list *given, const struct job *job)
{
    if (!job->dataset.path)
        word_list_add(sets, "spec.dataset.path=/");
    for (size_t i = 0; i < given->n; i++)
        word_list_add(sets, given->items[i]);
}

static struct job *apply_sets(const struct job *job, const char *checkpoint,
                              const struct word_list *sets, int *exit_code)
{
    AUTO(problems_release) struct problems problems = {0};
    AUTO(buf_release) struct buf text;
    struct job *result;

    buf_init(&text, 0);
    job_to_json(job, &text);
    result = job_parse(text.data, text.len, checkpoint, sets->items, sets->n, &problems);
    for (size_t i = 0; i < problems.n; i++) {
        fprintf(stderr, "%s\n", problems.items[i]);
        if (strstr(problems.items[i], "spec.dataset.path: found") && !job->dataset.path)
            fprintf(stderr,
                    "%s: a checkpoint does not say where its data are; --set "
                    "dataset.path=DIR does\n",
                    checkpoint);
    }
    if (result)
        job_make_absolute(result);
    *exit_code = result ? EXIT_OK : EXIT_INVALID;
    return result;
}

struct job *cli_checkpoint_job(const char *checkpoint, const char *spec,
                               const struct word_list *sets, bool needs_data, int *exit_code)
{
    AUTO(word_list_release) struct word_list with_place = {0};
    AUTO(auto_free) char *beside = file_beside(checkpoint);
    AUTO(st_close) struct st_file f = {0};
    AUTO(config_release) struct config config = {0};
    struct err err;

    if (spec)
        return cli_load_job(spec, sets, exit_code);
    if (st_open_on_disk(&f, checkpoint, &err) || config_read(&config, &f, checkpoint, &err)) {
        fprintf(stderr, "%s\n", err.msg);
        *exit_code = err_exit_code(err.code);
        return NULL;
    }
    if (!config.job && access(beside, F_OK) != 0) {
        fprintf(stderr,
                "%s: written before checkpoints named their job, and no job.json is beside it; "
                "--spec JOB names it\n",
                checkpoint);
        *exit_code = err_exit_code(ERR_NOT_FOUND);
        return NULL;
    }
    if (!config.job)
        return cli_load_job(beside, sets, exit_code);
    take_place(config.job, beside);
    if (needs_data)
        return apply_sets(config.job, checkpoint, sets, exit_code);
    add_place(&with_place, sets, config.job);
    return apply_sets(config.job, checkpoint, &with_place, exit_code);
}
