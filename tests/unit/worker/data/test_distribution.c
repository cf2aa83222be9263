// LINK: common/err.c common/mem.c worker/kernels/random_scalar.c worker/data/batch/distribution.c
// LINK: common/text.c
/* Shares of workers: what each kind promises, over sets of many sizes. */
#include "paceline/mem.h"
#include "tests/test.h"
#include "worker/data/batch/distribution.h"
#include "worker/kernels/random.h"

enum { N = 1203, CLASSES = 7, MOST_WORKERS = 9 };

static uint16_t labels[N + 50];
static uint32_t indices[N];
static const struct dataset set = {.n = N + 50, .classes = CLASSES, .labels = labels};

static struct job new_job(enum distribution_kind kind)
{
    struct job job = {0};

    job.dataset.shuffle = true;
    job.dataset.distribution.kind = kind;
    job.dataset.distribution.alpha = 0.5;
    job.training.seed = 3;
    return job;
}

static void ask_sizes(struct job *job, const int64_t *sizes, size_t n)
{
    memcpy(job->dataset.distribution.sizes, sizes, n * sizeof *sizes);
    job->dataset.distribution.n_sizes = n;
}

/* Worker w's share of an epoch, ascending; returns its size. */
static uint32_t share_of(const struct distribution *d, const uint32_t *order, int w, bool *has)
{
    memset(has, 0, N);
    for (uint32_t k = 0; k < d->size[w]; k++)
        has[order[(d->begin[w] + k) % d->n]] = true;
    return d->size[w];
}

/* Each sample in exactly one share, in any epoch; sizes as asked, to one sample; two who deal
 * agree, also one that begins with a later epoch; an epoch is another order. */
static void partitions(enum distribution_kind kind, uint32_t n, int workers, bool sizes)
{
    static const int64_t asked[] = {1, 5, 2};
    struct job job = new_job(kind);
    struct distribution d, other;
    uint32_t order[N], again[N];
    int64_t sum = 0;

    job.dataset.distribution.every = kind == DISTRIBUTION_IID ? 2 : 0;
    if (sizes)
        ask_sizes(&job, asked, 3);
    distribution_init(&d, &job, &set, indices, n, workers);
    distribution_init(&other, &job, &set, indices, n, workers);
    for (int w = 0; w < workers; w++)
        sum += sizes ? asked[w % 3] : 1;
    for (int w = 0; w < workers; w++) {
        const double want = (double)n * (double)(sizes ? asked[w % 3] : 1) / (double)sum;
        CHECK_NEAR(d.size[w], want, 1);
    }
    for (uint32_t epoch = 0; epoch < 3; epoch++) {
        int owners[N] = {0};

        distribution_order(&d, order, epoch);
        for (int w = 0; w < workers; w++)
            for (uint32_t k = 0; k < d.size[w]; k++)
                owners[order[(d.begin[w] + k) % n]]++;
        for (uint32_t i = 0; i < n; i++)
            CHECK_INT(owners[i], 1);
    }
    distribution_order(&other, again, 2);
    CHECK_BYTES(again, order, n * sizeof *order);
    distribution_order(&other, again, 1);
    CHECK(n < 20 || memcmp(again, order, n * sizeof *order) != 0);
    distribution_release(&d);
    distribution_release(&other);
}

/* Shares stay; with reshuffleEveryEpochs 2 they change with every other epoch. */
static void reshuffles(enum distribution_kind kind)
{
    for (int every = 0; every <= 2; every += 2) {
        struct job job = new_job(kind);
        struct distribution d;
        uint32_t order[N];
        bool was[N], is[N];

        job.dataset.distribution.every = every;
        distribution_init(&d, &job, &set, indices, N, 4);
        distribution_order(&d, order, 0);
        share_of(&d, order, 2, was);
        for (uint32_t epoch = 1; epoch < 4; epoch++) {
            distribution_order(&d, order, epoch);
            share_of(&d, order, 2, is);
            CHECK((memcmp(was, is, N) == 0) == (!every || epoch < 2));
        }
        distribution_release(&d);
    }
}

