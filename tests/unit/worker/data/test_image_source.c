// LINK: common worker/data worker/kernels/random_scalar.c
// LIBS: -ljpeg -lpng
/* Folders of pictures: which files become which samples, what is refused, what is left out. */
#include <fcntl.h>

#include "tests/test.h"
#include "tests/unit/picture.h"
#include "tests/unit/scratch.h"
#include "worker/data/data.h"
#include "worker/data/image/image.h"
#include "worker/data/image/resize.h"
#include "worker/data/store/packed.h"

enum { H = 3, W = 2, PIXELS = H * W };

static char *folder;

static void make(const char *name)
{
    AUTO(auto_free) char *path = xasprintf("%s/%s", folder, name);

    if (mkdir(path, 0700))
        perror(path);
}

/* A gray PNG of one colour, whatever the name says; h 0: no picture. */
static void put(const char *name, int colour, int h)
{
    uint8_t pixels[PIXELS * 4];
    struct buf file;

    memset(pixels, colour, sizeof pixels);
    if (!h) {
        scratch_write(folder, name, "no picture", 10);
        return;
    }
    file = picture_png(pixels, W, PNG_COLOR_TYPE_GRAY, 8, h, W, false, NULL);
    scratch_write(folder, name, file.data, file.len);
    buf_release(&file);
}

static void drop(const char *name)
{
    AUTO(auto_free) char *path = xasprintf("%s/%s", folder, name);

    if (remove(path))
        perror(path);
}

static struct job new_job(void)
{
    struct job job = {0};

    job.dataset.row_convert = true;
    job.dataset.name = (char *)"images";
    job.dataset.path = folder;
    job.dataset.test_split = 0.5;
    job.training.batch_size = 2;
    return job;
}

/* The sets are these colours, with these labels; colours end with -1. */
static void check_set(const struct dataset *set, const int *colours, const int *labels)
{
    uint32_t n = 0;

    while (colours[n] >= 0)
        n++;
    CHECK_INT(set->n, n);
    for (uint32_t i = 0; i < n && i < set->n; i++) {
        CHECK_INT(set->images[i * PIXELS], colours[i]);
        CHECK_INT(set->images[i * PIXELS + PIXELS - 1], colours[i]);
        CHECK_INT(set->labels[i], labels[i]);
    }
}

#define LIST(...) ((const int[]){__VA_ARGS__, -1})

static void check_loads(const struct job *job, const int *train, const int *train_labels,
                        const int *test, const int *test_labels)
{
    struct err err = {.msg = ""};
    struct datasets d;
    struct data_facts facts;

    CHECK_INT(datasets_look(&facts, job, false, &err), 0);
    CHECK_INT(facts.shape.h, H);
    if (datasets_load(&d, job, "", 0, 1, &err)) {
        CHECK_STR(err.msg, "");
        return;
    }
    CHECK_INT(d.train.shape.c * 100 + d.train.shape.h * 10 + d.train.shape.w, 132);
    CHECK_INT(d.train.classes, 3);
    check_set(&d.train, train, train_labels);
    check_set(&d.test, test, test_labels);
    datasets_release(&d);
}

static void refused(const struct job *job, enum err_code code, const char *part, const char *other)
{
    struct datasets d;
    struct err err = {0};

    CHECK_INT(datasets_load(&d, job, "", 0, 1, &err), -1);
    CHECK_INT(err.code, code);
    CHECK_CONTAINS(err.msg, part);
    CHECK_CONTAINS(err.msg, other);
}

/* Bytes of names decide: B before a, 10 before 9. Not images: a.txt, .hidden.png, the folder deep.
 */
static void put_both(void)
{
    static const char *const folders[] = {"train",          "train/B",    "train/a",
                                          "train/b",        "test",       "test/b",
                                          "train/a/deep.d", "train/.git", "test/B"};

    for (size_t i = 0; i < ARRAY_LEN(folders); i++)
        make(folders[i]);
    put("train/b/x.png", 40, H);
    put("train/a/9.png", 30, H);
    put("train/a/10.JPEG", 20, H);
    put("train/a/a.txt", 99, H);
    put("train/a/.hidden.png", 99, H);
    put("train/a/deep.d/1.png", 99, H);
    put("train/B/only.jpg", 10, H);
    put("train/note.png", 99, H);
    put("test/b/1.png", 50, H);
    put("test/b/0.png", 60, H);
}

static void orders_by_names(void)
{
    struct job job = new_job();

    check_loads(&job, LIST(10, 20, 30, 40), LIST(0, 1, 1, 2), LIST(60, 50), LIST(2, 2));
}

