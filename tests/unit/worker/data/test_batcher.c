// LINK: common worker/data worker/kernels/random_scalar.c
// LIBS: -ljpeg -lpng
#include <unistd.h>

#include "paceline/mem.h"
#include "tests/test.h"
#include "worker/data/batch/augment.h"
#include "worker/data/batch/distribution.h"
#include "worker/data/data.h"
#include "worker/data/store/layout.h"
#include "worker/kernels/random.h"
#include "worker/lanes/lanes.h"

enum { N = 103, PIXELS = 6, BATCH = 16 };

static uint8_t images[N * PIXELS];
static uint16_t labels[N];
static const struct dataset set = {.ops = &bytes_in_memory,
                                   .n = N,
                                   .shape = {1, 2, 3},
                                   .classes = 10000,
                                   .positions = 1,
                                   .images = images,
                                   .labels = labels};

static struct normalizer normalizer;

/* A rank's lanes out of 8. */
struct batcher_part {
    int first, count;
};

static void part_range(void *arg, uint32_t index, uint32_t n, uint32_t *first, uint32_t *count)
{
    const struct batcher_part *p = arg;

    (void)index;
    *first = lane_begin(8, p->first, n);
    *count = lane_samples(8, p->first, p->count, n);
}

static struct batcher_part whole = {0, 8};

/* So slow that a seek always meets the thread at work. */
static void slow_range(void *arg, uint32_t index, uint32_t n, uint32_t *first, uint32_t *count)
{
    usleep(300);
    part_range(arg, index, n, first, count);
}

static struct job new_job(int64_t prefetch)
{
    struct job job = {0};

    job.dataset.mean = 0.25;
    job.dataset.std = 0.5;
    job.dataset.shuffle = true;
    job.dataset.prefetch = prefetch;
    job.training.batch_size = BATCH;
    job.training.seed = 11;
    return job;
}

static void check_sample(const struct batch *b, uint32_t i, uint32_t id)
{
    CHECK_INT(b->ids[i], id);
    CHECK_INT(b->labels[i], labels[id]);
    for (int k = 0; k < PIXELS; k++)
        CHECK(b->x[i * PIXELS + k] == (float)((images[id * PIXELS + k] / 255.0 - 0.25) / 0.5));
}

/* Each epoch is the permutation of (seed, epoch), cut into batches, the short last one included. */
static void walks_epochs(int64_t prefetch)
{
    struct job job = new_job(prefetch);
    struct batcher *b =
        batcher_new(&set, NULL, N, &normalizer, NULL, &job, BATCHES_TRAINING, part_range, &whole);
    uint32_t order[N];

    CHECK_INT(batcher_batches(b), 7);
    for (uint32_t epoch = 0; epoch < 3; epoch++) {
        random_permutation(order, N, 11, RANDOM_SHUFFLE, epoch);
        for (uint32_t i = 0; i < 7; i++) {
            const struct batch *batch = batcher_next(b);
            CHECK_INT(batch->epoch, epoch);
            CHECK_INT(batch->index, i);
            CHECK_INT(batch->n_global, i < 6 ? BATCH : N - 6 * BATCH);
            CHECK_INT(batch->first, 0);
            CHECK_INT(batch->n, batch->n_global);
            CHECK_INT((uintptr_t)batch->x % 64, 0);
            for (uint32_t k = 0; k < batch->n; k++)
                check_sample(batch, k, order[i * BATCH + k]);
        }
    }
    CHECK(batcher_seconds(b).making > 0);
    batcher_free(b);
}

/* Any cut into ranks gives together the samples of one rank, also when a rank has none. */
static void ranks_make_the_whole(int64_t batch_size, uint32_t n)
{
    static struct batcher_part parts[3] = {{0, 3}, {3, 1}, {4, 4}};
    struct job job = new_job(2);
    struct batcher *one, *ranks[3];

    job.training.batch_size = batch_size;
    one = batcher_new(&set, NULL, n, &normalizer, NULL, &job, BATCHES_TRAINING, part_range, &whole);
    for (int r = 0; r < 3; r++)
        ranks[r] = batcher_new(&set, NULL, n, &normalizer, NULL, &job, BATCHES_TRAINING, part_range,
                               &parts[r]);
    for (uint32_t i = 0; i < 2 * batcher_batches(one); i++) {
        const struct batch *all = batcher_next(one);
        uint32_t at = 0;
        for (int r = 0; r < 3; r++) {
            const struct batch *mine = batcher_next(ranks[r]);
            CHECK_INT(mine->first, at);
            CHECK_INT(mine->n_global, all->n);
            for (uint32_t k = 0; k < mine->n; k++)
                check_sample(mine, k, all->ids[at + k]);
            at += mine->n;
        }
        CHECK_INT(at, all->n);
    }
    for (int r = 0; r < 3; r++)
        batcher_free(ranks[r]);
    batcher_free(one);
}

