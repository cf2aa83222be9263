#include "worker/data/store/bytes.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "paceline/env.h"
#include "paceline/log.h"
#include "paceline/mem.h"
#include "worker/data/image/image_folder.h"
#include "worker/data/store/image_stream.h"
#include "worker/data/store/layout.h"
#include "worker/data/store/packed.h"
#include "worker/data/store/shared.h"
#include "worker/data/store/source.h"

#define READERS_MAX 64

static bool is_streamed(const struct job *job) { return job->dataset.staging == STAGING_STREAM; }

/* What is read, and of whom. */
struct bytes_task {
    const struct data_kind *kind;
    const struct job *job;
};

static int bytes_fill(void *arg, struct host_room *room, struct err *err)
{
    const struct bytes_task *t = arg;
    AUTO(source_close) struct source source = {0};

    if (source_open(&source, t->kind, t->job, err))
        return -1;
    const struct layout plan = layout_plan(&source);
    struct layout *to = host_room_take(
        room, is_streamed(t->job) ? image_stream_bytes(&plan, &source) : plan.bytes, err);
    if (!to)
        return err_wrap(err, "dataset %s", t->job->dataset.name);
    return is_streamed(t->job) ? image_stream_fill(to, &plan, &source, err)
                               : layout_fill(to, &plan, &source, false, err);
}

static int bytes_make(const struct data_kind *k, struct host_memory *m, const struct job *job,
                      const struct host_rank *h, struct err *err)
{
    struct bytes_task task = {k, job};

    return host_memory_make(m, h, bytes_fill, &task, err);
}

/* Maps the packed copy; with `make` it is made first where there is none that is fresh. */
static int load_packed(const struct data_kind *k, struct host_memory *m, const struct job *job,
                       bool make, struct err *err)
{
    AUTO(auto_free) char *path = packed_path(job);
    struct packed packed = {0};
    struct err why;
    uint64_t stamp;

    if (image_folder_stamp(&stamp, job->dataset.path, err))
        return err_wrap(err, "dataset %s", job->dataset.name);
    if (packed_open(&packed, path, stamp, &why)) {
        if (!make || why.code == ERR_IO)
            return err_set(err, why.code, "dataset %s: %s", job->dataset.name, why.msg);
        if (why.code != ERR_NOT_FOUND)
            log_warn("%s; it is made again", why.msg);
        if (access(job->dataset.cache_path, W_OK | X_OK))
            return err_set(err, ERR_IO, "spec.dataset.cachePath: %s: %s", job->dataset.cache_path,
                           strerror(errno));
        if (bytes_make(k, m, job, &(struct host_rank){.local_size = 1}, err) ||
            packed_write(path, stamp, m->begin, err))
            return -1;
        munmap(m->map, m->bytes);
        m->map = NULL;
        if (packed_open(&packed, path, stamp, err))
            return -1;
    }
    *m = (struct host_memory){packed.map, packed.layout, packed.bytes};
    return 0;
}

/* The first rank of the host makes the copy, if need be, while the others wait; each maps the file.
 */
static int load_packed_together(const struct data_kind *k, struct host_memory *m,
                                const struct job *job, const struct host_rank *h, struct err *err)
{
    AUTO(shared_release) struct shared shared = {.fd = -1};

    if (h->local_size == 1)
        return load_packed(k, m, job, true, err);
    if (h->local_rank > 0)
        return shared_await(&shared, h->run_id, h->local_size, err)
                   ? -1
                   : load_packed(k, m, job, false, err);
    if (shared_create(&shared, h->run_id, h->local_size, err))
        return -1;
    return shared_publish(&shared, load_packed(k, m, job, true, err), err);
}

/* Of a rank, out of this host's. */
static int bytes_readers(int local_size)
{
    const int n = env_cores() / local_size;

    return n < 1 ? 1 : n < READERS_MAX ? n : READERS_MAX;
}

int bytes_load(const struct data_kind *k, struct datasets *d, const struct job *job,
               const struct host_rank *h, struct err *err)
{
    if (job->dataset.cache_path ? load_packed_together(k, &d->memory, job, h, err)
                                : bytes_make(k, &d->memory, job, h, err))
        return -1;
    for (int set = 0; set < N_SETS; set++) {
        struct dataset *to = set == SET_TRAIN ? &d->train : &d->test;

        *to = layout_view(d->memory.begin, set, !job->dataset.row_convert);
        if (is_streamed(job))
            image_stream_view(to, d->memory.begin, bytes_readers(h->local_size));
    }
    return 0;
}

/* Only labels that are stored apart from folders and seeds can be wrong. */
static int bytes_check_labels(struct source *s, struct err *err)
{
    AUTO(auto_free) uint16_t *train = xcalloc(s->n[SET_TRAIN] + 1, sizeof *train);
    AUTO(auto_free) uint16_t *test = xcalloc(s->n[SET_TEST] + 1, sizeof *test);
    const struct source_memory labels = {.labels = {[SET_TRAIN] = train, [SET_TEST] = test}};

    return source_read(s, &labels, err);
}

int bytes_look(const struct data_kind *k, struct data_facts *f, const struct job *job, bool whole,
               struct err *err)
{
    AUTO(source_close) struct source s = {0};

    if (source_open(&s, k, job, err) || (whole && k->source->where && bytes_check_labels(&s, err)))
        return -1;
    *f = (struct data_facts){.shape = s.shape,
                             .n_train = s.n[SET_TRAIN],
                             .n_test = s.n[SET_TEST],
                             .classes = s.classes,
                             .n_skipped = s.n_skipped};
    snprintf(f->skipped, sizeof f->skipped, "%s", s.skipped ? s.skipped : "");
    return 0;
}
