// LINK: common worker/data worker/kernels/random_scalar.c
// LIBS: -ljpeg -lpng
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/test.h"
#include "tests/unit/idx_bytes.h"
#include "tests/unit/scratch.h"
#include "worker/data/data.h"
#include "worker/data/store/layout.h"
#include "worker/data/store/shared.h"

enum { TRAIN = 50, TEST = 20, H = 3, W = 5, PIXELS = H * W };

static uint8_t images[TRAIN * PIXELS], labels[TRAIN];
static char *folder;

static void put(const char *name, struct idx_bytes b)
{
    scratch_write(folder, name, b.data, b.len);
    free(b.data);
}

static void drop(const char *name)
{
    AUTO(auto_free) char *path = xasprintf("%s/%s", folder, name);
    unlink(path);
}

static void put_folder(void)
{
    for (size_t i = 0; i < sizeof images; i++)
        images[i] = (uint8_t)(i * 31);
    for (uint32_t i = 0; i < TRAIN; i++)
        labels[i] = (uint8_t)(i % 7);
    put("train-images-idx3-ubyte.gz",
        idx_gzip(idx_bytes(images, sizeof images, 3, (uint32_t)TRAIN, (uint32_t)H, (uint32_t)W)));
    put("train-labels-idx1-ubyte", idx_bytes(labels, TRAIN, 1, (uint32_t)TRAIN));
    put("t10k-images-idx3-ubyte",
        idx_bytes(images, TEST * PIXELS, 3, (uint32_t)TEST, (uint32_t)H, (uint32_t)W));
    put("t10k-labels-idx1-ubyte.gz", idx_gzip(idx_bytes(labels, TEST, 1, (uint32_t)TEST)));
}

static struct job new_job(const char *name, char *path)
{
    struct job job = {0};

    job.dataset.row_convert = true;
    job.dataset.name = (char *)name;
    job.dataset.path = path;
    job.training.batch_size = 8;
    job.training.seed = 3;
    return job;
}

static void check_labels(const struct dataset *set)
{
    for (uint32_t i = 0; i < set->n; i++)
        CHECK_INT(set->labels[i], labels[i]);
}

static void check_contents(const struct datasets *d)
{
    CHECK_INT(d->train.n, TRAIN);
    CHECK_INT(d->test.n, TEST);
    CHECK_INT(d->train.shape.c, 1);
    CHECK_INT(d->train.shape.h, H);
    CHECK_INT(d->test.shape.w, W);
    CHECK_INT((uintptr_t)d->train.images % 64, 0);
    CHECK_BYTES(d->train.images, images, sizeof images);
    check_labels(&d->train);
    CHECK_BYTES(d->test.images, images, TEST * PIXELS);
    check_labels(&d->test);
}

static void loads_a_folder(void)
{
    struct job job = new_job("idx", folder);
    struct datasets d;
    struct err err = {0};
    struct data_facts facts;

    CHECK_INT(datasets_load(&d, &job, "", 0, 1, &err), 0);
    check_contents(&d);
    CHECK_INT(d.train.classes, 7);
    CHECK_INT(d.test.classes, 7);
    CHECK_INT(d.n_train, TRAIN);
    CHECK_INT(d.n_validation, 0);
    for (uint32_t i = 0; i < d.n_train; i++)
        CHECK_INT(d.train_index[i], i);
    datasets_release(&d);
    CHECK(!d.memory.map);

    CHECK_INT(datasets_look(&facts, &job, false, &err), 0);
    CHECK_INT(facts.shape.h, H);
    CHECK_INT(facts.shape.w, W);
    CHECK_INT(facts.n_train, TRAIN);
    CHECK_INT(facts.n_test, TEST);

    job.dataset.name = (char *)"mnist";
    CHECK_INT(datasets_load(&d, &job, "", 0, 1, &err), 0);
    CHECK_INT(d.train.classes, 10);
    datasets_release(&d);
}

