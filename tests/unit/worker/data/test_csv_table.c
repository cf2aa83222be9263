// LINK: common worker/data worker/kernels/random_scalar.c
// LIBS: -ljpeg -lpng
/* Tables as a data set: what they hold, and a sentence with file and line for what they may not. */
#include <libdeflate.h>
#include <unistd.h>

#include "paceline/mem.h"
#include "tests/test.h"
#include "tests/unit/scratch.h"
#include "worker/data/data.h"
#include "worker/data/store/identity.h"

static char *folder;

static struct job new_job(void)
{
    struct job job = {0};

    job.dataset.name = (char *)"csv";
    job.dataset.path = folder;
    job.dataset.label_column = (char *)"kind";
    job.dataset.row_convert = true;
    job.dataset.std = 1;
    job.training.batch_size = 1;
    return job;
}

static void put(const char *name, const char *text)
{
    scratch_write(folder, name, text, strlen(text));
}

static void drop(const char *name)
{
    AUTO(auto_free) char *path = xasprintf("%s/%s", folder, name);

    CHECK_INT(unlink(path), 0);
}

static void put_packed(const char *name, const char *text)
{
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(6);
    uint8_t bytes[4096];
    const size_t n = libdeflate_gzip_compress(c, text, strlen(text), bytes, sizeof bytes);

    libdeflate_free_compressor(c);
    scratch_write(folder, name, bytes, n);
}

/* The message without the folder. */
static const char *told(const char *text)
{
    static char out[512];
    size_t n = 0;

    for (const char *p = text; *p && n < sizeof out - 1;)
        if (strncmp(p, folder, strlen(folder)) == 0)
            p += strlen(folder) + 1;
        else
            out[n++] = *p++;
    out[n] = '\0';
    return out;
}

#define TRAIN "a,kind,\"b, \"\"2\"\"\"\r\n1,0,2.5\r\n\"-3e1\",1,4\r\n\r\n5,0,\" 6\"\n"
#define TEST "kind,\"b, \"\"2\"\"\",a\n1,8,7\n"

/* Loads; the digests of the training set go to *samples and *labels. */
static void check_contents(uint64_t *samples, uint64_t *labels)
{
    static const float want[] = {1, 2.5F, -30, 4, 5, 6};
    const struct job job = new_job();
    struct err err = {.msg = ""};
    struct datasets d;
    float x[2] = {0};

    if (datasets_load(&d, &job, "", 0, 1, &err)) {
        CHECK_STR(told(err.msg), "");
        return;
    }
    CHECK_INT(d.train.n, 3);
    CHECK_INT(d.test.n, 1);
    CHECK_INT(d.train.classes, 2);
    CHECK(d.train.shape.c == 2 && d.train.shape.h == 1 && d.train.shape.w == 1);
    CHECK(d.columns && strcmp(d.columns, "a") == 0 && strcmp(d.columns + 2, "b, \"2\"") == 0);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_INT(d.train.labels[i], i == 1);
        CHECK_BYTES(d.train.ops->raw(&d.train, i, NULL, NULL, &err), want + (size_t)2 * i,
                    2 * sizeof *want);
    }
    struct normalizer normalizer;
    normalizer_init(&normalizer, &job, d.train.shape);
    CHECK_INT(d.test.ops->row(&d.test, 0, NULL, &normalizer, x, &err), 0);
    CHECK(x[0] == 7 && x[1] == 8); /* by name, not by place */
    normalizer_release(&normalizer);
    CHECK_INT(identity_samples(samples, &d.train, &job, &err), 0);
    *labels = identity_labels(&d.train);
    datasets_release(&d);
}

static void reads_plain_and_packed(void)
{
    uint64_t samples[2] = {0, 1}, labels[2] = {0, 1};
    struct data_facts facts;
    const struct job job = new_job();
    struct err err;

    put("train.csv", TRAIN);
    put("test.csv", TEST);
    check_contents(&samples[0], &labels[0]);
    CHECK_INT(datasets_look(&facts, &job, false, &err), 0);
    CHECK(facts.n_train == 3 && facts.n_test == 1 && facts.classes == 2 && facts.shape.c == 2);
    drop("train.csv");
    drop("test.csv");
    put_packed("train.csv.gz", TRAIN);
    put_packed("test.csv.gz", TEST);
    check_contents(&samples[1], &labels[1]);
    CHECK(samples[0] == samples[1] && labels[0] == labels[1]);
    drop("train.csv.gz");
    drop("test.csv.gz");
}

static void check_refused(const struct job *job, enum err_code code, const char *want)
{
    struct err err = {.msg = ""};
    struct datasets d;

    CHECK_INT(datasets_load(&d, job, "", 0, 1, &err), -1);
    CHECK_INT(err.code, code);
    CHECK_STR(told(err.msg), want);
}