/* How far shares are from the set's own mix of labels: mean total variation distance. */
static double skew(const struct job *job, int workers)
{
    struct distribution d;
    uint32_t order[N];
    double sum = 0, mix[CLASSES] = {0};

    distribution_init(&d, job, &set, indices, N, workers);
    distribution_order(&d, order, 0);
    for (uint32_t i = 0; i < N; i++)
        mix[d.label[i]] += 1.0 / N;
    for (int w = 0; w < workers; w++) {
        double own[CLASSES] = {0};
        for (uint32_t k = 0; k < d.size[w]; k++)
            own[d.label[order[d.begin[w] + k]]] += 1.0 / d.size[w];
        for (int c = 0; c < CLASSES; c++)
            sum += fabs(own[c] - mix[c]) / 2 / workers;
    }
    distribution_release(&d);
    return sum;
}

static void skews(void)
{
    static const double alphas[] = {1000, 10, 1, 0.1, 0.001};
    const struct job iid = new_job(DISTRIBUTION_IID), sorted = new_job(DISTRIBUTION_BY_LABEL);
    struct job job = new_job(DISTRIBUTION_DIRICHLET);
    double less = 0;

    for (size_t i = 0; i < sizeof alphas / sizeof *alphas; i++) {
        double sum = 0;
        job.dataset.distribution.alpha = alphas[i];
        for (uint64_t seed = 0; seed < 5; seed++) {
            job.training.seed = seed;
            sum += skew(&job, 5) / 5;
        }
        CHECK(sum > less + 0.01);
        less = sum;
    }
    CHECK(skew(&iid, 5) < 0.1);
    CHECK(skew(&sorted, 5) > 0.6);
    job.dataset.distribution.alpha = 1000;
    CHECK(skew(&job, 5) < 0.1);
    job.dataset.distribution.alpha = 1e-300;
    CHECK(skew(&job, 5) > 0.5);
}

/* Of labels 2 1 0 2 1 0: by hand. */
static void known(void)
{
    static const uint16_t six[] = {2, 1, 0, 2, 1, 0};
    static const struct dataset small = {.n = 6, .classes = 3, .labels = six};
    static const struct {
        enum distribution_kind kind;
        uint32_t want[6], begin[2];
    } cases[] = {
        {DISTRIBUTION_CONTIGUOUS, {0, 1, 2, 3, 4, 5}, {0, 2}},
        {DISTRIBUTION_BY_LABEL, {2, 5, 0, 1, 3, 4}, {0, 2}},
    };
    static const int64_t sizes[] = {1, 2};

    for (size_t i = 0; i < 2; i++) {
        struct job job = new_job(cases[i].kind);
        struct distribution d;
        uint32_t order[6];

        job.dataset.shuffle = false;
        ask_sizes(&job, sizes, 2);
        distribution_init(&d, &job, &small, NULL, 6, 2);
        distribution_order(&d, order, 7);
        CHECK_BYTES(order, cases[i].want, sizeof order);
        CHECK_BYTES(d.begin, cases[i].begin, sizeof cases[i].begin);
        distribution_release(&d);
    }
}

/* Everybody has all, and begins elsewhere. */
static void replicates(void)
{
    struct job job = new_job(DISTRIBUTION_REPLICATED);
    struct distribution d;
    uint32_t order[N];
    bool has[N];

    distribution_init(&d, &job, &set, indices, N, 4);
    distribution_order(&d, order, 1);
    for (int w = 0; w < 4; w++) {
        CHECK_INT(d.begin[w], N * w / 4);
        CHECK_INT(share_of(&d, order, w, has), N);
        for (int i = 0; i < N; i++)
            CHECK(has[i]);
    }
    distribution_release(&d);
}

int main(void)
{
    const struct random_key key = {.purpose = RANDOM_TEST};

    for (uint32_t i = 0; i < N + 50; i++) /* labels that are not equally frequent */
        labels[i] = (uint16_t)(i % 9 ? random_u32(&key, i) % CLASSES : 0);
    for (uint32_t i = 0; i < N; i++)
        indices[i] = i + i / 25; /* as after a validation split */
    for (int kind = DISTRIBUTION_IID; kind <= DISTRIBUTION_DIRICHLET; kind++)
        for (int workers = 1; workers <= MOST_WORKERS; workers += 2)
            for (int sizes = 0; sizes < 2; sizes++) {
                partitions((enum distribution_kind)kind, N, workers, sizes);
                partitions((enum distribution_kind)kind, 11, workers, sizes);
            }
    reshuffles(DISTRIBUTION_IID);
    reshuffles(DISTRIBUTION_DIRICHLET);
    skews();
    known();
    replicates();
    return test_result();
}