static void seeks(int64_t prefetch)
{
    struct job job = new_job(prefetch);
    struct batcher *walked =
        batcher_new(&set, NULL, N, &normalizer, NULL, &job, BATCHES_TRAINING, part_range, &whole);
    struct batcher *sought =
        batcher_new(&set, NULL, N, &normalizer, NULL, &job, BATCHES_TRAINING, slow_range, &whole);

    for (uint32_t at = 0; at < 14; at++) {
        const struct batch *want = batcher_next(walked), *got;
        for (uint32_t ahead = 0; ahead < at % 4; ahead++)
            batcher_next(sought);
        batcher_seek(sought, at / 7, at % 7);
        got = batcher_next(sought);
        CHECK_INT(got->epoch, want->epoch);
        CHECK_INT(got->index, want->index);
        CHECK_INT(got->n, want->n);
        CHECK_BYTES(got->ids, want->ids, want->n * sizeof *want->ids);
        CHECK_BYTES(got->x, want->x, want->n * PIXELS * sizeof *want->x);
    }
    batcher_seek(sought, 4, 7);
    CHECK_INT(batcher_next(sought)->epoch, 5);
    batcher_seek(sought, 9, 3);
    batcher_free(sought);
    batcher_free(walked);
}

static void drops_the_last(void)
{
    struct job job = new_job(1);
    struct batcher *b;

    job.training.last_batch = LAST_DROP;
    b = batcher_new(&set, NULL, N, &normalizer, NULL, &job, BATCHES_TRAINING, part_range, &whole);
    CHECK_INT(batcher_batches(b), 6);
    for (int i = 0; i < 6; i++)
        CHECK_INT(batcher_next(b)->n, BATCH);
    CHECK_INT(batcher_next(b)->epoch, 1);
    batcher_free(b);

    /* Evaluation sees every sample in file order, whatever the job says. */
    b = batcher_new(&set, NULL, N, &normalizer, NULL, &job, BATCHES_ALL, part_range, &whole);
    CHECK_INT(batcher_batches(b), 7);
    for (uint32_t i = 0; i < N; i += BATCH) {
        const struct batch *batch = batcher_next(b);
        for (uint32_t k = 0; k < batch->n; k++)
            check_sample(batch, k, i + k);
    }
    batcher_free(b);
}

static void follows_an_index(bool shuffle)
{
    static const uint32_t index[] = {5, 7, 50, 51, 102};
    struct job job = new_job(3);
    uint32_t order[5] = {0, 1, 2, 3, 4};
    struct batcher *b;

    job.dataset.shuffle = shuffle;
    job.training.batch_size = 2;
    b = batcher_new(&set, index, 5, &normalizer, NULL, &job, BATCHES_TRAINING, part_range, &whole);
    if (shuffle)
        random_permutation(order, 5, 11, RANDOM_SHUFFLE, 0);
    CHECK_INT(batcher_batches(b), 3);
    for (uint32_t i = 0; i < 3; i++) {
        const struct batch *batch = batcher_next(b);
        CHECK_INT(batch->n, i < 2 ? 2 : 1);
        for (uint32_t k = 0; k < batch->n; k++)
            check_sample(batch, k, index[order[2 * i + k]]);
    }
    batcher_free(b);
}

