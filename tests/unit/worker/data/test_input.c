// LINK: common worker/data worker/kernels/random_scalar.c
// LIBS: -ljpeg -lpng
/* Files that a model is asked about: each kind gives the floats that training would make of it, one
 * sample that cannot be read does not take the others along, and what does not fit is told. */
#include "worker/data/format/input.h"

#include "tests/test.h"
#include "tests/unit/picture.h"
#include "tests/unit/scratch.h"
#include "worker/data/image/image.h"
#include "worker/data/image/image_folder.h"
#include "worker/data/image/resize.h"

#define VALUES_MAX (3 * 32 * 32)

static char *folder;
static struct err err;

/* A model of samples of this shape, of pictures or of arrays. */
struct input_model {
    struct job job;
    struct normalizer normalizer;
    struct input_reader *reader;
};

static void model_begin(struct input_model *m, const char *dataset, struct shape shape)
{
    *m = (struct input_model){0};
    m->job.dataset.name = (char *)dataset;
    m->job.dataset.mean = 0.25;
    m->job.dataset.std = 0.5;
    normalizer_init(&m->normalizer, &m->job, shape);
    m->reader = input_reader_new(&m->job, shape, &m->normalizer, NULL);
}

static void model_end(struct input_model *m)
{
    input_reader_free(&m->reader);
    normalizer_release(&m->normalizer);
}

/* What a byte becomes. */
static float of_byte(int v) { return (float)((v / 255.0 - 0.25) / 0.5); }

static struct input *open_named(struct input_model *m, const char *name)
{
    static char *path; /* lives as long as the input */

    free(path);
    path = xasprintf("%s/%s", folder, name);
    static const char *paths[1];
    paths[0] = path;
    return input_open(m->reader, paths, 1, &err);
}

/* The first values of all samples as bytes, "12 13 ! 14": "!" where one cannot be read. */
static const char *first_bytes(struct input_model *m, const char *name)
{
    static char out[256];
    AUTO(input_close) struct input *in = open_named(m, name);
    float x[VALUES_MAX];
    size_t n = 0;
    int rc;

    out[0] = '\0';
    if (!in)
        return err.msg;
    while ((rc = input_next(in, x, &err)) != 0)
        n += rc < 0 ? (size_t)snprintf(out + n, sizeof out - n, "%s!", n ? " " : "")
                    : (size_t)snprintf(out + n, sizeof out - n, "%s%d", n ? " " : "",
                                       (int)(((double)x[0] * 0.5 + 0.25) * 255 + 0.5));
    return out;
}

/* A message without the folder before the file's name. */
static const char *told(const char *message)
{
    const size_t n = strlen(folder) + 1;

    return strncmp(message, folder, n - 1) == 0 ? message + n : message;
}

static void put(const char *name, const void *bytes, size_t n)
{
    scratch_write(folder, name, bytes, n);
}

static void put_text(const char *name, const char *text) { put(name, text, strlen(text)); }

/* A picture of the size of the samples is as training has it to the bit; others are resized by the
 * same rule, also where training had one size alone. */
static void test_pictures(void)
{
    uint8_t rgb[6 * 5 * 3], planes[3 * 6 * 5], small[3 * 4 * 4];
    struct image image = {.shape = {3, 6, 5}, .pixels = rgb};
    struct resizer *resizer = resizer_new();
    struct input_model m;
    float x[VALUES_MAX];

    for (size_t i = 0; i < sizeof rgb; i++)
        rgb[i] = (uint8_t)(7 * i);
    struct buf png = picture_png(rgb, 15, PNG_COLOR_TYPE_RGB, 8, 6, 5, false, NULL);
    put("same.png", png.data, png.len);
    put("no-ending", png.data, png.len);
    put("cut.png", png.data, png.len / 2);
    buf_release(&png);

    resize(resizer, &image, 6, 5, planes);
    model_begin(&m, "cifar10", (struct shape){3, 6, 5});
    for (int named = 0; named < 2; named++) {
        struct input *in = open_named(&m, named ? "same.png" : "no-ending");
        CHECK(in && !input_is_many(in) && input_next(in, x, &err) == 1);
        for (size_t i = 0; i < sizeof planes; i++)
            CHECK(x[i] == of_byte(planes[i]));
        CHECK(in && input_next(in, x, &err) == 0);
        input_close(&in);
    }
    CHECK_STR(first_bytes(&m, "cut.png"), "!");
    CHECK_CONTAINS(told(err.msg), "cut.png: ");
    model_end(&m);

    resize(resizer, &image, 4, 4, small);
    model_begin(&m, "cifar10", (struct shape){3, 4, 4});
    struct input *in = open_named(&m, "same.png");
    CHECK(in && input_next(in, x, &err) == 1);
    for (size_t i = 0; i < sizeof small; i++)
        CHECK(x[i] == of_byte(small[i]));
    input_close(&in);
    model_end(&m);
    resizer_free(&resizer);
}

