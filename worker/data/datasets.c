#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "paceline/class_names.h"
#include "paceline/env.h"
#include "paceline/log.h"
#include "paceline/mem.h"
#include "worker/data/data.h"
#include "worker/data/format/arrays.h"
#include "worker/data/format/text.h"
#include "worker/data/image/image_folder.h"
#include "worker/data/store/image_stream.h"
#include "worker/data/store/layout.h"
#include "worker/data/store/packed.h"
#include "worker/data/store/shared.h"
#include "worker/data/store/source.h"
#include "worker/kernels/random.h"

#define READERS_MAX 64
#define PTB_WORDS 1012019u /* of the Penn Treebank, as Mikolov has it: 929589 and 82430 */

static bool is_streamed(const struct job *job) { return job->dataset.staging == STAGING_STREAM; }

static size_t host_bytes(const struct layout *plan, const struct source *s)
{
    return is_streamed(s->job) ? image_stream_bytes(plan, s) : plan->bytes;
}

static int host_fill(struct layout *to, const struct layout *plan, struct source *s,
                     struct err *err)
{
    if (!is_streamed(s->job))
        return layout_fill(to, plan, s, false, err);
    return image_stream_fill(to, plan, s, err);
}

static int load_private(struct datasets *d, struct layout **layout, const struct job *job,
                        struct err *err)
{
    AUTO(source_close) struct source source = {0};
    struct layout plan;

    if (source_open(&source, job, err))
        return -1;
    plan = layout_plan(&source);
    const size_t bytes = host_bytes(&plan, &source);
    *layout = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (*layout == MAP_FAILED)
        return err_set(err, ERR_IO, "dataset %s: no memory for its %zu bytes", job->dataset.name,
                       bytes);
    d->mapping = *layout;
    d->mapping_bytes = bytes;
    madvise(*layout, bytes, MADV_HUGEPAGE); /* refused: only slower */
    return host_fill(*layout, &plan, &source, err);
}

static struct layout *shared_layout(const struct shared *shared)
{
    return (struct layout *)((char *)shared->map + SHARED_HEAD_BYTES);
}

static int datasets_fill_shared(struct shared *shared, const struct job *job, struct err *err)
{
    AUTO(source_close) struct source source = {0};
    struct layout plan;

    if (source_open(&source, job, err))
        return -1;
    plan = layout_plan(&source);
    if (shared_allocate(shared, host_bytes(&plan, &source), err))
        return err_wrap(err, "dataset %s", job->dataset.name);
    return host_fill(shared_layout(shared), &plan, &source, err);
}

static int load_shared(struct datasets *d, struct layout **layout, const struct job *job,
                       const char *run_id, int local_rank, int local_size, struct err *err)
{
    AUTO(shared_release) struct shared shared = {.fd = -1};

    if (local_rank > 0) {
        if (shared_await(&shared, run_id, local_size, err))
            return -1;
    } else {
        if (shared_create(&shared, run_id, local_size, err) ||
            shared_publish(&shared, datasets_fill_shared(&shared, job, err), err))
            return -1;
    }
    *layout = shared_layout(&shared);
    d->mapping_bytes = shared.map_bytes;
    d->mapping = STEAL(shared.map);
    return 0;
}

/* Maps the packed copy; with `make` it is made first where there is none that is fresh. */
static int load_packed(struct datasets *d, struct layout **layout, const struct job *job, bool make,
                       struct err *err)
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
        if (load_private(d, layout, job, err) || packed_write(path, stamp, *layout, err))
            return -1;
        munmap(d->mapping, d->mapping_bytes);
        d->mapping = NULL;
        if (packed_open(&packed, path, stamp, err))
            return -1;
    }
    d->mapping = packed.map;
    d->mapping_bytes = packed.bytes;
    *layout = packed.layout;
    return 0;
}

/* The first rank of the host makes the copy, if need be, while the others wait; each maps the file.
 */
static int load_packed_together(struct datasets *d, struct layout **layout, const struct job *job,
                                const char *run_id, int local_rank, int local_size, struct err *err)
{
    AUTO(shared_release) struct shared shared = {.fd = -1};

    if (local_size == 1)
        return load_packed(d, layout, job, true, err);
    if (local_rank > 0)
        return shared_await(&shared, run_id, local_size, err)
                   ? -1
                   : load_packed(d, layout, job, false, err);
    if (shared_create(&shared, run_id, local_size, err))
        return -1;
    return shared_publish(&shared, load_packed(d, layout, job, true, err), err);
}

/* Draws the validation samples from the first n and lists both sets in file order. */
static void split_draw(struct datasets *d, uint32_t n, uint32_t n_validation, uint64_t seed)
{
    AUTO(auto_free) uint32_t *drawn = xcalloc(n, sizeof *drawn);
    AUTO(auto_free) bool *validates = xcalloc(n, sizeof *validates);

    if (n_validation)
        random_permutation(drawn, n, seed, RANDOM_SPLIT, 0);
    for (uint32_t i = 0; i < n_validation; i++)
        validates[drawn[i]] = true;
    d->train_index = xcalloc(n - n_validation, sizeof *d->train_index);
    d->validation_index = xcalloc(n_validation, sizeof *d->validation_index);
    for (uint32_t i = 0; i < n; i++) {
        if (validates[i])
            d->validation_index[d->n_validation++] = i;
        else
            d->train_index[d->n_train++] = i;
    }
}

