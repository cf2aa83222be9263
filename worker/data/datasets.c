#include <sys/mman.h>

#include "paceline/mem.h"
#include "paceline/named_sets.h"
#include "worker/data/data.h"
#include "worker/data/fit.h"
#include "worker/kernels/random.h"

#define PTB_WORDS 1012019u /* of the Penn Treebank, as Mikolov has it: 929589 and 82430 */

/* The kinds by the second column of NAMED_SETS. */
#define KIND_OF_SET(name, kind, ...) extern const struct data_kind kind##_kind;
NAMED_SETS(KIND_OF_SET)
#undef KIND_OF_SET
#define KIND_OF_SET(name, kind, ...) {name, &kind##_kind},
static const struct {
    const char *name;
    const struct data_kind *kind;
} kinds_of_sets[] = {NAMED_SETS(KIND_OF_SET)};

const struct data_kind *datasets_kind(const struct job *job, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds_of_sets); i++)
        if (strcmp(kinds_of_sets[i].name, job->dataset.name) == 0)
            return kinds_of_sets[i].kind;
    err_set(err, ERR_INVALID, "spec.dataset.name: \"%s\" is no data set", job->dataset.name);
    return NULL;
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

/* Some files name the classes; other sets have published names. */
static int name_classes(struct datasets *d, const struct data_kind *k, const struct job *job,
                        struct err *err)
{
    size_t n, found = 0;
    const char *const *known = named_set_classes(job->dataset.name, &n);
    AUTO(buf_release) struct buf names;

    buf_init(&names, 0);
    for (size_t i = 0; i < n; i++)
        buf_add(&names, known[i], strlen(known[i]) + 1);
    if (k->class_names && k->class_names(&names, job->dataset.path, err))
        return err_wrap(err, "dataset %s", job->dataset.name);
    for (size_t i = 0; i < names.len; i++)
        found += names.data[i] == '\0';
    if (found && found == (size_t)d->train.classes) /* or a folder is new since they were counted */
        d->class_names = d->own_names = STEAL(names.data);
    return 0;
}

uint32_t datasets_whole_batches(const struct job *job, uint32_t n)
{
    const uint32_t batch = (uint32_t)job->training.batch_size;
    const int64_t limit = job->dataset.limit;

    return limit > 0 && limit < n ? ((uint32_t)limit + batch - 1) / batch * batch : n;
}

/* A text's samples are in order, in files of their own for each set. */
static void datasets_limit(struct datasets *d, const struct job *job)
{
    d->n_train = datasets_whole_batches(job, d->train.n);
    d->n_validation = d->validation.n;
}

int datasets_load(struct datasets *d, const struct job *job, const char *run_id, int local_rank,
                  int local_size, struct err *err)
{
    const struct data_kind *k = datasets_kind(job, err);
    const struct host_rank host = {run_id, local_rank, local_size};

    *d = (struct datasets){0};
    if (k && k->load(k, d, job, &host, err) == 0) {
        if (d->train.ops->ordered) {
            datasets_limit(d, job);
            return 0;
        }
        if (name_classes(d, k, job, err) == 0 && split(d, job, err) == 0)
            return 0;
    }
    datasets_release(d);
    return -1;
}

void datasets_release(struct datasets *d)
{
    if (d->memory.map)
        munmap(d->memory.map, d->memory.bytes);
    if (d->files)
        d->files_free(d->files);
    free(d->own_names);
    free(d->train_index);
    free(d->validation_index);
    *d = (struct datasets){0};
}

int datasets_look(struct data_facts *f, const struct job *job, bool whole, struct err *err)
{
    const struct data_kind *k = datasets_kind(job, err);

    *f = (struct data_facts){0};
    return k ? k->look(k, f, job, whole, err) : -1;
}

bool datasets_published(const struct job *job, struct shape *shape, uint32_t *n)
{
    const struct named_set *set = job_named_set(job);

    *shape = set->shape;
    *n = set->samples;
    if (set->of == SAMPLES_WORDS) {
        *shape = (struct shape){1, 1, (int)job->dataset.steps};
        *n = PTB_WORDS / (uint32_t)shape->w;
    }
    return *n > 0;
}