/* [n][h][w], and [n][c][h][w]. */
static void test_idx(void)
{
    static const uint8_t gray[] = "\0\0\x08\x03\0\0\0\2\0\0\0\1\0\0\0\2\x0a\x0b\x14\x15";
    static const uint8_t colours[] = "\0\0\x08\x04\0\0\0\2\0\0\0\3\0\0\0\1\0\0\0\2"
                                     "\1\2\3\4\5\6\7\x08\x09\x0a\x0b\x0c";
    static const uint8_t last[] = "\0\0\x08\x04\0\0\0\1\0\0\0\1\0\0\0\2\0\0\0\3\1\2\3\4\5\6";
    struct input_model m;

    put("gray", gray, sizeof gray - 1);
    put("colours", colours, sizeof colours - 1);
    put("last", last, sizeof last - 1);
    put("short", gray, sizeof gray - 2);
    model_begin(&m, "idx", (struct shape){1, 1, 2});
    CHECK_STR(first_bytes(&m, "gray"), "10 20");
    CHECK_STR(told(first_bytes(&m, "colours")),
              "colours: images of 3 x 1 x 2 (channels, height, width); the model takes 1 x 1 x 2");
    CHECK_STR(told(first_bytes(&m, "short")),
              "short: cut short: 3 bytes after the header, whose dimensions need 4");
    model_end(&m);
    model_begin(&m, "cifar10", (struct shape){3, 1, 2});
    CHECK_STR(first_bytes(&m, "colours"), "1 7");
    CHECK_STR(told(first_bytes(&m, "last")),
              "last: images of 1 x 2 x 3 (channels, height, width); the model takes 3 x 1 x 2, and "
              "channels come first");
    model_end(&m);
}