static void refuses_folders(void)
{
    struct job job = new_job();

    put("train/a/9.png", 30, H + 1);
    refused(&job, ERR_INVALID, "train/a/9.png: 4 x 2 pixels; the first image has 3 x 2",
            "spec.dataset.imageSize");
    put("train/a/9.png", 30, H);
    make("test/c");
    refused(&job, ERR_DAMAGED, "test/c: no class of the training images", "dataset images");
    drop("test/c");
    drop("train/B/only.jpg");
    refused(&job, ERR_DAMAGED, "train/B: a class without images", ".jpg, .jpeg or .png");
    put("train/B/only.jpg", 10, H);
    drop("test/b/0.png");
    drop("test/b/1.png");
    refused(&job, ERR_DAMAGED, "4 images to train and 0 to test with", "dataset images");
    drop("test/b");
    drop("test/B");
    drop("test");
    refused(&job, ERR_DAMAGED, "train without test or val beside it", "dataset images");
    make("val");
    make("val/b");
    put("val/b/1.png", 77, H);
    check_loads(&job, LIST(10, 20, 30, 40), LIST(0, 1, 1, 2), LIST(77), LIST(2));
    job.dataset.path = (char *)"/nowhere";
    refused(&job, ERR_NOT_FOUND, "/nowhere: No such file", "spec.dataset.path");
}

static void leaves_damaged_out(void)
{
    struct job job = new_job();

    put("train/a/10.JPEG", 0, 0);
    refused(&job, ERR_DAMAGED, "an image is damaged (dataset.maxDamaged leaves some out): ",
            "train/a/10.JPEG: neither a JPEG nor a PNG file, of 10 bytes");
    job.dataset.max_damaged = 0.2;
    check_loads(&job, LIST(10, 30, 40), LIST(0, 1, 2), LIST(77), LIST(2));
    put("val/b/1.png", 0, 0);
    refused(&job, ERR_DAMAGED, "more than 1 of 5 images are damaged", "neither");
    job.dataset.max_damaged = 1;
    refused(&job, ERR_DAMAGED, "no undamaged image to test with", "dataset images");
    put("val/b/1.png", 77, H);
    put("train/B/only.jpg", 0, 0); /* the first of all: the next one says the shape */
    check_loads(&job, LIST(30, 40), LIST(1, 2), LIST(77), LIST(2));
    put("train/B/only.jpg", 10, H);
    put("train/a/10.JPEG", 20, H);
}

/* Size and channels are the job's. Of the same colour everywhere, resizing changes nothing. */
static void makes_one_size(void)
{
    struct job job = new_job();
    struct datasets d;
    struct err err = {.msg = ""};

    put("train/a/9.png", 30, H + 1);
    job.dataset.image_size = 8;
    job.dataset.color = COLOR_RGB;
    if (datasets_load(&d, &job, "", 0, 1, &err)) {
        CHECK_STR(err.msg, "");
        return;
    }
    CHECK_INT(d.train.shape.c * 100 + d.train.shape.h * 10 + d.train.shape.w, 388);
    for (size_t i = 0; i < 4 * 3 * 64; i++)
        CHECK_INT(d.train.images[i], 10 * (i / 192) + 10);
    datasets_release(&d);
    put("train/a/9.png", 30, H);
}

/* Folders of classes alone: of each class its every second file is kept back. */
static void splits_classes(void)
{
    struct job job = new_job();
    AUTO(auto_free) char *path = xasprintf("%s/train", folder);

    job.dataset.path = path;
    put("train/a/z.png", 31, H);
    put("train/b/y.png", 41, H);
    check_loads(&job, LIST(10, 20, 31, 40), LIST(0, 1, 1, 2), LIST(30, 41), LIST(1, 2));
    job.dataset.test_split = 0.4;
    check_loads(&job, LIST(10, 20, 30, 40, 41), LIST(0, 1, 1, 2, 2), LIST(31), LIST(1));
    job.dataset.test_split = 0;
    refused(&job, ERR_DAMAGED, "6 images to train and 0 to test with", "spec.dataset.testSplit");
}

/* Size, or -1 when it is not there. */
static long size_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? (long)st.st_size : -1;
}

