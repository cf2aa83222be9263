/* Folders of JPEG and PNG files: decoded and resized by one thread per core, each file to its
 * place. Damaged ones are left out afterwards, so that numbers do not depend on the threads. */
#include <pthread.h>
#include <stdatomic.h>

#include "paceline/env.h"
#include "paceline/log.h"
#include "paceline/mem.h"
#include "worker/data/image/image_folder.h"
#include "worker/data/image/image_reader.h"
#include "worker/data/store/bytes.h"
#include "worker/data/store/source.h"

#define MAX_THREADS 64
#define TOLD 10  /* damaged files that are named */
#define CHUNK 16 /* files that a thread takes at once */

static char *file_path(const struct image_file *f)
{
    return xasprintf("%s/%s", f->folder, f->name);
}

/* The shape of the first image whose header can be read. */
static int measure_first(struct source *s, const struct image_folder *f, struct err *err)
{
    static const int channels[] = {[COLOR_AUTO] = 0, [COLOR_GRAY] = 1, [COLOR_RGB] = 3};
    int size = (int)s->job->dataset.image_size, c = channels[s->job->dataset.color], rc = -1;
    AUTO(image_reader_free) struct image_reader *r = image_reader_new(s->job);
    struct err failure;

    for (uint32_t i = 0; i < f->n[SET_TRAIN] && rc; i++) {
        AUTO(auto_free) char *path = file_path(&f->files[SET_TRAIN][i]);
        rc = image_reader_measure(r, path, &s->shape, &failure);
        if (rc && i == 0)
            *err = failure;
    }
    s->shape.c = c ? c : s->shape.c;
    if (size)
        s->shape.h = s->shape.w = size;
    return rc;
}

static int image_source_open(struct source *s, const char *path, struct err *err)
{
    struct image_folder *f = s->files = xcalloc(1, sizeof *f);

    if (image_folder_scan(f, path, s->job->dataset.test_split, err))
        return -1;
    s->n[SET_TRAIN] = f->n[SET_TRAIN];
    s->n[SET_TEST] = f->n[SET_TEST];
    s->classes = f->n_classes;
    s->n_skipped = f->n_skipped;
    s->skipped = f->skipped;
    return measure_first(s, f, err);
}

/* What the threads share. Files are numbered through both sets. */
struct decoding {
    const struct source *source;
    const struct image_folder *folder;
    const struct source_memory *to;
    uint32_t n, allowed; /* files, and how many may be damaged */
    bool *damaged;       /* [n] */
    atomic_uint next, n_damaged;
    atomic_bool stop;
    pthread_mutex_t lock; /* of what follows */
    uint32_t failed;      /* the first file that ended it, or n */
    struct err err;
};

static const struct image_file *file_of(const struct image_folder *f, uint32_t i, int *set,
                                        uint32_t *at)
{
    *set = i < f->n[SET_TRAIN] ? SET_TRAIN : SET_TEST;
    *at = i - (*set == SET_TEST ? f->n[SET_TRAIN] : 0);
    return &f->files[*set][*at];
}

static void decoding_fail(struct decoding *d, uint32_t i, const struct err *err)
{
    pthread_mutex_lock(&d->lock);
    if (i < d->failed) {
        d->failed = i;
        d->err = *err;
    }
    pthread_mutex_unlock(&d->lock);
    atomic_store(&d->stop, true);
}

static void decode_file(struct decoding *d, struct image_reader *r, uint32_t i)
{
    const struct source *s = d->source;
    uint32_t at, damaged;
    struct err err;
    int set;
    const struct image_file *f = file_of(d->folder, i, &set, &at);
    AUTO(auto_free) char *path = file_path(f);

    d->to->labels[set][at] = f->label;
    if (image_reader_read(r, path, s->shape, d->to->images[set] + at * source_image_bytes(s),
                          &err) == 0)
        return;
    if (err.code != ERR_DAMAGED) {
        decoding_fail(d, i, &err);
        return;
    }
    d->damaged[i] = true;
    damaged = atomic_fetch_add(&d->n_damaged, 1) + 1;
    if (damaged > d->allowed) {
        if (d->allowed)
            err_wrap(&err, "more than %u of %u images are damaged", d->allowed, d->n);
        else
            err_wrap(&err, "an image is damaged (dataset.maxDamaged leaves some out)");
        decoding_fail(d, i, &err);
    } else if (damaged <= TOLD) {
        log_warn("%s: left out", err.msg);
    }
}

static void *decode_files(void *arg)
{
    struct decoding *d = arg;
    AUTO(image_reader_free) struct image_reader *r = image_reader_new(d->source->job);

    while (!atomic_load(&d->stop)) {
        uint32_t begin = atomic_fetch_add(&d->next, CHUNK);
        if (begin >= d->n)
            break;
        for (uint32_t i = begin; i < d->n && i < begin + CHUNK && !atomic_load(&d->stop); i++)
            decode_file(d, r, i);
    }
    return NULL;
}

static void decode_all(struct decoding *d)
{
    pthread_t threads[MAX_THREADS];
    int n = env_cores() < MAX_THREADS ? env_cores() : MAX_THREADS, started = 1;

    while (started < n && pthread_create(&threads[started], NULL, decode_files, d) == 0)
        started++;
    decode_files(d);
    for (int i = 1; i < started; i++)
        pthread_join(threads[i], NULL);
}

/* Closes the gaps that damaged images leave. */
static void leave_out(struct source *s, const struct decoding *d)
{
    size_t bytes = source_image_bytes(s);
    uint32_t kept[N_SETS] = {0};

    for (uint32_t i = 0; i < d->n; i++) {
        uint32_t at, to;
        int set;
        file_of(d->folder, i, &set, &at);
        if (d->damaged[i])
            continue;
        to = kept[set]++;
        if (to == at)
            continue;
        memcpy(d->to->images[set] + to * bytes, d->to->images[set] + at * bytes, bytes);
        d->to->labels[set][to] = d->to->labels[set][at];
    }
    memcpy(s->n, kept, sizeof kept);
}

static int image_source_read(struct source *s, const struct source_memory *to, struct err *err)
{
    const struct image_folder *f = s->files;
    uint32_t n = f->n[SET_TRAIN] + f->n[SET_TEST];
    AUTO(auto_free) bool *damaged = xcalloc(n, sizeof *damaged);
    struct decoding d = {.source = s,
                         .folder = f,
                         .to = to,
                         .n = n,
                         .allowed = (uint32_t)(s->job->dataset.max_damaged * n),
                         .damaged = damaged,
                         .failed = n};

    pthread_mutex_init(&d.lock, NULL);
    decode_all(&d);
    pthread_mutex_destroy(&d.lock);
    if (d.failed < n) {
        *err = d.err;
        return err_wrap(err, "dataset %s", s->set->name);
    }
    leave_out(s, &d);
    if (d.n_damaged)
        log_warn("dataset %s: %u of %u images are damaged and left out", s->set->name,
                 atomic_load(&d.n_damaged), n);
    if (s->n[SET_TRAIN] && s->n[SET_TEST])
        return 0;
    return err_set(err, ERR_DAMAGED, "dataset %s: no undamaged image to %s with", s->set->name,
                   s->n[SET_TRAIN] ? "test" : "train");
}

static void image_source_close(struct source *s)
{
    image_folder_release(s->files);
    free(s->files);
}

static const struct source_kind image_source = {image_source_open, image_source_read,
                                                image_source_close, NULL};

const struct data_kind images_kind = {
    BYTES_KIND(image_source,
               "name a folder of folders of images, one per class, in spec.dataset.path"),
    .class_names = image_folder_classes};
