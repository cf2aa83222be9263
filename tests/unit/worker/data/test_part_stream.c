// LINK: common worker/data worker/kernels/random_scalar.c
// LIBS: -ljpeg -lpng
/* Samples that are read from IDX files when asked for: those of the file, kept or not; what is said
 * when the file has become shorter. */
#include <unistd.h>

#include "tests/test.h"
#include "tests/unit/idx_bytes.h"
#include "tests/unit/scratch.h"
#include "worker/data/data.h"
#include "worker/data/store/image_stream.h"

enum { TRAIN = 50, TEST = 20, H = 3, W = 5, PIXELS = H * W, HEAD = 16 };

static uint8_t images[TRAIN * PIXELS], labels[TRAIN];
static char *folder;

static void put(const char *name, struct idx_bytes b)
{
    scratch_write(folder, name, b.data, b.len);
    free(b.data);
}

static void put_folder(void)
{
    for (size_t i = 0; i < sizeof images; i++)
        images[i] = (uint8_t)(i * 31);
    for (uint32_t i = 0; i < TRAIN; i++)
        labels[i] = (uint8_t)(i % 7);
    put("train-images-idx3-ubyte",
        idx_bytes(images, sizeof images, 3, (uint32_t)TRAIN, (uint32_t)H, (uint32_t)W));
    put("train-labels-idx1-ubyte", idx_gzip(idx_bytes(labels, TRAIN, 1, (uint32_t)TRAIN)));
    put("t10k-images-idx3-ubyte",
        idx_bytes(images, TEST * PIXELS, 3, (uint32_t)TEST, (uint32_t)H, (uint32_t)W));
    put("t10k-labels-idx1-ubyte", idx_bytes(labels, TEST, 1, (uint32_t)TEST));
}

static struct job new_job(bool cache)
{
    struct job job = {0};

    job.dataset.name = (char *)"idx";
    job.dataset.path = folder;
    job.dataset.staging = STAGING_STREAM;
    job.dataset.cache = cache;
    job.dataset.row_convert = true;
    job.training.batch_size = 8;
    return job;
}

static void reads_what_is_asked_for(bool cache)
{
    const struct job job = new_job(cache);
    AUTO(auto_free) char *path = xasprintf("%s/train-images-idx3-ubyte", folder);
    AUTO(sample_reader_release) struct sample_reader r = {0};
    struct datasets d;
    struct err err = {.msg = ""};

    put_folder();
    if (datasets_load(&d, &job, "", 0, 1, &err)) {
        CHECK_STR(err.msg, "");
        return;
    }
    sample_reader_init(&r, &d.train, &job);
    CHECK_INT(d.train.classes, 7);
    for (uint32_t i = 0; i < TRAIN; i += 7) {
        CHECK_INT(d.train.labels[i], labels[i]);
        const uint8_t *got = d.train.ops->bytes(&d.train, i, &r, &err);

        CHECK((got == r.bytes) == !cache);
        if (got)
            CHECK_BYTES(got, images + (size_t)i * PIXELS, PIXELS);
    }
    CHECK(r.decoding > 0);
    CHECK(d.test.ops->bytes(&d.test, TEST - 1, &r, &err) != NULL);
    CHECK_INT(truncate(path, HEAD + 30 * PIXELS - 1), 0);
    CHECK(d.train.ops->bytes(&d.train, 28, &r, &err) != NULL);
    CHECK(d.train.ops->bytes(&d.train, 29, &r, &err) == NULL);
    CHECK_INT(err.code, ERR_DAMAGED);
    CHECK_CONTAINS(err.msg, "train-images-idx3-ubyte: cut short since the start: 1 bytes at ");
    /* Asked for before it was cut: only what is kept is still there. */
    CHECK((d.train.ops->bytes(&d.train, 49, &r, &err) != NULL) == cache);
    datasets_release(&d);
}

int main(void)
{
    folder = scratch_make();
    reads_what_is_asked_for(true);
    reads_what_is_asked_for(false);
    scratch_remove(folder);
    return test_result();
}
