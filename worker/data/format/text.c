#include "worker/data/format/text.h"

#include <sys/mman.h>

#include "paceline/file.h"
#include "paceline/mem.h"
#include "worker/data/format/vocabulary.h"
#include "worker/data/store/identity.h"
#include "worker/data/store/shared.h"

enum text_file { TRAIN_TEXT, VALID_TEXT, TEST_TEXT, N_TEXTS };

/* The names that the files may have, in the order they are looked for: ours, the Penn Treebank's as
 * Mikolov has preprocessed it, and WikiText's. */
static const char *const names[][N_TEXTS] = {
    {"train.txt", "valid.txt", "test.txt"},
    {"ptb.train.txt", "ptb.valid.txt", "ptb.test.txt"},
    {"wiki.train.tokens", "wiki.valid.tokens", "wiki.test.tokens"},
};

struct texts {
    struct text_source {
        char *path;
        struct file_map map; /* bytes NULL: the file is not there, as a valid file need not be */
        size_t words;
    } files[N_TEXTS];
};

/* What the bytes of a host start with; offsets count from here. */
struct text_layout {
    int words; /* of the vocabulary */
    uint32_t streams;
    size_t n[N_TEXTS], offset[N_TEXTS];
    size_t names; /* where the words are, each ended by a NUL */
    size_t bytes;
};

static void texts_close(struct texts *t)
{
    for (int i = 0; i < N_TEXTS; i++) {
        file_map_close(&t->files[i].map);
        free(t->files[i].path);
    }
    *t = (struct texts){0};
}

static int text_open(struct text_source *s, const char *folder, const char *name, struct err *err)
{
    s->path = file_in(folder, name);
    if (file_map_read(&s->map, s->path, err)) /* it is read several times, and must not change */
        return -1;
    return vocabulary_count(s->map.bytes, s->map.len, s->path, &s->words, err);
}

/* Which of the names the folder has: those of its training file. */
static const char *const *find_names(const char *folder)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        AUTO(auto_free) char *path = file_in(folder, names[i][TRAIN_TEXT]);
        struct file_map map = {0};
        struct err err;

        if (file_map_open(&map, path, &err) == 0 || err.code != ERR_NOT_FOUND) {
            file_map_close(&map);
            return names[i];
        }
    }
    return NULL;
}

static int texts_open(struct texts *t, const struct job *job, struct err *err)
{
    const char *folder = job->dataset.path ? job->dataset.path : "";
    const char *const *found = find_names(folder);

    *t = (struct texts){0};
    if (!found)
        return err_set(err, ERR_NOT_FOUND,
                       "dataset text: no training file in \"%s\"; needed: train.txt and test.txt "
                       "(or ptb.train.txt, wiki.train.tokens and theirs), valid.txt where there "
                       "is one",
                       folder);
    for (int i = 0; i < N_TEXTS; i++) {
        struct err failure;
        if (text_open(&t->files[i], folder, found[i], &failure) == 0 ||
            (i == VALID_TEXT && failure.code == ERR_NOT_FOUND))
            continue;
        texts_close(t);
        return err_set(err, failure.code, "dataset text: %s", failure.msg);
    }
    return 0;
}

/* Of n words in streams as long as each other: whole rows of `steps` words that have a next one. */
static uint32_t rows(size_t n, size_t streams, size_t steps)
{
    const size_t length = n / streams;

    return length ? (uint32_t)((length - 1) / steps * streams) : 0;
}

static int check_rows(const struct job *job, const struct texts *t, struct err *err)
{
    const size_t streams = (size_t)job->training.batch_size, steps = (size_t)job->dataset.steps;

    for (int i = 0; i < N_TEXTS; i++) {
        const struct text_source *s = &t->files[i];

        if (!s->map.bytes)
            continue;
        if (s->words / streams > UINT32_MAX / streams)
            return err_set(err, ERR_DAMAGED, "dataset text: %s: found %zu words; allowed: %u",
                           s->path, s->words, UINT32_MAX);
        if (rows(s->words, streams, steps) == 0)
            return err_set(err, ERR_INVALID,
                           "dataset text: %s: found %zu words; needed for spec.training.batchSize "
                           "%zu and spec.dataset.steps %zu: %zu",
                           s->path, s->words, streams, steps, streams * (steps + 1));
    }
    return 0;
}