/* Floats in the place of the bytes, to the last sample, whose bytes lie within its own floats. */
static void check_rows(const struct dataset *set, uint32_t n)
{
    const float *rows = (const float *)(const void *)set->images;

    CHECK(set->ops == &rows_in_memory);
    CHECK_INT((uintptr_t)rows % 64, 0);
    CHECK_INT(set->n, n);
    for (size_t k = 0; k < n * (size_t)PIXELS; k++)
        CHECK(rows[k] == (float)((images[k] / 255.0 - 0.25) / 0.5));
    check_labels(set);
}

static struct job rows_job(void)
{
    struct job job = new_job("idx", folder);

    job.dataset.row_convert = false;
    job.dataset.mean = 0.25;
    job.dataset.std = 0.5;
    return job;
}

static void makes_rows_once(void)
{
    struct job job = rows_job(), bytes = new_job("idx", folder);
    struct datasets d, plain;
    struct err err = {0};

    CHECK_INT(datasets_load(&d, &job, "", 0, 1, &err), 0);
    CHECK_INT(datasets_load(&plain, &bytes, "", 0, 1, &err), 0);
    check_rows(&d.train, TRAIN);
    check_rows(&d.test, TEST);
    CHECK(plain.train.ops == &bytes_in_memory && plain.test.ops == &bytes_in_memory);
    /* And at most the gaps that alignment makes. */
    CHECK(d.memory.bytes >= plain.memory.bytes + 3 * sizeof images + 3 * TEST * PIXELS - 128);
    CHECK(d.memory.bytes <= plain.memory.bytes + 3 * sizeof images + 3 * TEST * PIXELS + 128);
    datasets_release(&d);
    datasets_release(&plain);
}

static void splits_by_seed(void)
{
    struct job job = new_job("idx", folder);
    struct datasets d, again;
    struct err err = {0};
    bool seen[TRAIN] = {false};

    job.dataset.validation_split = 0.29;
    job.dataset.limit = 40;
    CHECK_INT(datasets_load(&d, &job, "", 0, 1, &err), 0);
    CHECK_INT(d.n_validation, 12); /* 11.6, to the nearest */
    CHECK_INT(d.n_train, 28);
    for (uint32_t i = 0; i < d.n_train; i++) {
        CHECK(!i || d.train_index[i] > d.train_index[i - 1]);
        seen[d.train_index[i]] = true;
    }
    for (uint32_t i = 0; i < d.n_validation; i++) {
        CHECK(!i || d.validation_index[i] > d.validation_index[i - 1]);
        CHECK(!seen[d.validation_index[i]]);
        seen[d.validation_index[i]] = true;
    }
    for (int i = 0; i < TRAIN; i++)
        CHECK_INT(seen[i], i < 40);

    CHECK_INT(datasets_load(&again, &job, "", 0, 1, &err), 0);
    CHECK_BYTES(again.validation_index, d.validation_index, 12 * sizeof(uint32_t));
    datasets_release(&again);
    job.training.seed = 4;
    CHECK_INT(datasets_load(&again, &job, "", 0, 1, &err), 0);
    CHECK(memcmp(again.validation_index, d.validation_index, 12 * sizeof(uint32_t)) != 0);
    datasets_release(&again);
    datasets_release(&d);
}

/* Loading fails with this code and these parts of the sentence; the files are put back. */
static void check_refused(const struct job *job, enum err_code code, const char *part,
                          const char *other)
{
    struct datasets d;
    struct err err = {0};

    CHECK_INT(datasets_load(&d, job, "", 0, 1, &err), -1);
    CHECK_INT(err.code, code);
    CHECK_CONTAINS(err.msg, part);
    CHECK_CONTAINS(err.msg, other);
    CHECK(!d.memory.map && !d.train_index && !d.validation_index);
    put_folder();
}