static bool datasets_is_text(const struct job *job)
{
    return strcmp(job->dataset.name, "text") == 0;
}

static bool is_arrays(const struct job *job) { return strcmp(job->dataset.name, "arrays") == 0; }

int datasets_divide(const struct job *job, uint32_t all, uint32_t *n_train, uint32_t *n_validation,
                    struct err *err)
{
    int64_t limit = job->dataset.limit, batch = job->training.batch_size;
    uint32_t n = limit > 0 && limit < all ? (uint32_t)limit : all;
    double share = job->dataset.validation_split;

    *n_validation = (uint32_t)(share * n + 0.5);
    *n_train = n - *n_validation;
    if (share > 0 && (*n_validation < 1 || *n_validation >= n))
        return err_set(err, ERR_INVALID,
                       "spec.dataset.validationSplit: %g of %u samples is %u; 1 to %u are allowed",
                       share, n, *n_validation, n - 1);
    if (job->training.last_batch == LAST_DROP && *n_train < batch)
        return err_set(err, ERR_INVALID,
                       "spec.training.batchSize: %lld with lastBatch drop; at most the %u training "
                       "samples are allowed",
                       (long long)batch, *n_train);
    return 0;
}

static int split(struct datasets *d, const struct job *job, struct err *err)
{
    uint32_t n_train, n_validation;

    if (datasets_divide(job, d->train.n, &n_train, &n_validation, err))
        return -1;
    split_draw(d, n_train + n_validation, n_validation, job->training.seed);
    return 0;
}

/* Of a rank, out of this host's. */
static int readers(int local_size)
{
    const int n = env_cores() / local_size;

    return n < 1 ? 1 : n < READERS_MAX ? n : READERS_MAX;
}

/* The bytes of this host, and what is to be seen in them. */
static int load_bytes(struct datasets *d, const struct job *job, const char *run_id, int local_rank,
                      int local_size, struct err *err)
{
    struct layout *layout = NULL;
    int rc;

    if (job->dataset.cache_path)
        rc = load_packed_together(d, &layout, job, run_id, local_rank, local_size, err);
    else if (local_size > 1)
        rc = load_shared(d, &layout, job, run_id, local_rank, local_size, err);
    else
        rc = load_private(d, &layout, job, err);
    if (rc)
        return -1;
    for (int set = 0; set < N_SETS; set++) {
        struct dataset *to = set == SET_TRAIN ? &d->train : &d->test;

        *to = layout_view(layout, set, !job->dataset.row_convert);
        if (is_streamed(job))
            image_stream_view(to, layout, readers(local_size));
    }
    return 0;
}

/* Folders of images name the classes; other sets have published names. */
static int name_classes(struct datasets *d, const struct job *job, struct err *err)
{
    size_t n, found = 0;
    const char *const *known = class_names_of(job->dataset.name, &n);
    AUTO(buf_release) struct buf names;

    buf_init(&names, 0);
    for (size_t i = 0; i < n; i++)
        buf_add(&names, known[i], strlen(known[i]) + 1);
    if (strcmp(job->dataset.name, "images") == 0 &&
        image_folder_classes(&names, job->dataset.path, err))
        return err_wrap(err, "dataset images");
    for (size_t i = 0; i < names.len; i++)
        found += names.data[i] == '\0';
    if (found && found == (size_t)d->train.classes) /* or a folder is new since they were counted */
        d->class_names = d->own_names = STEAL(names.data);
    return 0;
}

int datasets_load(struct datasets *d, const struct job *job, const char *run_id, int local_rank,
                  int local_size, struct err *err)
{
    if (datasets_is_text(job))
        return text_load(d, job, run_id, local_rank, local_size, err);
    *d = (struct datasets){0};
    const int rc = is_arrays(job) ? arrays_load(d, job, err)
                                  : load_bytes(d, job, run_id, local_rank, local_size, err);

    if (rc == 0 && name_classes(d, job, err) == 0 && split(d, job, err) == 0)
        return 0;
    datasets_release(d);
    return -1;
}

void datasets_release(struct datasets *d)
{
    if (d->mapping)
        munmap(d->mapping, d->mapping_bytes);
    arrays_free(d->arrays);
    free(d->own_names);
    free(d->train_index);
    free(d->validation_index);
    *d = (struct datasets){0};
}

int datasets_peek(const struct job *job, struct shape *shape, uint32_t *n_train, uint32_t *n_test,
                  struct err *err)
{
    AUTO(source_close) struct source source = {0};

    if (datasets_is_text(job))
        return text_peek(job, shape, n_train, n_test, err);
    if (is_arrays(job))
        return arrays_peek(job, shape, n_train, n_test, err);
    if (source_open(&source, job, err))
        return -1;
    *shape = source.shape;
    *n_train = source.n[SET_TRAIN];
    *n_test = source.n[SET_TEST];
    return 0;
}

bool datasets_published(const struct job *job, struct shape *shape, uint32_t *n)
{
    const struct known_set *set = known_set_find(job->dataset.name);

    if (datasets_is_text(job)) {
        *shape = (struct shape){1, 1, (int)job->dataset.steps};
        *n = PTB_WORDS / (uint32_t)shape->w;
        return true;
    }
    *n = job_published_samples(job);
    if (!set || !*n)
        return false;
    *shape = set->shape;
    return true;
}
