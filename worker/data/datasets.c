#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include "paceline/mem.h"
#include "worker/data/data.h"
#include "worker/data/shared.h"
#include "worker/data/sources.h"
#include "worker/kernels/random.h"

/* What the bytes of a host start with; offsets count from here. */
struct layout {
    uint32_t n[2]; /* training, test */
    struct shape shape;
    int classes;
    size_t offset[N_SOURCES]; /* of a file's payload, 64-byte aligned */
    size_t bytes;
};

static size_t align64(size_t n) { return (n + 63) & ~(size_t)63; }

/* Each file is inflated with its header, which ends just before the aligned payload. */
static struct layout layout_plan(const struct sources *s)
{
    struct layout l = {.shape = sources_shape(s), .classes = s->classes};

    l.n[0] = s->files[TRAIN_IMAGES].idx.dims[0];
    l.n[1] = s->files[TEST_IMAGES].idx.dims[0];
    l.bytes = sizeof l;
    for (int i = 0; i < N_SOURCES; i++) {
        const struct idx_file *f = &s->files[i].idx;
        l.offset[i] = align64(l.bytes + f->header);
        l.bytes = l.offset[i] + f->payload;
    }
    return l;
}

static uint8_t *layout_payload(struct layout *l, int file)
{
    return (uint8_t *)l + l->offset[file];
}

/* Images and labels of one set; a thread of its own when there is a core for it. */
struct unpack_task {
    const struct sources *sources;
    struct layout *layout;
    enum source_file first;
    int rc;
    struct err err;
};

static void *unpack_set(void *arg)
{
    struct unpack_task *t = arg;

    for (int i = (int)t->first; i < (int)t->first + 2 && !t->rc; i++) {
        const struct idx_file *f = &t->sources->files[i].idx;
        t->rc = idx_unpack(f, layout_payload(t->layout, i) - f->header, &t->err);
    }
    return NULL;
}

static bool has_second_core(void)
{
    cpu_set_t cpus;

    return sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) > 1;
}

static int unpack_both(const struct sources *s, struct layout *l, struct err *err)
{
    struct unpack_task train = {.sources = s, .layout = l, .first = TRAIN_IMAGES};
    struct unpack_task test = {.sources = s, .layout = l, .first = TEST_IMAGES};
    pthread_t thread;
    bool apart = has_second_core() && !pthread_create(&thread, NULL, unpack_set, &test);

    unpack_set(&train);
    if (apart)
        pthread_join(thread, NULL);
    else
        unpack_set(&test);
    if (!train.rc && !test.rc)
        return 0;
    *err = train.rc ? train.err : test.err;
    return -1;
}

static int largest_label(const uint8_t *labels, uint32_t n)
{
    int largest = 0;

    for (uint32_t i = 0; i < n; i++)
        if (labels[i] > largest)
            largest = labels[i];
    return largest;
}

static int check_labels(const uint8_t *labels, uint32_t n, int classes, const char *file,
                        struct err *err)
{
    for (uint32_t i = 0; i < n; i++)
        if (labels[i] >= classes)
            return err_set(err, ERR_DAMAGED, "%s: label %d of sample %u; 0 to %d are allowed", file,
                           labels[i], i, classes - 1);
    return 0;
}

/* Fills the memory at to, which has plan->bytes, and checks the labels. */
static int layout_fill(struct layout *to, const struct layout *plan, const struct sources *s,
                       struct err *err)
{
    *to = *plan;
    if (unpack_both(s, to, err))
        return -1;
    if (!to->classes)
        to->classes = 1 + largest_label(layout_payload(to, TRAIN_LABELS), to->n[0]);
    for (int set = 0; set < 2; set++) {
        int file = set ? TEST_LABELS : TRAIN_LABELS;
        if (check_labels(layout_payload(to, file), to->n[set], to->classes, s->files[file].path,
                         err))
            return -1;
    }
    return 0;
}

static int load_private(struct datasets *d, struct layout **layout, const struct job *job,
                        struct err *err)
{
    AUTO(sources_close) struct sources sources = {0};
    struct layout plan;

