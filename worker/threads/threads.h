/*
 * A fixed team of threads inside a rank. threads_run calls fn on all of them at once and returns
 * when the last is done; thread 0 is the caller. Waiting spins briefly, then sleeps.
 */
#ifndef PACELINE_THREADS_H
#define PACELINE_THREADS_H

struct threads;
typedef void thread_fn(void *arg, int thread, int n_threads);

struct threads *threads_new(int n);
void threads_free(struct threads *t);
int threads_count(const struct threads *t);
void threads_run(struct threads *t, thread_fn *fn, void *arg);

/* Keeps thread i of rank local_rank on the CPU number local_rank*count + i of the process's mask;
 * -1 where the mask has too few, and nothing is changed. Threads made later by the caller inherit
 * its CPU. */
int threads_pin(struct threads *t, int local_rank);

/* CPUs this process may use: its affinity mask, cut by the cgroups' quota (rounded down, at
 * least 1). */
int threads_available_cpus(void);

/* The share [begin, end) of n items that falls to thread i of n_threads. */
static inline int share_begin(int n, int i, int n_threads)
{
    return (int)((long)n * i / n_threads);
}

#endif