/* Pictures that are overwritten in place show whether they were looked at again. */
static void keeps_a_packed_copy(void)
{
    AUTO(auto_free) char *path = xasprintf("%s/train", folder);
    AUTO(auto_free) char *cache = xasprintf("%s/cache", folder);
    struct job job = new_job(), other = new_job();

    job.dataset.path = other.dataset.path = path;
    job.dataset.cache_path = other.dataset.cache_path = cache;
    other.dataset.test_split = 0.4;
    AUTO(auto_free) char *file = packed_path(&job);
    refused(&job, ERR_IO, "spec.dataset.cachePath: ", "/cache: No such file or directory");
    make("cache");
    for (int again = 0; again < 2; again++) {
        check_loads(&job, LIST(10, 20, 31, 40), LIST(0, 1, 1, 2), LIST(30, 41), LIST(1, 2));
        put("train/b/x.png", 42, H);
    }
    long size = size_of(file);
    CHECK(size > 6 * PIXELS);
    check_loads(&other, LIST(10, 20, 30, 42, 41), LIST(0, 1, 1, 2, 2), LIST(31), LIST(1));

    put("train/b/new.png", 50, H); /* a new name: stale */
    check_loads(&job, LIST(10, 20, 31, 50, 41), LIST(0, 1, 1, 2, 2), LIST(30, 42), LIST(1, 2));
    put("train/b/x.png", 43, H);
    check_loads(&job, LIST(10, 20, 31, 50, 41), LIST(0, 1, 1, 2, 2), LIST(30, 42), LIST(1, 2));
    for (long cut = 1; cut < size; cut *= 7) { /* cut short: made again */
        CHECK_INT(truncate(file, cut), 0);
        check_loads(&job, LIST(10, 20, 31, 50, 41), LIST(0, 1, 1, 2, 2), LIST(30, 43), LIST(1, 2));
        CHECK(size_of(file) >= size);
    }
}

/* Labels and sizes of a packed copy are checked once, so they must stay what they were. */
static void owns_what_it_checked(void)
{
    AUTO(auto_free) char *path = xasprintf("%s/train", folder);
    AUTO(auto_free) char *cache = xasprintf("%s/cache", folder);
    struct job job = new_job();
    struct datasets d;
    struct err err = {0};
    uint8_t ff[4096];

    memset(ff, 0xff, sizeof ff);
    job.dataset.image_size = 96; /* labels are pages away from the head */
    job.dataset.path = path;
    job.dataset.cache_path = cache;
    AUTO(auto_free) char *file = packed_path(&job);
    CHECK_INT(datasets_load(&d, &job, "", 0, 1, &err), 0);
    const int classes = d.train.classes;
    const struct dataset *const sets[] = {&d.train, &d.test};
    AUTO(auto_close) int fd = open(file, O_WRONLY | O_CLOEXEC);
    for (long at = 0; at < size_of(file); at += (long)sizeof ff)
        CHECK_INT(pwrite(fd, ff, sizeof ff, at), sizeof ff);
    for (int set = 0; set < 2; set++)
        for (uint32_t i = 0; i < sets[set]->n; i++)
            CHECK(sets[set]->labels[i] < classes);
    datasets_release(&d);
    CHECK_INT(remove(file), 0);
}

/* Decoded at 1/2 and brought from 21 x 25 to size; another packed copy than of whole ones. */
static void decodes_drafts(void)
{
    enum { FROM_H = 42, FROM_W = 50, TO = 20 };
    AUTO(auto_free) uint8_t *pixels = xmalloc((size_t)FROM_H * FROM_W), *want = xmalloc(TO * TO);
    AUTO(image_decoder_free) struct image_decoder *decoder = image_decoder_new();
    AUTO(resizer_free) struct resizer *resizer = resizer_new();
    AUTO(image_release) struct image image = {0};
    struct job job = new_job();
    struct datasets d;
    struct err err = {.msg = ""};

    for (int i = 0; i < FROM_H * FROM_W; i++)
        pixels[i] = (uint8_t)(i * i / 97 + i % FROM_W);
    struct buf file = picture_jpeg(pixels, 1, FROM_H, FROM_W, false);
    make("drafts");
    make("drafts/a");
    scratch_write(folder, "drafts/a/1.jpg", file.data, file.len);
    scratch_write(folder, "drafts/a/2.jpg", file.data, file.len);
    AUTO(auto_free) char *path = xasprintf("%s/drafts", folder);
    job.dataset.path = path;
    job.dataset.cache_path = path;
    job.dataset.image_size = TO;
    AUTO(auto_free) char *whole = packed_path(&job);
    job.dataset.draft = true;
    AUTO(auto_free) char *smaller = packed_path(&job);
    CHECK(strcmp(whole, smaller) != 0);
    job.dataset.cache_path = NULL;
    image_decoder_draft(decoder, TO);
    CHECK_INT(image_decode(decoder, (const uint8_t *)file.data, file.len, 0, &image, &err), 0);
    CHECK_INT(image.shape.h * 100 + image.shape.w, 2125);
    resize(resizer, &image, TO, TO, want);
    CHECK_INT(datasets_load(&d, &job, "", 0, 1, &err), 0);
    CHECK_STR(err.msg, "");
    CHECK_BYTES(d.train.images, want, TO * TO);
    datasets_release(&d);
    buf_release(&file);
}

int main(void)
{
    folder = scratch_make();
    put_both();
    orders_by_names();
    refuses_folders();
    leaves_damaged_out();
    makes_one_size();
    splits_classes();
    keeps_a_packed_copy();
    owns_what_it_checked();
    decodes_drafts();
    scratch_remove(folder);
    return test_result();
}