static struct text_layout text_plan(const struct texts *t, const struct vocabulary *v,
                                    uint32_t streams)
{
    struct text_layout l = {
        .words = v->n, .streams = streams, .names = sizeof l, .bytes = sizeof l};

    for (int i = 0; i < v->n; i++) {
        size_t len;
        vocabulary_word(v, (uint32_t)i, &len);
        l.bytes += len + 1;
    }

    for (int i = 0; i < N_TEXTS; i++) {
        l.n[i] = t->files[i].words;
        l.offset[i] = (l.bytes + 63) & ~(size_t)63;
        l.bytes = l.offset[i] + l.n[i] * sizeof(uint32_t);
    }
    return l;
}

static uint32_t *layout_tokens(const struct text_layout *l, int file)
{
    return (uint32_t *)(uintptr_t)((const char *)l + l->offset[file]);
}

static void copy_words(struct text_layout *to, const struct vocabulary *v)
{
    char *at = (char *)to + to->names;

    for (int i = 0; i < v->n; i++) {
        size_t len;
        const char *word = vocabulary_word(v, (uint32_t)i, &len);

        memcpy(at, word, len);
        at[len] = '\0';
        at += len + 1;
    }
}

/* Room for a layout of so many bytes: of the host, or of this process alone. */
static struct text_layout *take_room(struct datasets *d, struct shared *shared, size_t bytes,
                                     struct err *err)
{
    if (shared) {
        if (shared_allocate(shared, bytes, err))
            return NULL;
        return (struct text_layout *)(void *)((char *)shared->map + SHARED_HEAD_BYTES);
    }
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) {
        err_set(err, ERR_IO, "no memory for its %zu bytes", bytes);
        return NULL;
    }
    d->mapping = map;
    d->mapping_bytes = bytes;
    return map;
}

/* Reads the files and writes their words' numbers; shared NULL: for this process alone. */
static int text_fill(struct datasets *d, struct shared *shared, const struct job *job,
                     struct err *err)
{
    AUTO(texts_close) struct texts texts = {0};
    AUTO(vocabulary_release) struct vocabulary v = {0};
    const struct text_source *train = &texts.files[TRAIN_TEXT];

    if (texts_open(&texts, job, err) || check_rows(job, &texts, err))
        return -1;
    if (vocabulary_build(&v, train->map.bytes, train->map.len, train->path,
                         (int)job->dataset.vocabulary, err))
        return -1;
    const struct text_layout plan = text_plan(&texts, &v, (uint32_t)job->training.batch_size);
    struct text_layout *to = take_room(d, shared, plan.bytes, err);
    if (!to)
        return err_wrap(err, "dataset text");
    *to = plan;
    copy_words(to, &v);
    for (int i = 0; i < N_TEXTS; i++)
        if (texts.files[i].map.bytes)
            vocabulary_encode(&v, texts.files[i].map.bytes, texts.files[i].map.len,
                              layout_tokens(to, i));
    return 0;
}

static int text_fill_shared(struct datasets *d, const struct job *job, const char *run_id,
                            int local_rank, int local_size, struct err *err)
{
    AUTO(shared_release) struct shared shared = {.fd = -1};

    if (local_rank > 0) {
        if (shared_await(&shared, run_id, local_size, err))
            return -1;
    } else {
        if (shared_create(&shared, run_id, local_size, err) ||
            shared_publish(&shared, text_fill(d, &shared, job, err), err))
            return -1;
    }
    d->mapping_bytes = shared.map_bytes;
    d->mapping = STEAL(shared.map);
    return 0;
}