    if (sources_open(&sources, job, err))
        return -1;
    plan = layout_plan(&sources);
    *layout = mmap(NULL, plan.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (*layout == MAP_FAILED)
        return err_set(err, ERR_IO, "dataset %s: no memory for its %zu bytes", job->dataset.name,
                       plan.bytes);
    d->mapping = *layout;
    d->mapping_bytes = plan.bytes;
    madvise(*layout, plan.bytes, MADV_HUGEPAGE); /* refused: only slower */
    return layout_fill(*layout, &plan, &sources, err);
}

static struct layout *shared_layout(const struct shared *shared)
{
    return (struct layout *)((char *)shared->map + SHARED_HEAD_BYTES);
}

static int fill_shared(struct shared *shared, const struct job *job, struct err *err)
{
    AUTO(sources_close) struct sources sources = {0};
    struct layout plan;

    if (sources_open(&sources, job, err))
        return -1;
    plan = layout_plan(&sources);
    if (shared_allocate(shared, plan.bytes, err))
        return err_wrap(err, "dataset %s", job->dataset.name);
    return layout_fill(shared_layout(shared), &plan, &sources, err);
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
            shared_publish(&shared, fill_shared(&shared, job, err), err))
            return -1;
    }
    *layout = shared_layout(&shared);
    d->mapping_bytes = shared.map_bytes;
    d->mapping = STEAL(shared.map);
    return 0;
}

static struct dataset layout_view(struct layout *l, int set)
{
    int images = set ? TEST_IMAGES : TRAIN_IMAGES;

    return (struct dataset){.n = l->n[set],
                            .shape = l->shape,
                            .classes = l->classes,
                            .images = layout_payload(l, images),
                            .labels = layout_payload(l, images + 1)};
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

static int split(struct datasets *d, const struct job *job, struct err *err)
{
    int64_t limit = job->dataset.limit, batch = job->training.batch_size;
    uint32_t n = limit > 0 && limit < d->train.n ? (uint32_t)limit : d->train.n;
    double share = job->dataset.validation_split;
    uint32_t n_validation = (uint32_t)(share * n + 0.5);

    if (share > 0 && (n_validation < 1 || n_validation >= n))
        return err_set(err, ERR_INVALID,
                       "spec.dataset.validationSplit: %g of %u samples is %u; 1 to %u are allowed",
                       share, n, n_validation, n - 1);
    if (job->training.last_batch == LAST_DROP && n - n_validation < batch)
        return err_set(err, ERR_INVALID,
                       "spec.training.batchSize: %lld with lastBatch drop; at most the %u training "
                       "samples are allowed",
                       (long long)batch, n - n_validation);
    split_draw(d, n, n_validation, job->training.seed);
    return 0;
}

int datasets_load(struct datasets *d, const struct job *job, const char *run_id, int local_rank,
                  int local_size, struct err *err)
{
    struct layout *layout = NULL;

    *d = (struct datasets){0};
    if (local_size > 1 ? load_shared(d, &layout, job, run_id, local_rank, local_size, err)
                       : load_private(d, &layout, job, err)) {
        datasets_release(d);
        return -1;
    }
    d->train = layout_view(layout, 0);
    d->test = layout_view(layout, 1);
    if (split(d, job, err) == 0)
        return 0;
    datasets_release(d);
    return -1;
}

void datasets_release(struct datasets *d)
{
    if (d->mapping)
        munmap(d->mapping, d->mapping_bytes);
    free(d->train_index);
    free(d->validation_index);
    *d = (struct datasets){0};
}

int datasets_peek(const struct job *job, struct shape *shape, uint32_t *n_train, uint32_t *n_test,
                  struct err *err)
{
    AUTO(sources_close) struct sources sources = {0};

    if (sources_open(&sources, job, err))
        return -1;
    *shape = sources_shape(&sources);
    *n_train = sources.files[TRAIN_IMAGES].idx.dims[0];
    *n_test = sources.files[TEST_IMAGES].idx.dims[0];
    return 0;
}
