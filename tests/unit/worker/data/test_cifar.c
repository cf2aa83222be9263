// LINK: common worker/data worker/kernels/random_scalar.c
// LIBS: -ljpeg -lpng
#include "tests/test.h"
#include "tests/unit/scratch.h"
#include "worker/data/data.h"
#include "worker/data/format/cifar.h"

enum { RECORDS = 3, LABELS_MAX = 2, RECORD_MAX = LABELS_MAX + CIFAR_IMAGE_BYTES };

static uint8_t bytes[RECORDS * RECORD_MAX];
static char *folder;

static uint8_t pixel(int file, int record, int k) { return (uint8_t)(file * 7 + record * 50 + k); }

/* File number `file` of three records: record r of label (file + r) % 10. */
static void put(int file, const char *name, size_t label_bytes, size_t len)
{
    for (int r = 0; r < RECORDS; r++) {
        uint8_t *at = bytes + (size_t)r * (label_bytes + CIFAR_IMAGE_BYTES);
        at[0] = 19; /* the coarse label of CIFAR-100 */
        at[label_bytes - 1] = (uint8_t)((file + r) % 10);
        for (int k = 0; k < CIFAR_IMAGE_BYTES; k++)
            at[label_bytes + (size_t)k] = pixel(file, r, k);
    }
    scratch_write(folder, name, bytes, len);
}

static void put_all(void)
{
    for (int i = 1; i <= 5; i++) {
        char name[32];
        snprintf(name, sizeof name, "data_batch_%d.bin", i);
        put(i, name, 1, RECORDS * (1 + CIFAR_IMAGE_BYTES));
    }
    put(6, "test_batch.bin", 1, 2 * (1 + CIFAR_IMAGE_BYTES));
    put(1, "train.bin", 2, RECORDS * (2 + CIFAR_IMAGE_BYTES));
    put(2, "test.bin", 2, 2 + CIFAR_IMAGE_BYTES);
}

static struct job new_job(const char *name)
{
    struct job job = {0};

    job.dataset.row_convert = true;
    job.dataset.name = (char *)name;
    job.dataset.path = folder;
    job.training.batch_size = 2;
    return job;
}

static void check_set(const struct dataset *set, int first_file)
{
    for (uint32_t i = 0; i < set->n; i++) {
        int file = first_file + (int)i / RECORDS, record = (int)i % RECORDS, wrong = 0;
        for (int k = 0; k < CIFAR_IMAGE_BYTES; k++)
            wrong +=
                set->images[i * (size_t)CIFAR_IMAGE_BYTES + (size_t)k] != pixel(file, record, k);
        CHECK_INT(wrong, 0);
        CHECK_INT(set->labels[i], (file + record) % 10);
    }
}

static void loads(const char *name, uint32_t n_train, uint32_t n_test, int test_file, int classes)
{
    struct job job = new_job(name);
    struct datasets d;
    struct data_facts facts;
    struct err err = {0};

    CHECK_INT(datasets_look(&facts, &job, false, &err), 0);
    CHECK_INT(facts.n_train, n_train);
    CHECK_INT(facts.n_test, n_test);
    CHECK_INT(facts.shape.c * 10000 + facts.shape.h * 100 + facts.shape.w, 33232);
    if (datasets_load(&d, &job, "", 0, 1, &err)) {
        CHECK_STR(err.msg, "");
        return;
    }
    CHECK_INT(d.train.n, n_train);
    CHECK_INT(d.test.n, n_test);
    CHECK_INT(d.train.classes, classes);
    check_set(&d.train, 1);
    check_set(&d.test, test_file);
    datasets_release(&d);
}

static void refused(const char *name, enum err_code code, const char *part, const char *other)
{
    struct job job = new_job(name);
    struct datasets d;
    struct err err = {0};

    CHECK_INT(datasets_load(&d, &job, "", 0, 1, &err), -1);
    CHECK_INT(err.code, code);
    CHECK_CONTAINS(err.msg, part);
    CHECK_CONTAINS(err.msg, other);
    put_all();
}

static void refuses(void)
{
    AUTO(auto_free) char *gone = xasprintf("%s/data_batch_4.bin", folder);

    put(3, "data_batch_3.bin", 1, RECORDS * (1 + CIFAR_IMAGE_BYTES) - 1);
    refused("cifar10", ERR_DAMAGED, "data_batch_3.bin: 9218 bytes", "records of 3073 bytes");
    scratch_write(folder, "test.bin", "", 0);
    refused("cifar100", ERR_DAMAGED, "test.bin: 0 bytes", "records of 3074 bytes");
    put(9, "data_batch_5.bin", 1, RECORDS * (1 + CIFAR_IMAGE_BYTES));
    bytes[2 * (1 + CIFAR_IMAGE_BYTES)] = 10;
    scratch_write(folder, "data_batch_5.bin", bytes, RECORDS * (1 + CIFAR_IMAGE_BYTES));
    refused("cifar10", ERR_DAMAGED, "data_batch_5.bin: label 10 of record 2", "0 to 9 are allowed");
    bytes[1] = 100;
    scratch_write(folder, "test.bin", bytes, 2 + CIFAR_IMAGE_BYTES);
    refused("cifar100", ERR_DAMAGED, "test.bin: label 100 of record 0", "0 to 99 are allowed");
    unlink(gone);
    refused("cifar10", ERR_NOT_FOUND, "data_batch_4.bin: No such file",
            "`paceline data fetch cifar10` gets it, or put the binary version's files");
}

/* As the published archive unpacks: a folder in the folder. */
static void finds_the_archives_folder(void)
{
    AUTO(auto_free) char *inner = xasprintf("%s/cifar-10-batches-bin", folder);

    CHECK_INT(mkdir(inner, 0700), 0);
    put(7, "cifar-10-batches-bin/test_batch.bin", 1, 1 + CIFAR_IMAGE_BYTES);
    loads("cifar10", 15, 1, 7, 10);
}

int main(void)
{
    folder = scratch_make();
    put_all();
    loads("cifar10", 15, 2, 6, 10);
    loads("cifar100", 3, 1, 2, 100);
    refuses();
    finds_the_archives_folder();
    scratch_remove(folder);
    return test_result();
}