/* The words of sample `id`, set->positions of them and the next one. */
static const uint32_t *text_words_of(const struct dataset *set, uint32_t id)
{
    const struct text_layout *l = set->own;
    const size_t stream = id % l->streams, row = id / l->streams;

    return layout_tokens(l, set->number) + stream * (l->n[set->number] / l->streams) +
           row * (size_t)set->positions;
}

static int text_row(const struct dataset *set, uint32_t id, struct sample_reader *r,
                    const struct normalizer *n, float *x, struct err *err)
{
    const uint32_t *words = text_words_of(set, id);

    (void)r, (void)n, (void)err;
    for (int i = 0; i < set->positions; i++)
        x[i] = (float)words[i];
    return 0;
}

static void text_labels(const struct dataset *set, uint32_t id, uint32_t *labels)
{
    memcpy(labels, text_words_of(set, id) + 1, (size_t)set->positions * sizeof *labels);
}

/* Of each stream, with the words at its end that make no row. */
static int text_digest(const struct dataset *set, const struct job *job, uint64_t *digest,
                       struct err *err)
{
    const struct text_layout *l = set->own;
    const size_t length = l->n[set->number] / l->streams;
    struct digest sum = digest_begin(l->streams);

    (void)job, (void)err;
    for (uint32_t i = 0; i < l->streams; i++)
        identity_add(&sum, layout_tokens(l, set->number) + i * length, length * sizeof(uint32_t));
    *digest = digest_end(&sum);
    return 0;
}

static const struct dataset_ops text_ops = {
    .ordered = true, .row = text_row, .labels = text_labels, .digest = text_digest};

static struct dataset view(const struct text_layout *l, int file, const struct job *job)
{
    const int steps = (int)job->dataset.steps;

    return (struct dataset){.ops = &text_ops,
                            .own = l,
                            .n = rows(l->n[file], l->streams, (size_t)steps),
                            .number = file,
                            .shape = {1, 1, steps},
                            .positions = steps,
                            .classes = l->words};
}

int text_load(struct datasets *d, const struct job *job, const char *run_id, int local_rank,
              int local_size, struct err *err)
{
    *d = (struct datasets){0};
    if (local_size > 1 ? text_fill_shared(d, job, run_id, local_rank, local_size, err)
                       : text_fill(d, NULL, job, err)) {
        datasets_release(d);
        return -1;
    }
    struct text_layout *l = (void *)((char *)d->mapping + (local_size > 1 ? SHARED_HEAD_BYTES : 0));
    const uint32_t batch = (uint32_t)job->training.batch_size;
    d->class_names = (const char *)l + l->names;
    d->train = view(l, TRAIN_TEXT, job);
    d->validation = view(l, VALID_TEXT, job);
    d->test = view(l, TEST_TEXT, job);
    d->n_train = d->train.n;
    if (job->dataset.limit > 0 && job->dataset.limit < d->n_train) /* whole batches */
        d->n_train = ((uint32_t)job->dataset.limit + batch - 1) / batch * batch;
    d->n_validation = d->validation.n;
    return 0;
}

int text_peek(const struct job *job, struct shape *shape, uint32_t *n_train, uint32_t *n_test,
              struct err *err)
{
    AUTO(texts_close) struct texts texts = {0};
    const size_t streams = (size_t)job->training.batch_size, steps = (size_t)job->dataset.steps;

    if (texts_open(&texts, job, err) || check_rows(job, &texts, err))
        return -1;
    *shape = (struct shape){1, 1, (int)steps};
    *n_train = rows(texts.files[TRAIN_TEXT].words, streams, steps);
    *n_test = rows(texts.files[TEST_TEXT].words, streams, steps);
    return 0;
}

int text_words(const struct job *job, int *words, struct err *err)
{
    AUTO(texts_close) struct texts texts = {0};
    AUTO(vocabulary_release) struct vocabulary v = {0};
    const struct text_source *train = &texts.files[TRAIN_TEXT];

    if (texts_open(&texts, job, err) ||
        vocabulary_build(&v, train->map.bytes, train->map.len, train->path,
                         (int)job->dataset.vocabulary, err))
        return -1;
    *words = v.n;
    return 0;
}