static void refuses_bad_folders(void)
{
    struct job job = new_job("idx", folder), fashion = new_job("fashion-mnist", folder);

    drop("train-labels-idx1-ubyte");
    check_refused(&job, ERR_NOT_FOUND, "train-labels-idx1-ubyte.gz: not found, with or without .gz",
                  "spec.dataset.path");
    drop("t10k-images-idx3-ubyte");
    check_refused(&fashion, ERR_NOT_FOUND, "t10k-images-idx3-ubyte",
                  "install the Debian package dataset-fashion-mnist or set spec.dataset.path");
    put("train-labels-idx1-ubyte", idx_bytes(labels, TRAIN - 1, 1, (uint32_t)TRAIN - 1));
    check_refused(&job, ERR_DAMAGED, "train-labels-idx1-ubyte: 49 labels;", "has 50 images");
    put("t10k-images-idx3-ubyte",
        idx_bytes(images, TEST * PIXELS, 3, (uint32_t)TEST, (uint32_t)W, (uint32_t)H));
    check_refused(&job, ERR_DAMAGED, "t10k-images-idx3-ubyte: images of 5 x 3",
                  "the training images are 3 x 5");
    put("train-labels-idx1-ubyte", idx_bytes(labels, TRAIN - 1, 1, (uint32_t)TRAIN));
    check_refused(&job, ERR_DAMAGED, "dataset idx: ", "train-labels-idx1-ubyte: cut short: 49");

    labels[17] = 10;
    put("train-labels-idx1-ubyte", idx_bytes(labels, TRAIN, 1, (uint32_t)TRAIN));
    check_refused(&fashion, ERR_DAMAGED, "train-labels-idx1-ubyte: label 10 of sample 17",
                  "0 to 9 are allowed");
    labels[4] = 8;
    drop("t10k-labels-idx1-ubyte.gz");
    put("t10k-labels-idx1-ubyte", idx_bytes(labels, TEST, 1, (uint32_t)TEST));
    check_refused(&job, ERR_DAMAGED, "t10k-labels-idx1-ubyte: label 8 of sample 4",
                  "0 to 6 are allowed");
    drop("t10k-labels-idx1-ubyte");
}

static void refuses_bad_settings(void)
{
    struct job job = new_job("cifar", folder);

    check_refused(&job, ERR_INVALID, "spec.dataset.name", "\"cifar\" is no data set");
    job = new_job("idx", NULL);
    check_refused(&job, ERR_NOT_FOUND, "no folder is given", "spec.dataset.path");
    job = new_job("idx", folder);
    job.dataset.validation_split = 0.001;
    check_refused(&job, ERR_INVALID, "0.001 of 50 samples is 0", "1 to 49 are allowed");
    job = new_job("idx", folder);
    job.training.last_batch = LAST_DROP;
    job.training.batch_size = 51;
    check_refused(&job, ERR_INVALID, "batchSize: 51 with lastBatch drop", "at most the 50");
}

static void finds_the_environment(void)
{
    struct job job = new_job("mnist", NULL);
    struct datasets d;
    struct err err = {0};
    AUTO(auto_free) char *link = xasprintf("%s/mnist", folder);
    AUTO(auto_free) char *other = xasprintf("%s/fashion-mnist", folder);

    unsetenv("PACELINE_DATA");
    setenv("XDG_DATA_HOME", "/nowhere", 1);
    CHECK_INT(datasets_load(&d, &job, "", 0, 1, &err), -1);
    CHECK_CONTAINS(err.msg, "/nowhere/paceline/mnist/");
    CHECK_CONTAINS(err.msg, "`paceline data fetch mnist` gets it, or ");
    CHECK_INT(symlink(".", link), 0);
    setenv("PACELINE_DATA", folder, 1);
    CHECK_INT(datasets_load(&d, &job, "", 0, 1, &err), 0);
    check_contents(&d);
    datasets_release(&d);
    job.dataset.name = "fashion-mnist"; /* before what is installed */
    CHECK_INT(symlink(".", other), 0);
    CHECK_INT(datasets_load(&d, &job, "", 0, 1, &err), 0);
    check_contents(&d);
    datasets_release(&d);
    unsetenv("PACELINE_DATA");
    unsetenv("XDG_DATA_HOME");
}

static bool name_exists(const char *run)
{
    AUTO(auto_free) char *name = xasprintf("/paceline-%u-%s", (unsigned)getuid(), run);
    AUTO(auto_close) int fd = shm_open(name, O_RDONLY, 0);

    return fd >= 0;
}

enum { RANKS = 3 };

