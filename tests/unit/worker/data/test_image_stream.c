// LINK: common worker/data worker/kernels/random_scalar.c
// LIBS: -ljpeg -lpng
/* Images that are decoded when asked for: the batches of those that were all decoded before,
 * whatever makes them; kept or not; which file is damaged, and only when it is needed. */
#include "tests/test.h"
#include "tests/unit/picture.h"
#include "tests/unit/scratch.h"
#include "worker/data/data.h"
#include "worker/data/store/image_stream.h"

enum { SIDE = 7, N = 23, BATCH = 5, PIXELS = 3 * SIDE * SIDE };

static char *folder;

static void put(const char *part, int label, int i)
{
    AUTO(auto_free) char *name = xasprintf("%s/%d/%02d.png", part, label, i);
    uint8_t pixels[(SIDE + 3) * (SIDE + 3) * 3];

    for (size_t k = 0; k < sizeof pixels; k++)
        pixels[k] = (uint8_t)(k * (size_t)(i + 2) + (size_t)label * 90 + (size_t)part[1]);
    struct buf file = picture_png(pixels, (SIDE + i % 3) * 3, PNG_COLOR_TYPE_RGB, 8, SIDE + i % 4,
                                  SIDE + i % 3, false, NULL);
    scratch_write(folder, name, file.data, file.len);
    buf_release(&file);
}

static void put_all(void)
{
    static const char *const folders[] = {"train", "train/0", "train/1",
                                          "test",  "test/0",  "test/1"};

    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        AUTO(auto_free) char *path = xasprintf("%s/%s", folder, folders[i]);
        CHECK_INT(mkdir(path, 0700), 0);
    }
    for (int i = 0; i < N; i++) {
        put("train", i % 2, i);
        if (i < 6)
            put("test", i % 2, i);
    }
}

static struct job new_job(enum staging staging, bool cache, int64_t prefetch)
{
    struct job job = {0};

    job.dataset.row_convert = true;
    job.dataset.name = (char *)"images";
    job.dataset.path = folder;
    job.dataset.image_size = SIDE;
    job.dataset.staging = staging;
    job.dataset.cache = cache;
    job.dataset.prefetch = prefetch;
    job.dataset.std = 1;
    job.dataset.shuffle = true;
    job.dataset.flip = true;
    job.dataset.pad = 2;
    job.training.batch_size = BATCH;
    job.training.seed = 3;
    return job;
}

static void load(struct datasets *d, const struct job *job)
{
    struct err err = {.msg = ""};

    if (datasets_load(d, job, "", 0, 1, &err)) {
        CHECK_STR(err.msg, "");
        exit(test_result());
    }
}

static void whole(void *arg, uint32_t index, uint32_t n, uint32_t *first, uint32_t *count)
{
    (void)arg, (void)index;
    *first = 0;
    *count = n;
}

/* Two epochs of one way and of the other are the same bytes. */
static void same_batches(enum batch_order order, bool cache, int64_t prefetch, int readers,
                         bool once)
{
    struct job jobs[] = {new_job(STAGING_MATERIALIZE, false, 0),
                         new_job(STAGING_STREAM, cache, prefetch)};
    struct datasets d[2];
    struct normalizer normalizer;
    struct batcher *b[2];

    for (int i = 0; i < 2 && once; i++) { /* converted once: nothing may be augmented then */
        jobs[i].dataset.flip = false;
        jobs[i].dataset.pad = 0;
        jobs[i].dataset.row_convert = i == 0;
    }
    for (int i = 0; i < 2; i++) {
        load(&d[i], &jobs[i]);
        d[i].train.readers = readers;
        CHECK_INT(d[i].train.n, N);
        CHECK_INT(d[i].test.n, 6);
    }
    normalizer_init(&normalizer, &jobs[0], d[0].train.shape);
    for (int i = 0; i < 2; i++)
        b[i] = batcher_new(order == BATCHES_ALL ? &d[i].test : &d[i].train, NULL,
                           order == BATCHES_ALL ? 6 : N, &normalizer, NULL, &jobs[i], order, whole,
                           NULL);
    struct batcher_seconds first_epoch = {0};
    for (uint32_t k = 0; k < 2 * batcher_batches(b[0]); k++) {
        const struct batch *want = batcher_next(b[0]), *got = batcher_next(b[1]);

        CHECK(!want->failure && !got->failure);
        CHECK_INT(got->n, want->n);
        CHECK_BYTES(got->ids, want->ids, want->n * sizeof *want->ids);
        CHECK_BYTES(got->labels, want->labels, want->n * sizeof *want->labels);
        CHECK_BYTES(got->x, want->x, want->n * PIXELS * sizeof *want->x);
        if (k + 1 == batcher_batches(b[0]))
            first_epoch = batcher_seconds(b[1]);
    }
    CHECK(batcher_seconds(b[0]).decoding == 0);
    CHECK(first_epoch.decoding > 0 && first_epoch.converting > 0);
    if (prefetch == 0) {
        CHECK((batcher_seconds(b[1]).decoding == first_epoch.decoding) == cache);
        CHECK((batcher_seconds(b[1]).converting == first_epoch.converting) == once);
    }
    for (int i = 0; i < 2; i++) {
        batcher_free(b[i]);
        datasets_release(&d[i]);
    }
    normalizer_release(&normalizer);
}

