/* See checkpoint_copier.h. */
#include "worker/train/checkpoint/checkpoint_copier.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paceline/clock.h"
#include "paceline/file.h"
#include "paceline/mem.h"
#include "worker/checkpoint/checkpoints.h"

#define BLOCK ((size_t)1 << 20)

struct checkpoint_copier {
    char *dir;
    char *block;
    pthread_t thread;
    bool threaded; /* not joined yet */
    bool told;     /* of the newest copy's end, or there was none */
    atomic_bool ended;
    /* The copy under way. */
    int from;
    char *name;
    int64_t keep;
    bool best, last;
    struct checkpoint_copier_result result;
};

/* The job with paths that are right in another folder; NULL if its text is too long to be read. */
static struct job *absolute_copy(const struct job *job)
{
    AUTO(problems_release) struct problems problems = {0};
    AUTO(buf_release) struct buf text;
    struct job *copy;

    buf_init(&text, 0);
    job_to_text(job, &text);
    copy = job_parse(text.data, text.len, "job", NULL, 0, &problems);
    if (copy)
        job_make_absolute(copy);
    return copy;
}

/* A job that was created again resumes from there without being asked, so the comparison is strict.
 */
static int check_same(const char *dir, const char *path, const struct job *job, struct err *err)
{
    AUTO(problems_release) struct problems problems = {0};
    AUTO(auto_job) struct job *before = NULL, *here = NULL;
    AUTO(buf_release) struct buf what;

    buf_init(&what, 0);
    if (access(path, F_OK) < 0 || !checkpoints_any(dir))
        return 0;
    before = job_load(path, NULL, 0, &problems);
    here = absolute_copy(job);
    if (before && !job_differs(before, here ? here : job, true, &what))
        return 0;
    return err_set(err, ERR_INVALID,
                   "%s: the checkpoints there were written with %s; give this job another name or "
                   "spec.output.subPath, or remove that folder",
                   path, before ? what.data : "a job that cannot be read");
}

static struct checkpoint_copier *checkpoint_copier_new(const char *dir)
{
    struct checkpoint_copier *d = xcalloc(1, sizeof *d);

    d->dir = xstrdup(dir);
    d->block = xmalloc(BLOCK);
    d->told = true;
    d->from = -1;
    return d;
}

int checkpoint_copier_open(struct checkpoint_copier **out, const char *dir, const struct job *job,
                           struct err *err)
{
    AUTO(auto_free) char *path = xasprintf("%s/job.json", dir);

    checkpoints_prepare(dir);
    if (check_same(dir, path, job, err) < 0)
        return err_wrap(err, "the durable folder");
    *out = checkpoint_copier_new(dir);
    return 0;
}

int checkpoint_copier_begin(const struct checkpoint_copier *d, const struct job *job,
                            struct err *err)
{
    AUTO(auto_free) char *path = xasprintf("%s/job.json", d->dir);
    AUTO(auto_job) struct job *copy = absolute_copy(job);
    AUTO(buf_release) struct buf text;

    buf_init(&text, 0);
    job_to_text(copy ? copy : job, &text);
    if (file_write_atomic(path, text.data, text.len, err) < 0)
        return err_wrap(err, "the durable folder");
    return 0;
}

static void join(struct checkpoint_copier *d)
{
    if (d->threaded)
        pthread_join(d->thread, NULL);
    d->threaded = false;
}

void checkpoint_copier_free(struct checkpoint_copier *d)
{
    if (!d)
        return;
    join(d);
    auto_close(&d->from);
    free(d->dir);
    free(d->block);
    free(d->name);
    free(d);
}

static int copy_bytes(struct checkpoint_copier *d, int to)
{
    ssize_t n, sent;

    for (off_t at = 0; (n = pread(d->from, d->block, BLOCK, at)) > 0; at += n)
        for (ssize_t done = 0; done < n; done += sent) {
            sent = write(to, d->block + done, (size_t)(n - done));
            if (sent < 0)
                return -1;
        }
    return n < 0 ? -1 : fsync(to);
}

/* As dir/name, whole or not at all. */
static int copy_as(struct checkpoint_copier *d, const char *name, struct err *err)
{
    AUTO(auto_free) char *path = xasprintf("%s/%s", d->dir, name), *tmp = NULL;
    AUTO(auto_close) int to = file_temporary(&tmp, path, err);

    if (to < 0)
        return -1;
    if (copy_bytes(d, to) == 0 && rename(tmp, path) == 0)
        return file_sync_folder(path) == 0 ? 0
                                           : err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    unlink(tmp);
    return -1;
}

/* A second name of what was copied; a second copy where the storage has no links. */
static int link_as(struct checkpoint_copier *d, const char *name, struct err *err)
{
    AUTO(auto_free) char *copy = xasprintf("%s/%s", d->dir, d->name);
    AUTO(auto_free) char *path = xasprintf("%s/%s", d->dir, name);
    struct err no_links;

    return file_link(copy, path, &no_links) == 0 ? 0 : copy_as(d, name, err);
}

static void *copy_main(void *arg)
{
    struct checkpoint_copier *d = arg;
    struct err *err = &d->result.err;
    int64_t began = clock_ms();

    d->result.failed = copy_as(d, d->name, err) != 0 ||
                       (d->best && link_as(d, "best.safetensors", err) != 0) ||
                       (d->last && link_as(d, "model.safetensors", err) != 0);
    if (!d->result.failed)
        checkpoints_drop_old(d->dir, d->result.step, d->keep);
    d->result.seconds = 1e-3 * (double)(clock_ms() - began);
    atomic_store(&d->ended, true);
    return NULL;
}

void checkpoint_copier_copy(struct checkpoint_copier *d, const char *path, int64_t step,
                            int64_t keep, bool best, bool last)
{
    const char *slash = strrchr(path, '/');

    join(d);
    auto_close(&d->from);
    free(d->name);
    d->name = xstrdup(slash ? slash + 1 : path);
    d->from = open(path, O_RDONLY | O_CLOEXEC);
    d->keep = keep;
    d->best = best;
    d->last = last;
    d->result = (struct checkpoint_copier_result){.step = step};
    d->told = false;
    atomic_store(&d->ended, false);
    d->threaded = pthread_create(&d->thread, NULL, copy_main, d) == 0;
    if (!d->threaded)
        copy_main(d);
}

bool checkpoint_copier_ended(struct checkpoint_copier *d, bool wait,
                             struct checkpoint_copier_result *result)
{
    if (d->told || (!wait && !atomic_load(&d->ended)))
        return false;
    join(d);
    d->told = true;
    *result = d->result;
    return true;
}
