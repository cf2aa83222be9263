// LINK: common worker/data worker/kernels/random_scalar.c
// LIBS: -ljpeg -lpng
/* Rows of arrays as they are in the files, of doubles that no buffer holds at once, too; and what
 * is said when a file has become shorter. */
#include <unistd.h>

#include "tests/test.h"
#include "tests/unit/scratch.h"
#include "worker/data/data.h"

enum { N = 5, WIDE = 5000, FLAT = 3, HEAD = 128 };

static char *folder;

/* Version 1.0, with a header of HEAD bytes. */
static void put(const char *name, const char *type, const char *shape, const void *values, size_t n)
{
    AUTO(auto_free) char *bytes = xcalloc(HEAD + n, 1);
    const size_t before = 10;

    memcpy(bytes, "\x93NUMPY\x01\x00\x76\x00", before);
    memset(bytes + before, ' ', HEAD - before);
    const int len = snprintf(bytes + before, HEAD - before,
                             "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", type, shape);
    bytes[before + (size_t)len] = ' ';
    bytes[HEAD - 1] = '\n';
    memcpy(bytes + HEAD, values, n);
    scratch_write(folder, name, bytes, HEAD + n);
}

static double wide_value(size_t i) { return 0.5 * (double)i - 100; }

static void put_folder(void)
{
    AUTO(auto_free) double *wide = xcalloc(N * WIDE, sizeof *wide);
    uint8_t flat[N * FLAT], labels[N] = {0, 1, 1, 0, 1};

    for (size_t i = 0; i < (size_t)N * WIDE; i++)
        wide[i] = wide_value(i);
    for (size_t i = 0; i < sizeof flat; i++)
        flat[i] = (uint8_t)(17 * i);
    for (int test = 0; test < 2; test++) {
        put(test ? "test-wide.npy" : "train-wide.npy", "<f8", "(5, 5000)", wide,
            sizeof *wide * N * WIDE);
        put(test ? "test-flat.npy" : "train-flat.npy", "|u1", "(5, 3)", flat, sizeof flat);
        put(test ? "test-y.npy" : "train-y.npy", "|u1", "(5,)", labels, sizeof labels);
    }
}

/* A sample as its files have it. */
static int read_sample(const struct dataset *set, uint32_t id, float *x, struct err *err)
{
    const struct job none = {0};
    AUTO(sample_reader_release) struct sample_reader r;

    sample_reader_init(&r, set, &none);
    const void *raw = set->ops->raw(set, id, &r, NULL, err);
    if (raw)
        memcpy(x, raw, dataset_pixels(set) * sizeof *x);
    return raw ? 0 : -1;
}

static void check_sample(const struct dataset *set, uint32_t id)
{
    static float x[WIDE + FLAT];
    struct err err = {.msg = ""};

    if (read_sample(set, id, x, &err)) {
        CHECK_STR(err.msg, "");
        return;
    }
    for (size_t k = 0; k < WIDE; k++)
        CHECK(x[k] == (float)wide_value(id * (size_t)WIDE + k));
    for (size_t k = 0; k < FLAT; k++)
        CHECK(x[WIDE + k] == (float)((uint8_t)(17 * (id * FLAT + k)) / 255.0));
}

/* Labels of values: doubles to the nearest float, bools as 0 and 1; their spread, which is exactly
 * 0 of labels that are all the same, whatever number that is. */
