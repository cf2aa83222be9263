// LINK: worker/kernels common worker/threads
// The team of threads: each member runs each round once, also after it has slept; threads_run
// returns when the last is done; no member flushes subnormal numbers to zero.
#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "tests/test.h"
#include "tests/unit/fill.h"
#include "worker/kernels/kernels.h"
#include "worker/threads/threads.h"

#define MEMBERS 5
#define ROUNDS 300

struct thread_tally {
    long runs[MEMBERS]; /* plain: a race here is a bug that ThreadSanitizer sees */
    atomic_int wrong;
    int n;
};

static void count(void *arg, int thread, int n_threads)
{
    struct thread_tally *t = arg;
    if (n_threads != t->n || thread < 0 || thread >= n_threads)
        atomic_fetch_add(&t->wrong, 1);
    else
        t->runs[thread]++;
}

static void test_rounds(int n)
{
    struct threads *threads = threads_new(n);
    struct thread_tally t = {.n = n};

    CHECK_INT(threads_count(threads), n);
    for (int round = 1; round <= ROUNDS; round++) {
        threads_run(threads, count, &t);
        for (int i = 0; i < n; i++)
            t.wrong += t.runs[i] != round; /* threads_run has waited for all */
        if (round % 100 == 0)              /* long enough for the members to fall asleep */
            nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    CHECK_INT(t.wrong, 0);
    threads_free(threads);
}

struct thread_sum {
    const int *x;
    int n;
    long part[MEMBERS];
};

static void add(void *arg, int thread, int n_threads)
{
    struct thread_sum *s = arg;
    s->part[thread] = 0;
    for (int i = share_begin(s->n, thread, n_threads); i < share_begin(s->n, thread + 1, n_threads);
         i++)
        s->part[thread] += s->x[i];
}

/* Shares cover all items once, whatever the counts. */
static void test_shares(void)
{
    int x[100];
    for (int i = 0; i < 100; i++)
        x[i] = i + 1;
    for (int n_threads = 1; n_threads <= MEMBERS; n_threads++) {
        struct threads *threads = threads_new(n_threads);
        for (int n = 0; n <= 100; n++) {
            struct thread_sum s = {.x = x, .n = n};
            long sum = 0;
            threads_run(threads, add, &s);
            for (int i = 0; i < n_threads; i++)
                sum += s.part[i];
            CHECK_INT(sum, n * (n + 1) / 2);
        }
        threads_free(threads);
    }
    CHECK_INT(share_begin(2000000000, 1023, 1024), 2000000000L * 1023 / 1024);
}

static void test_unused(void)
{
    threads_free(NULL);
    threads_free(threads_new(MEMBERS)); /* before anything ran */
    cpu_set_t set;
    CHECK(sched_getaffinity(0, sizeof set, &set) == 0);
    CHECK(threads_available_cpus() >= 1 && threads_available_cpus() <= CPU_COUNT(&set));
}

#define IN 64
#define OUT 16

struct product_task {
    const struct kernels *k;
    float product[MEMBERS], factor[MEMBERS];
};

/* The dense product of 2^-100 and 2^-46 is 2^-146, and 2^-146 times 2^100 is no zero either. */
static void multiply(void *arg, int thread, int n_threads)
{
    struct product_task *t = arg;
    const struct dense d = {IN, OUT};
    float x[2 * IN] = {[0] = 0x1p-100f, [IN] = 0x1p-146f}, y[2 * OUT];
    AUTO(auto_free) float *w = xaligned(IN * OUT * sizeof *w);
    AUTO(auto_free) float *scratch = xaligned(dense_forward_scratch(&d, 2) * sizeof *scratch);

    (void)n_threads;
    w[dense_weight_index(&d, 3, 0)] = 0x1p-46f;
    w[dense_weight_index(&d, 5, 0)] = 0x1p100f;
    t->k->dense->forward(&d, y, x, w, NULL, false, 2, 0, 1, scratch);
    t->product[thread] = y[3];
    t->factor[thread] = y[OUT + 5];
}

/* The team is made by a thread that flushes, which its members inherit. */
static void test_subnormal(const struct kernels *k)
{
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | 0x8040u);
#endif
    struct threads *threads = threads_new(MEMBERS);
    struct product_task t = {.k = k};

    kernels_thread_init();
    threads_run(threads, multiply, &t);
    for (int i = 0; i < MEMBERS; i++) {
        CHECK(t.product[i] == 0x1p-146f);
        CHECK(t.factor[i] == 0x1p-46f);
    }
    threads_free(threads);
}

int main(void)
{
    kernels_thread_init();
    for (int n = 1; n <= MEMBERS; n += 2)
        test_rounds(n);
    test_shares();
    test_unused();
    for (const char *const *isa = kernels_isas; *isa; isa++) {
        if (kernels_find(*isa))
            test_subnormal(kernels_find(*isa));
    }
    return test_result();
}
