/*
 * Word-level text as a data set: train, valid and test files of a folder, cut into as many streams
 * as a batch has rows. Batch k has the k-th `steps` words of every stream, so row b of one batch
 * goes on where row b of the batch before it ended; the label of each word is the next one.
 */
#include "paceline/file.h"
#include "paceline/mem.h"
#include "worker/data/format/vocabulary.h"
#include "worker/data/store/identity.h"
#include "worker/data/store/kind.h"

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

/* Of the training file. */
static int texts_vocabulary(struct vocabulary *v, const struct texts *t, const struct job *job,
                            struct err *err)
{
    const struct text_source *train = &t->files[TRAIN_TEXT];

    return vocabulary_build(v, train->map.bytes, train->map.len, train->path,
                            (int)job->dataset.vocabulary, err);
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

/* Reads the files and writes their words' numbers. */
static int text_fill(void *arg, struct host_room *room, struct err *err)
{
    const struct job *job = arg;
    AUTO(texts_close) struct texts texts = {0};
    AUTO(vocabulary_release) struct vocabulary v = {0};

    if (texts_open(&texts, job, err) || check_rows(job, &texts, err) ||
        texts_vocabulary(&v, &texts, job, err))
        return -1;
    const struct text_layout plan = text_plan(&texts, &v, (uint32_t)job->training.batch_size);
    struct text_layout *to = host_room_take(room, plan.bytes, err);
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

static int text_load(const struct data_kind *k, struct datasets *d, const struct job *job,
                     const struct host_rank *h, struct err *err)
{
    (void)k;
    if (host_memory_make(&d->memory, h, text_fill, (void *)(uintptr_t)job, err))
        return -1;
    const struct text_layout *l = d->memory.begin;
    d->class_names = (const char *)l + l->names;
    d->train = view(l, TRAIN_TEXT, job);
    d->validation = view(l, VALID_TEXT, job);
    d->test = view(l, TEST_TEXT, job);
    return 0;
}

static int text_look(const struct data_kind *k, struct data_facts *f, const struct job *job,
                     bool whole, struct err *err)
{
    AUTO(texts_close) struct texts texts = {0};
    AUTO(vocabulary_release) struct vocabulary v = {0};
    const size_t streams = (size_t)job->training.batch_size, steps = (size_t)job->dataset.steps;

    (void)k;
    if (texts_open(&texts, job, err) || check_rows(job, &texts, err) ||
        (whole && texts_vocabulary(&v, &texts, job, err)))
        return -1;
    *f = (struct data_facts){.shape = {1, 1, (int)steps},
                             .n_train = rows(texts.files[TRAIN_TEXT].words, streams, steps),
                             .n_test = rows(texts.files[TEST_TEXT].words, streams, steps),
                             .classes = v.n,
                             .words = true};
    return 0;
}

const struct data_kind text_kind = {.load = text_load, .look = text_look};