/* Training samples are augmented by epoch and sample, evaluation's are not; on any ranks. */
static void augments(void)
{
    static struct batcher_part part = {2, 5};
    struct job job = new_job(2);
    const struct augment augment = {.flip = true, .pad = 1, .seed = 11};
    struct batcher *b;
    uint8_t view[PIXELS];
    float want[PIXELS];
    int changed = 0;

    job.dataset.flip = true;
    job.dataset.pad = 1;
    b = batcher_new(&set, NULL, N, &normalizer, NULL, &job, BATCHES_TRAINING, part_range, &part);
    for (uint32_t i = 0; i < 3 * batcher_batches(b); i++) {
        const struct batch *batch = batcher_next(b);
        for (uint32_t k = 0; k < batch->n; k++) {
            const uint8_t *image = images + batch->ids[k] * PIXELS;
            augment_apply(view, image, set.shape,
                          augment_draw(&augment, (uint32_t)batch->epoch, batch->ids[k]));
            normalizer_apply(&normalizer, want, view);
            CHECK_BYTES(batch->x + k * PIXELS, want, sizeof want);
            changed += memcmp(view, image, sizeof view) != 0;
        }
    }
    CHECK(changed > 100);
    batcher_free(b);
    b = batcher_new(&set, NULL, N, &normalizer, NULL, &job, BATCHES_ALL, part_range, &whole);
    for (uint32_t i = 0; i < BATCH; i++)
        check_sample(batcher_next(b), 0, i * BATCH % (7 * BATCH));
    batcher_free(b);
}

/* Batch b is of worker b mod 3, in the order of its share; where that is over it is empty. */
static void deals_shares(bool drop)
{
    struct job job = new_job(2);
    struct distribution d;
    struct batcher *b;
    uint32_t seen = 0;

    job.dataset.distribution = (struct job_distribution){
        .kind = DISTRIBUTION_CONTIGUOUS, .sizes = {1, 4, 2}, .n_sizes = 3};
    job.training.last_batch = drop ? LAST_DROP : LAST_KEEP;
    distribution_init(&d, &job, &set, NULL, N, 3);
    b = batcher_new(&set, NULL, N, &normalizer, &d, &job, BATCHES_TRAINING, part_range, &whole);
    /* Shares of 14, 58 and 31: a batch at most, 4 (of 3 whole ones) and 2 (1). */
    CHECK_INT(batcher_batches(b), drop ? 9 : 12);
    CHECK_INT(batcher_samples(b, 0, 12), drop ? 64 : N);
    for (uint32_t i = 0; i < batcher_batches(b); i++) {
        const struct batch *batch = batcher_next(b);
        for (uint32_t k = 0; k < batch->n; k++, seen++) {
            check_sample(batch, k, batch->ids[k]);
            CHECK(batch->ids[k] >= d.begin[i % 3]);
            CHECK(batch->ids[k] < d.begin[i % 3] + d.size[i % 3]);
        }
        CHECK(!drop || batch->n == 0 || batch->n == BATCH);
        CHECK_INT(batch->n, batcher_samples(b, i, 1));
    }
    CHECK_INT(seen, drop ? 64 : N);
    batcher_free(b);
    distribution_release(&d);
}

/* What is made after a hold is made of the normaliser as it is then. */
static void holds(void)
{
    struct job job = new_job(3);
    struct batcher *b =
        batcher_new(&set, NULL, N, &normalizer, NULL, &job, BATCHES_ALL, slow_range, &whole);
    const float was = normalizer.tables[images[0]];

    check_sample(batcher_next(b), 0, 0);
    batcher_hold(b);
    normalizer.tables[images[0]] = 77;
    batcher_seek(b, 0, 0);
    CHECK(batcher_next(b)->x[0] == 77);
    batcher_hold(b);
    normalizer.tables[images[0]] = was;
    batcher_free(b);
    batcher_hold(NULL);
}

int main(void)
{
    const struct job job = new_job(0);

    normalizer_init(&normalizer, &job, set.shape);
    for (size_t i = 0; i < sizeof images; i++)
        images[i] = (uint8_t)(i * 37 + i / 256);
    for (uint32_t i = 0; i < N; i++)
        labels[i] = (uint16_t)(i % 10 * 1000);
    for (int64_t prefetch = 0; prefetch < 4; prefetch++) {
        walks_epochs(prefetch);
        seeks(prefetch);
    }
    ranks_make_the_whole(16, N);
    ranks_make_the_whole(20, 83); /* the last batch has 3 samples for 8 lanes */
    ranks_make_the_whole(11, 21); /* rank 1 has 1 sample of 11 and 2 of 10 */
    ranks_make_the_whole(200, 1); /* two of three ranks have nothing */
    drops_the_last();
    follows_an_index(false);
    follows_an_index(true);
    augments();
    deals_shares(false);
    deals_shares(true);
    holds();
    normalizer_release(&normalizer);
    return test_result();
}