/* A sample of the training set, straight. */
static const uint8_t *sample(struct datasets *d, uint32_t i, struct sample_reader *r,
                             struct err *err)
{
    r->decoding = 0;
    const uint8_t *pixels = d->train.ops->bytes(&d->train, i, r, err);

    CHECK(r->decoding >= 0);
    return pixels;
}

/* Sample 4 is train/0/08.png: 0/00, 0/02, ... come first. */
static void names_what_is_damaged(void)
{
    const struct job job = new_job(STAGING_STREAM, true, 0);
    AUTO(sample_reader_release) struct sample_reader r = {0};
    uint8_t good[PIXELS];
    struct datasets d;
    struct err err = {.msg = ""};

    load(&d, &job);
    sample_reader_init(&r, &d.train, &job);
    CHECK(sample(&d, 4, &r, &err) == d.train.images + 4 * PIXELS);
    memcpy(good, d.train.images + 4 * PIXELS, PIXELS);
    datasets_release(&d);

    scratch_write(folder, "train/0/08.png", "no picture", 10);
    load(&d, &job); /* nothing is read yet */
    CHECK(sample(&d, 3, &r, &err) != NULL);
    CHECK(sample(&d, 4, &r, &err) == NULL);
    CHECK_INT(err.code, ERR_DAMAGED);
    CHECK_CONTAINS(err.msg,
                   "dataset images: an image is damaged (dataset.staging: stream takes none): ");
    CHECK_CONTAINS(err.msg, "/train/0/08.png: neither a JPEG nor a PNG file");
    /* Its place is claimed by who failed; others have to help themselves. */
    put("train", 0, 8);
    CHECK(sample(&d, 4, &r, &err) == r.bytes);
    CHECK_BYTES(r.bytes, good, PIXELS);
    datasets_release(&d);
}

/* A batch says what is wrong, the first damaged sample of it, on any number of threads. */
static void a_batch_fails(int readers)
{
    struct job job = new_job(STAGING_STREAM, true, 2);
    struct normalizer normalizer;
    struct datasets d;

    job.dataset.shuffle = false;
    scratch_write(folder, "train/0/16.png", "", 0); /* samples 8 and 9 */
    scratch_write(folder, "train/0/18.png", "", 0);
    load(&d, &job);
    d.train.readers = readers;
    normalizer_init(&normalizer, &job, d.train.shape);
    struct batcher *b =
        batcher_new(&d.train, NULL, N, &normalizer, NULL, &job, BATCHES_TRAINING, whole, NULL);
    CHECK(!batcher_next(b)->failure);
    const struct batch *second = batcher_next(b);
    CHECK(second->failure != NULL);
    if (second->failure)
        CHECK_CONTAINS(second->failure->msg, "/train/0/16.png: neither");
    batcher_free(b);
    normalizer_release(&normalizer);
    datasets_release(&d);
    put("train", 0, 16);
    put("train", 0, 18);
}

int main(void)
{
    folder = scratch_make();
    put_all();
    for (int readers = 1; readers <= 4; readers += 3)
        for (int64_t prefetch = 0; prefetch <= 2; prefetch += 2)
            for (int cache = 0; cache < 2; cache++) {
                for (int once = 0; once <= cache; once++) {
                    same_batches(BATCHES_TRAINING, cache, prefetch, readers, once);
                    same_batches(BATCHES_ALL, cache, prefetch, readers, once);
                }
            }
    names_what_is_damaged();
    a_batch_fails(1);
    a_batch_fails(4);
    scratch_remove(folder);
    return test_result();
}
