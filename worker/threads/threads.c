/* A team of threads with a spinning, then sleeping, start and end; see threads.h. */
#include "worker/threads/threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "paceline/mem.h"
#include "worker/kernels/kernels.h"
#include "worker/threads/quota.h"

#define SPINS 20000

struct thread_member {
    struct threads *team;
    int index;
    pthread_t id;
};

struct threads {
    int n;
    thread_fn *fn;
    void *arg;
    atomic_uint round;   /* a new value starts a round */
    atomic_int running;  /* members that have not finished the round */
    atomic_int sleeping; /* members that wait on the condition */
    atomic_bool stop;
    pthread_mutex_t lock;
    pthread_cond_t started;
    struct thread_member *members; /* n - 1 */
};

static void cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    __asm__ volatile("yield");
#endif
}

static void wait_for_round(struct threads *t, unsigned seen)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load(&t->round) != seen)
            return;
        cpu_relax();
    }
    pthread_mutex_lock(&t->lock);
    atomic_fetch_add(&t->sleeping, 1);
    while (atomic_load(&t->round) == seen)
        pthread_cond_wait(&t->started, &t->lock);
    atomic_fetch_sub(&t->sleeping, 1);
    pthread_mutex_unlock(&t->lock);
}

static void *threads_member_main(void *arg)
{
    const struct thread_member *m = arg;
    struct threads *t = m->team;
    unsigned seen = 0;

    kernels_thread_init();
    for (;;) {
        wait_for_round(t, seen);
        seen++;
        if (atomic_load(&t->stop))
            return NULL;
        t->fn(t->arg, m->index, t->n);
        atomic_fetch_sub(&t->running, 1);
    }
}

static void start_round(struct threads *t)
{
    atomic_store(&t->running, t->n - 1);
    atomic_fetch_add(&t->round, 1);
    if (atomic_load(&t->sleeping)) {
        pthread_mutex_lock(&t->lock);
        pthread_cond_broadcast(&t->started);
        pthread_mutex_unlock(&t->lock);
    }
}

struct threads *threads_new(int n)
{
    struct threads *t = xcalloc(1, sizeof *t);
    t->n = n;
    t->members = xcalloc((size_t)n, sizeof *t->members);
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->started, NULL);
    for (int i = 1; i < n; i++) {
        t->members[i] = (struct thread_member){.team = t, .index = i};
        if (pthread_create(&t->members[i].id, NULL, threads_member_main, &t->members[i]) != 0) {
            t->n = i; /* fewer threads give the same bytes */
            break;
        }
    }
    return t;
}

void threads_free(struct threads *t)
{
    if (!t)
        return;
    atomic_store(&t->stop, true);
    start_round(t);
    for (int i = 1; i < t->n; i++)
        pthread_join(t->members[i].id, NULL);
    pthread_cond_destroy(&t->started);
    pthread_mutex_destroy(&t->lock);
    free(t->members);
    free(t);
}

int threads_count(const struct threads *t) { return t->n; }

void threads_run(struct threads *t, thread_fn *fn, void *arg)
{
    if (t->n == 1) {
        fn(arg, 0, 1);
        return;
    }
    t->fn = fn;
    t->arg = arg;
    start_round(t);
    fn(arg, 0, t->n);
    for (int i = 0; atomic_load(&t->running); i++) {
        if (i > SPINS)
            sched_yield();
        else
            cpu_relax();
    }
}

/* The n-th CPU of the mask, or -1. */
static int nth_cpu(const cpu_set_t *set, int n)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, set) && n-- == 0)
            return cpu;
    }
    return -1;
}

int threads_pin(struct threads *t, int local_rank)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0 ||
        nth_cpu(&set, local_rank * t->n + t->n - 1) < 0)
        return -1;
    for (int i = 0; i < t->n; i++) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(nth_cpu(&set, local_rank * t->n + i), &one);
        pthread_setaffinity_np(i ? t->members[i].id : pthread_self(), sizeof one, &one);
    }
    return 0;
}

int threads_available_cpus(void)
{
    cpu_set_t set;
    int n = 1, quota = quota_cpus("");
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        n = CPU_COUNT(&set);
    return quota > 0 && quota < n ? quota : n;
}
