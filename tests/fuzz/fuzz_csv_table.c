// LINK: common worker/data worker/kernels/random_scalar.c
// LIBS: -ljpeg -lpng
/* Tables as a data set, plain or packed: what is accepted has finite values and labels below the
 * classes, and both ways to look say the same sizes. The first byte chooses: 'z' for .gz. */
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paceline/mem.h"
#include "worker/data/data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/fuzz-csv-XXXXXX";
static const char *const names[] = {"train.csv", "test.csv", "train.csv.gz", "test.csv.gz"};

static void fuzz_forget(void)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        AUTO(auto_free) char *path = xasprintf("%s/%s", folder, names[i]);
        unlink(path);
    }
}

static void fuzz_end(void)
{
    fuzz_forget();
    rmdir(folder);
}

static void fuzz_put(const char *name, const uint8_t *data, size_t size)
{
    AUTO(auto_free) char *path = xasprintf("%s/%s", folder, name);
    FILE *f = fopen(path, "w");

    if (!f || fwrite(data, 1, size, f) != size || fclose(f))
        abort();
}

static void check_set(const struct dataset *set)
{
    for (uint32_t i = 0; i < set->n; i++) {
        const float *x = set->ops->raw(set, i, NULL, NULL, NULL);

        for (size_t k = 0; k < dataset_pixels(set); k++)
            if (!isfinite(x[k]))
                abort();
        if (set->labels[i] >= set->classes)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool begun;
    struct job job = {.dataset = {.name = (char *)"csv",
                                  .path = folder,
                                  .label_column = (char *)"y",
                                  .row_convert = true},
                      .training = {.batch_size = 1}};
    const size_t packed = size && *data == 'z' ? 2 : 0;
    struct data_facts facts;
    struct datasets d;
    struct err err;

    if (!begun && (!mkdtemp(folder) || atexit(fuzz_end)))
        abort();
    begun = true;
    fuzz_forget();
    fuzz_put(names[packed], data + (size > 0), size - (size > 0));
    fuzz_put(names[packed + 1], data + (size > 0), size - (size > 0));
    const int rc = datasets_look(&facts, &job, false, &err);
    if (datasets_load(&d, &job, "", 0, 1, &err))
        return rc == 0 ? abort(), 0 : 0;
    if (rc || facts.n_train != d.train.n || facts.n_test != d.test.n ||
        facts.classes != d.train.classes)
        abort();
    check_set(&d.train);
    check_set(&d.test);
    datasets_release(&d);
    return 0;
}