/* With one byte of label or two: as the model's set has it, else by the length. */
static void test_cifar(void)
{
    enum { IMAGE = 3072 };
    static uint8_t ten[2 * (1 + IMAGE)], hundred[2 * (2 + IMAGE)];
    struct input_model m;

    memset(ten, 200, sizeof ten); /* labels that are none: nobody asks */
    memset(hundred, 201, sizeof hundred);
    ten[1] = 1;
    ten[1 + IMAGE + 1] = 2;
    hundred[2] = 3;
    hundred[2 + IMAGE + 2] = 4;
    put("ten.bin", ten, sizeof ten);
    put("HUNDRED.BIN", hundred, sizeof hundred);
    static const struct {
        const char *dataset, *file, *want;
    } cases[] = {
        {"cifar10", "ten.bin", "1 2"},
        {"cifar100", "HUNDRED.BIN", "3 4"},
        {"images", "ten.bin", "1 2"},
        {"images", "HUNDRED.BIN", "3 4"},
        {"cifar10", "HUNDRED.BIN",
         "HUNDRED.BIN: 6148 bytes; a whole number of records of 3073 bytes is needed"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        model_begin(&m, cases[i].dataset, (struct shape){3, 32, 32});
        CHECK_STR(told(first_bytes(&m, cases[i].file)), cases[i].want);
        model_end(&m);
    }
}

static void put_npy(const char *name, const char *type, const char *shape, const void *values,
                    size_t n)
{
    enum { HEAD = 128 };
    AUTO(auto_free) char *bytes = xcalloc(HEAD + n, 1);

    memcpy(bytes, "\x93NUMPY\x01\x00\x76\x00", 10);
    memset(bytes + 10, ' ', HEAD - 10);
    const int len = snprintf(bytes + 10, HEAD - 10,
                             "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", type, shape);
    bytes[10 + (size_t)len] = ' ';
    bytes[HEAD - 1] = '\n';
    memcpy(bytes + HEAD, values, n);
    put(name, bytes, HEAD + n);
}

static void test_npy(void)
{
    static const uint8_t pixels[] = {5, 6, 7, 8};
    static const float floats[] = {1, 2, 3, (float)(1e38 * 10), 5, 6};
    struct input_model m;

    put_npy("pixels.npy", "|u1", "(2, 1, 2)", pixels, sizeof pixels);
    put_npy("floats.npy", "<f4", "(3, 2)", floats, sizeof floats);
    model_begin(&m, "mnist", (struct shape){1, 1, 2});
    CHECK_STR(first_bytes(&m, "pixels.npy"), "5 7");
    CHECK_STR(told(first_bytes(&m, "floats.npy")),
              "floats.npy: found floats of 4 bytes; the model was trained on images, of which |u1, "
              "from 0 to 255, is needed");
    model_end(&m);
    model_begin(&m, "arrays", (struct shape){2, 1, 1});
    struct input *in = open_named(&m, "floats.npy");
    float x[2];
    CHECK(in && input_is_many(in) && input_next(in, x, &err) == 1);
    CHECK(x[0] == 1.5f && x[1] == 3.5f); /* (v - 0.25) / 0.5 */
    CHECK(in && input_next(in, x, &err) == -1);
    CHECK_CONTAINS(told(err.msg), "floats.npy: sample 1 (counted from 0) has a value");
    CHECK(in && input_next(in, x, &err) == 1 && x[0] == 9.5f);
    CHECK(in && input_next(in, x, &err) == 0);
    input_close(&in);
    CHECK_STR(first_bytes(&m, "pixels.npy"), "5 7");
    put_npy("wide.npy", "<f4", "(2, 3)", floats, sizeof floats);
    CHECK_STR(told(first_bytes(&m, "wide.npy")), "wide.npy: found samples of 3; needed: 2 x 1 x 1");
    model_end(&m);
}

/* An input of two layers: the files' rows side by side. */
static void test_inputs(void)
{
    static const float a[] = {1, 2}, b[] = {3, 4, 5, 6}, c[] = {7};
    struct layer_spec layers[] = {
        {.type = LAYER_INPUT, .name = (char *)"one", .shape = {1}, .n_shape = 1},
        {.type = LAYER_INPUT, .shape = {2}, .n_shape = 1},
    };
    AUTO(auto_free) char *one = xasprintf("%s/one.npy", folder);
    AUTO(auto_free) char *two = xasprintf("%s/two.npy", folder);
    const char *const paths[] = {one, two};
    struct input_model m;
    float x[3];

    model_begin(&m, "arrays", (struct shape){3, 1, 1});
    m.job.model.layers = layers;
    m.job.model.n_layers = ARRAY_LEN(layers);
    put_npy("one.npy", "<f4", "(2, 1)", a, sizeof a);
    put_npy("two.npy", "<f4", "(2, 2)", b, sizeof b);
    struct input *in = input_open(m.reader, paths, 2, &err);
    CHECK(in && input_next(in, x, &err) == 1 && x[0] == 1.5f && x[1] == 5.5f && x[2] == 7.5f);
    CHECK(in && input_next(in, x, &err) == 1 && x[0] == 3.5f && x[1] == 9.5f && x[2] == 11.5f);
    CHECK(in && input_next(in, x, &err) == 0);
    input_close(&in);
    CHECK(!input_open(m.reader, paths, 1, &err));
    CHECK_STR(told(err.msg), "one.npy: one array, but the model has 2 inputs; needed: an array of "
                             "each, as one=FILE ..., or a folder of them");
    put_npy("one.npy", "<f4", "(1, 1)", c, sizeof c);
    CHECK(!input_open(m.reader, paths, 2, &err));
    CHECK_CONTAINS(told(err.msg), "two.npy: found 2 samples; ");
    put_text("two.npy", "");
    CHECK(!input_open(m.reader, paths, 2, &err));
    CHECK_CONTAINS(told(err.msg), "two.npy: no .npy file");
    model_end(&m);
}

static void test_csv(void)
{
    struct input_model m;
    float x[2];

    put_text("t.csv", "name,length,width\nann,1,2.5\nbob,x,2\ncid,1\ndan,1e300,1\neve,3,4\n");
    put_text("three.CSV", "a,b,c\n1,2,3\n");
    put_text("empty.csv", "a,b\n");
    model_begin(&m, "arrays", (struct shape){2, 1, 1});
    struct input *in = open_named(&m, "t.csv");
    CHECK(in && input_is_many(in) && input_next(in, x, &err) == 1);
    CHECK(x[0] == 1.5f && x[1] == 4.5f);
    static const char *const bad[] = {
        "t.csv:3: column length: found \"x\"; needed: a number",
        "t.csv:4: found 2 fields; the header has 3 columns",
        "t.csv:5: column length: found \"1e300\"; needed: a number",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CHECK(in && input_next(in, x, &err) == -1);
        CHECK_STR(told(err.msg), bad[i]);
    }
    CHECK(in && input_next(in, x, &err) == 1 && x[0] == 5.5f && input_next(in, x, &err) == 0);
    input_close(&in);
    static const char *const columns[] = {"c", "a"};
    input_reader_free(&m.reader);
    m.reader = input_reader_new(&m.job, (struct shape){2, 1, 1}, &m.normalizer, columns);
    in = open_named(&m, "three.CSV"); /* by name, whatever else is there */
    CHECK(in && input_next(in, x, &err) == 1 && x[0] == 5.5f && x[1] == 1.5f);
    input_close(&in);
    CHECK_STR(told(first_bytes(&m, "t.csv")),
              "t.csv: found no column c; the model was trained on one");
    input_reader_free(&m.reader);
    m.reader = input_reader_new(&m.job, (struct shape){2, 1, 1}, &m.normalizer, NULL);
    CHECK_STR(told(first_bytes(&m, "three.CSV")), "three.CSV: found 3 columns of numbers (a, b, "
                                                  "c); the model takes 2 values, each a column");
    CHECK_STR(first_bytes(&m, "empty.csv"), "");
    model_end(&m);
    /* Pixels as numbers. */
    put_text("p.csv", "label,p0,p1\ncat,0,255\ndog,256,0\neel,1.5,0\nfox,7,8\n");
    model_begin(&m, "mnist", (struct shape){1, 1, 2});
    CHECK_STR(first_bytes(&m, "p.csv"), "0 ! ! 7");
    model_end(&m);
}

static void test_refused(void)
{
    static const uint8_t gray[] = "\0\0\x08\x03\0\0\0\1\0\0\0\1\0\0\0\1\x0a";
    struct input_model m;

    put_text("notes.txt", "not a sample");
    put_text("nothing", "");
    put("gray", gray, sizeof gray - 1);
    model_begin(&m, "mnist", (struct shape){1, 1, 1});
    CHECK_CONTAINS(told(first_bytes(&m, "notes.txt")),
                   "notes.txt: no file that this model takes; allowed: JPEG, PNG, IDX");
    CHECK_CONTAINS(told(first_bytes(&m, "nothing")), "nothing: no file that this model takes");
    CHECK_STR(told(first_bytes(&m, "absent")), "absent: No such file or directory");
    CHECK_INT(err.code, ERR_NOT_FOUND);
    model_end(&m);
    model_begin(&m, "arrays", (struct shape){1, 1, 1});
    CHECK_STR(told(first_bytes(&m, "gray")),
              "gray: a file of images, but the model was trained on arrays of numbers; allowed: "
              ".npy files and tables (.csv)");
    model_end(&m);
}

/* A folder with all that is in it, but for hidden files and what links lead to. */
static void test_tree(void)
{
    AUTO(auto_free) char *root = xasprintf("%s/tree", folder);
    AUTO(auto_free) char *link = xasprintf("%s/tree/a/up", folder);
    AUTO(auto_free) char *none = xasprintf("%s/tree/b", folder);
    static const char *const want[] = {"/y.JPG", "/z.png", "/a/c/1.jpeg", "/a/c/2.png"};
    struct image_tree t;

    scratch_put(folder, "/tree/z.png", "");
    scratch_put(folder, "/tree/y.JPG", "");
    scratch_put(folder, "/tree/a/c/2.png", "");
    scratch_put(folder, "/tree/a/c/1.jpeg", "");
    scratch_put(folder, "/tree/a/.hidden/3.png", "");
    scratch_put(folder, "/tree/b/notes.txt", "");
    CHECK(symlink(root, link) == 0);
    CHECK(image_tree_scan(&t, root, &err) == 0);
    CHECK_INT(t.n, ARRAY_LEN(want));
    for (size_t i = 0; i < t.n && i < ARRAY_LEN(want); i++)
        CHECK_STR(t.paths[i] + strlen(root), want[i]);
    image_tree_release(&t);
    CHECK(image_tree_scan(&t, none, &err) == -1 && err.code == ERR_NOT_FOUND);
    CHECK_CONTAINS(told(err.msg), "tree/b: no images in this folder, nor in those within it");
}

int main(void)
{
    folder = scratch_make();
    test_pictures();
    test_idx();
    test_cifar();
    test_npy();
    test_inputs();
    test_csv();
    test_refused();
    test_tree();
    scratch_remove(folder);
    return test_result();
}