static void refuses(void)
{
    static const struct {
        const char *train, *test, *want;
    } cases[] = {
        {"a,kind\n1,0\n,0\n", TEST, "train.csv:3: column a: found \"\"; needed: a number"},
        {"a,kind\n1,0\nx y,0\n", TEST, "train.csv:3: column a: found \"x y\"; needed: a number"},
        {"a,kind\n1,0\nnan,0\n", TEST, "train.csv:3: column a: found \"nan\"; needed: a number"},
        {"a,kind\n1,0\n-inf,0\n", TEST, "train.csv:3: column a: found \"-inf\"; needed: a number"},
        {"a,kind\n1,0\n1e39,0\n", TEST, "train.csv:3: column a: found \"1e39\"; needed: a number"},
        {"a,kind\n1,0\n\n2\n", TEST, "train.csv:4: found 1 field; the header has 2 columns"},
        {"a,kind\n1,0\n2,0,1\n", TEST, "train.csv:3: found 3 fields; the header has 2 columns"},
        {"a,kind\n1,0.5\n", TEST,
         "train.csv:2: column kind: found \"0.5\"; needed: a class, a whole number from 0 to "
         "65535"},
        {"a,kind\n1,-1\n", TEST,
         "train.csv:2: column kind: found \"-1\"; needed: a class, a whole number from 0 to 65535"},
        {"a,kind\n1,65536\n", TEST,
         "train.csv:2: column kind: found \"65536\"; needed: a class, a whole number from 0 to "
         "65535"},
        {"a,kind\n1,cat\n", TEST,
         "train.csv:2: column kind: found \"cat\"; needed: a class, a whole number from 0 to "
         "65535"},
        {"a,kind\n1,1\n2,2\n", "a,kind\n1,1\n",
         "train.csv: column kind: no row has 0; needed: rows of each class from 0 to 2"},
        {"a,kind\n1,0\n2,1\n", "a,kind\n1,1\n3,2\n",
         "test.csv:3: column kind: found 2; allowed: 0 to 1, the classes of train.csv"},
        {"a,label\n1,0\n", TEST,
         "train.csv:1: found no column \"kind\"; spec.dataset.labelColumn names the column of the "
         "labels"},
        {"a,kind,a\n1,0,2\n", TEST,
         "train.csv:1: found two columns \"a\"; each needs a name of its own"},
        {"a\xff,kind\n1,0\n", TEST, "train.csv:1: a column's name is no UTF-8"},
        {"kind\n0\n", TEST,
         "train.csv:1: found 0 columns beside the labels; allowed: 1 to 1048576"},
        {"", TEST, "train.csv: an empty file; needed: a row of column names"},
        {"a,kind\n", TEST, "train.csv: no row after the names of the columns"},
        {"1,2\n3,4\n", TEST,
         "train.csv:1: found a row of numbers; needed: the names of the columns, as the first row"},
        {"a,kind\n\"1,0\n", TEST,
         "train.csv:2: a quote that does not begin or end a field; needed: \"...\", with each "
         "quote in it written twice"},
        {"a,kind\n1,0\n", "a,kind,c\n1,0,2\n", "test.csv:1: found 3 columns; train.csv has 2"},
        {"a,kind\n1,0\n", "b,kind\n1,0\n",
         "test.csv:1: found no column \"a\", which train.csv has"},
        {"a,kind\n1,0\n", "a,kind\n1,0\n2,\n",
         "test.csv:3: column kind: found \"\"; needed: a class, a whole number from 0 to 65535"},
    };
    const struct job job = new_job();

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(auto_free) char *want = xasprintf("dataset csv: %s", cases[i].want);

        put("train.csv", cases[i].train);
        put("test.csv", cases[i].test);
        check_refused(&job, ERR_DAMAGED, want);
    }
    scratch_write(folder, "train.csv", "a,kind\n1,0\n\0,0\n", 15);
    check_refused(&job, ERR_DAMAGED, "dataset csv: train.csv:3: found a byte 0; allowed: text");
}

static void refuses_a_long_line(void)
{
    const struct job job = new_job();
    const size_t n = (16 << 20) + 2; /* csv.h: CSV_MAX_ROW */
    AUTO(auto_free) char *text = xmalloc(n + 64);

    const size_t head = (size_t)snprintf(text, n, "a,kind\n1,0\n");
    memset(text + head, '7', n);
    memcpy(text + head + n, ",0\n", 4);
    scratch_write(folder, "train.csv", text, head + n + 3);
    check_refused(&job, ERR_DAMAGED, "dataset csv: train.csv:3: a row of more than 16777216 bytes");
}

static void refuses_packed(void)
{
    const struct job job = new_job();
    const uint8_t bomb[18] = {0x1f, 0x8b, 8, [14] = 0xff, 0xff, 0xff, 0xff};
    uint8_t zeros[40] = {0x1f, 0x8b, 8};

    drop("train.csv");
    check_refused(&job, ERR_NOT_FOUND,
                  "dataset csv: train.csv: not found, with or without .gz; needed: train.csv and "
                  "test.csv");
    scratch_write(folder, "train.csv.gz", bomb, sizeof bomb);
    check_refused(&job, ERR_DAMAGED,
                  "dataset csv: train.csv.gz: says that it has 4294967295 bytes, more than gzip "
                  "can pack into 18");
    scratch_write(folder, "train.csv.gz", bomb, 17);
    check_refused(&job, ERR_DAMAGED, "dataset csv: train.csv.gz: 17 bytes; no gzip file");
    scratch_write(folder, "train.csv.gz", zeros, sizeof zeros);
    check_refused(&job, ERR_DAMAGED,
                  "dataset csv: train.csv.gz: damaged gzip data; needed: one gzip file of less "
                  "than 4 GiB");
}

/* Input layers take the columns one after the other. */
static void fits_input_layers(void)
{
    struct layer_spec input = {.type = LAYER_INPUT, .shape = {3}, .n_shape = 1};
    struct job job = new_job();

    put("train.csv", TRAIN);
    put("test.csv", TEST);
    job.model.layers = &input;
    job.model.n_layers = 1;
    check_refused(&job, ERR_INVALID,
                  "dataset csv: train.csv:1: found 2 columns beside the labels; the input layers "
                  "take 3 values");
}

int main(void)
{
    folder = scratch_make();
    reads_plain_and_packed();
    refuses();
    refuses_a_long_line();
    refuses_packed();
    fits_input_layers();
    scratch_remove(folder);
    return test_result();
}