/* Runs load_rank(rank) in RANKS processes; the bitmap of those that exited 0. */
static int run_ranks(int (*load_rank)(int rank, const char *run), const char *run)
{
    pid_t pids[RANKS];
    int good = 0, status;

    for (int rank = 0; rank < RANKS; rank++) {
        pids[rank] = fork();
        if (pids[rank] == 0) {
            test_failed = 0;
            _exit(load_rank(rank, run) || test_failed);
        }
    }
    for (int rank = 0; rank < RANKS; rank++)
        if (waitpid(pids[rank], &status, 0) > 0 && WIFEXITED(status) && !WEXITSTATUS(status))
            good |= 1 << rank;
    return good;
}

static int load_good(int rank, const char *run)
{
    struct job job = new_job("idx", folder);
    struct datasets d;
    struct err err = {0};

    usleep((useconds_t)rank * 3000); /* in any order */
    if (datasets_load(&d, &job, run, (rank + 1) % RANKS, RANKS, &err))
        return -1;
    check_contents(&d);
    CHECK_INT(d.n_train, TRAIN);
    datasets_release(&d);
    return 0;
}

static int load_rows(int rank, const char *run)
{
    struct job job = rows_job();
    struct datasets d;
    struct err err = {0};

    if (datasets_load(&d, &job, run, rank, RANKS, &err))
        return -1;
    check_rows(&d.train, TRAIN);
    check_rows(&d.test, TEST);
    datasets_release(&d);
    return 0;
}

static int load_bad(int rank, const char *run)
{
    struct job job = new_job("idx", folder);
    struct datasets d;
    struct err err = {0};

    CHECK_INT(datasets_load(&d, &job, run, rank, RANKS, &err), -1);
    CHECK_INT(err.code, ERR_DAMAGED);
    CHECK_CONTAINS(err.msg, "train-labels-idx1-ubyte: 49 labels;");
    CHECK(!d.memory.map);
    return 0;
}

/* The creator is killed while it fills, after the others have come (1) or before (2). */
static int creator_dies(int rank, const char *run)
{
    AUTO(shared_release) struct shared s = {.fd = -1};
    struct err err = {0};

    if (rank == 0) {
        if (shared_create(&s, run, RANKS, &err) == 0)
            raise(SIGKILL);
        return -1;
    }
    CHECK_INT(shared_await(&s, run, RANKS, &err), -1);
    CHECK_INT(err.code, ERR_IO);
    CHECK_STR(err.msg, "the first rank of this host died while it loaded the data");
    return 0;
}

static void shares_one_copy(void)
{
    AUTO(auto_free) char *run = xasprintf("test-%ld", (long)getpid());

    for (int i = 0; i < 20; i++)
        CHECK_INT(run_ranks(load_good, run), 7);
    CHECK_INT(run_ranks(load_rows, run), 7);
    CHECK(!name_exists(run));

    put("train-labels-idx1-ubyte", idx_bytes(labels, TRAIN - 1, 1, (uint32_t)TRAIN - 1));
    CHECK_INT(run_ranks(load_bad, run), 7);
    CHECK(!name_exists(run));
    put_folder();

    CHECK_INT(run_ranks(creator_dies, run), 6);
    CHECK(!name_exists(run));
}

static void shares_refuse_a_taken_name(void)
{
    AUTO(auto_free) char *run = xasprintf("taken-%ld", (long)getpid());
    AUTO(auto_free) char *name = xasprintf("/paceline-%u-%s", (unsigned)getuid(), run);
    AUTO(auto_close) int fd = shm_open(name, O_CREAT | O_RDWR, 0600);
    struct job job = new_job("idx", folder);
    struct datasets d;
    struct err err = {0};

    CHECK(fd >= 0);
    CHECK_INT(datasets_load(&d, &job, run, 0, 2, &err), -1);
    CHECK_INT(err.code, ERR_IO);
    CHECK_CONTAINS(err.msg, name);
    CHECK_INT(shm_unlink(name), 0);
}

int main(void)
{
    folder = scratch_make();
    put_folder();
    loads_a_folder();
    makes_rows_once();
    splits_by_seed();
    refuses_bad_folders();
    refuses_bad_settings();
    finds_the_environment();
    shares_one_copy();
    shares_refuse_a_taken_name();
    scratch_remove(folder);
    return test_result();
}