static void check_values(struct job *job, const char *type, const char *shape, const void *values,
                         size_t n, const float want[N][2])
{
    static const uint32_t index[] = {3, 1, 4};
    struct datasets d;
    struct err err = {.msg = ""};
    float row[2];
    double spread[2];

    put("train-y.npy", type, shape, values, n);
    put("test-y.npy", type, shape, values, n);
    if (datasets_load(&d, job, "", 0, 1, &err)) {
        CHECK_STR(err.msg, "");
        return;
    }
    CHECK_INT(d.train.values, 2);
    CHECK_INT(d.test.classes, 2);
    CHECK(d.train.labels == NULL && d.train.values_digest == d.test.values_digest);
    CHECK(d.train.values_digest != 0);
    for (uint32_t id = 0; id < N; id++) {
        CHECK_INT(d.test.ops->values(&d.test, id, row, &err), 0);
        CHECK(row[0] == want[id][0] && row[1] == want[id][1]);
    }
    CHECK_INT(dataset_spread(&d.train, index, ARRAY_LEN(index), spread, &err), 0);
    for (int k = 0; k < 2; k++) {
        double sum = 0, mean = 0;

        for (size_t i = 0; i < ARRAY_LEN(index); i++)
            mean += (double)want[index[i]][k] / ARRAY_LEN(index);
        for (size_t i = 0; i < ARRAY_LEN(index); i++)
            sum += pow((double)want[index[i]][k] - mean, 2);
        CHECK_NEAR(spread[k], sum, 1e-14 * (1 + sum));
    }
    CHECK_INT(dataset_spread(&d.test, NULL, N, spread, &err), 0);
    CHECK(spread[0] > 0);
    if (want[0][1] == want[1][1])
        CHECK(spread[1] == 0);
    datasets_release(&d);
}

static void check_value_files(struct job *job)
{
    static const double numbers[] = {1, 0.1, -2.5, 0.1, 1e-3, 0.1, 7e9, 0.1, -3, 0.1};
    static const float as_floats[N][2] = {
        {1, 0.1F}, {-2.5F, 0.1F}, {1e-3F, 0.1F}, {7e9F, 0.1F}, {-3, 0.1F}};
    static const uint8_t bits[] = {1, 0, 0, 1, 1, 1, 0, 0, 1, 1};
    static const float as_bits[N][2] = {{1, 0}, {0, 1}, {1, 1}, {0, 0}, {1, 1}};

    job->model.loss = LOSS_HUBER;
    check_values(job, "<f8", "(5, 2)", numbers, sizeof numbers, as_floats);
    job->model.loss = LOSS_SIGMOID_CROSS_ENTROPY;
    check_values(job, "|b1", "(5, 2)", bits, sizeof bits, as_bits);
    check_values(job, "|u1", "(5, 2)", bits, sizeof bits, as_bits);
}

int main(void)
{
    static float x[WIDE + FLAT];
    static struct layer_spec layers[] = {
        {.type = LAYER_INPUT, .name = (char *)"wide", .shape = {1, 1, WIDE}, .n_shape = 3},
        {.type = LAYER_INPUT, .name = (char *)"flat", .shape = {FLAT}, .n_shape = 1},
    };
    struct job job = {0};
    struct datasets d;
    struct err err = {.msg = ""};

    folder = scratch_make();
    put_folder();
    AUTO(auto_free) char *path = xasprintf("%s/train-wide.npy", folder);
    job.dataset.name = (char *)"arrays";
    job.dataset.path = folder;
    job.dataset.row_convert = true;
    job.training.batch_size = 2;
    job.model.layers = layers;
    job.model.n_layers = ARRAY_LEN(layers);
    if (datasets_load(&d, &job, "", 0, 1, &err)) {
        CHECK_STR(err.msg, "");
        return test_result();
    }
    CHECK_INT(d.train.classes, 2);
    for (uint32_t id = 0; id < N; id++) {
        check_sample(&d.train, id);
        check_sample(&d.test, id);
    }
    datasets_release(&d);
    check_value_files(&job);
    job.model.loss = LOSS_SOFTMAX_CROSS_ENTROPY;
    put_folder();
    CHECK_INT(datasets_load(&d, &job, "", 0, 1, &err), 0);
    CHECK_INT(truncate(path, HEAD + (off_t)(3 * WIDE * sizeof(double)) - 1), 0);
    check_sample(&d.train, 1);
    for (uint32_t id = 2; id < N; id++) {
        err.code = ERR_NONE;
        CHECK_INT(read_sample(&d.train, id, x, &err), -1);
        CHECK_INT(err.code, ERR_DAMAGED);
        CHECK_CONTAINS(err.msg, "train-wide.npy: cut short since the start");
    }
    datasets_release(&d);
    scratch_remove(folder);
    return test_result();
}
