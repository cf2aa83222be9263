/*
 * The multiply-add rate of this machine's cores, the yardstick of docs/performance/kernels.md:
 * independent fused multiply-adds on registers, no memory. One JSON line per instruction set and
 * process count: one process on the first allowed core, then two processes at once on the first two
 * (they may be hyper-threads of one core). Then what one process moves from and to memory: y = y +
 * a * x over arrays far larger than caches, two floats read and one written. build/gcc/bench/peak
 * [CORE CORE]
 */
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHAINS 12 /* enough to hide the latency of two FMA units */
#define ROUNDS 100
#define REPEATS 1000000
#define STREAM ((size_t)32 << 20) /* floats of an array */
#define SWEEPS 12

typedef void burn_fn(float *sink);

#if defined(__x86_64__)
#include <immintrin.h>
__attribute__((target("avx2,fma"))) static void burn_avx2(float *sink)
{
    __m256 a = _mm256_set1_ps(0.999999f), b = _mm256_set1_ps(1e-6f), acc[CHAINS];

    for (int i = 0; i < CHAINS; i++)
        acc[i] = _mm256_set1_ps((float)i);
    for (int r = 0; r < REPEATS; r++)
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++)
            acc[i] = _mm256_fmadd_ps(acc[i], a, b);
    for (int i = 0; i < CHAINS; i++)
        *sink += acc[i][0];
}

__attribute__((target("avx512f"))) static void burn_avx512(float *sink)
{
    __m512 a = _mm512_set1_ps(0.999999f), b = _mm512_set1_ps(1e-6f), acc[CHAINS];

    for (int i = 0; i < CHAINS; i++)
        acc[i] = _mm512_set1_ps((float)i);
    for (int r = 0; r < REPEATS; r++)
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++)
            acc[i] = _mm512_fmadd_ps(acc[i], a, b);
    for (int i = 0; i < CHAINS; i++)
        *sink += acc[i][0];
}
#elif defined(__aarch64__)
#include <arm_neon.h>
static void burn_neon(float *sink)
{
    float32x4_t a = vdupq_n_f32(0.999999f), b = vdupq_n_f32(1e-6f), acc[CHAINS];

    for (int i = 0; i < CHAINS; i++)
        acc[i] = vdupq_n_f32((float)i);
    for (int r = 0; r < REPEATS; r++)
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++)
            acc[i] = vfmaq_f32(b, acc[i], a);
    for (int i = 0; i < CHAINS; i++)
        *sink += acc[i][0];
}
#endif

static const struct isa {
    const char *name;
    burn_fn *burn;
    int width; /* floats of a register */
} isas[] = {
#if defined(__x86_64__)
    {"avx2", burn_avx2, 8},
    {"avx512", burn_avx512, 16},
#elif defined(__aarch64__)
    {"neon", burn_neon, 4},
#endif
};

static bool supported(const struct isa *isa)
{
#if defined(__x86_64__)
    if (isa->burn == burn_avx2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return __builtin_cpu_supports("avx512f");
#else
    return isa->burn != NULL;
#endif
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* GFLOP/s of the best round: what the core gives when nothing else runs on it. */
static double measure(const struct isa *isa, int rounds)
{
    double flop = 2.0 * isa->width * CHAINS * REPEATS, best = 0;
    volatile float kept;
    float sink = 0;

    for (int round = 0; round < rounds; round++) {
        double begin = now();
        isa->burn(&sink);
        double rate = flop / (now() - begin) / 1e9;
        best = rate > best ? rate : best;
    }
    kept = sink;
    (void)kept;
    return best;
}

static void pin(int core)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((unsigned)core, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        perror("peak: pinning");
}

/* The first n cores this process may use; returns how many there are. */
static int allowed_cores(int cores[], int n)
{
    cpu_set_t set;
    int found = 0;

    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 0;
    for (int core = 0; core < CPU_SETSIZE && found < n; core++)
        if (CPU_ISSET((unsigned)core, &set))
            cores[found++] = core;
    return found;
}

/* The rates of n processes at once, one per core, summed. */
static double measure_together(const struct isa *isa, const int cores[], int n)
{
    double *rates = mmap(NULL, (size_t)n * sizeof *rates, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    double sum = 0;

    if (rates == MAP_FAILED)
        return 0;
    for (int i = 0; i < n; i++) {
        if (fork() == 0) {
            pin(cores[i]);
            measure(isa, ROUNDS / 4); /* both are under way before either counts */
            rates[i] = measure(isa, ROUNDS);
            measure(isa, ROUNDS / 4);
            _exit(0);
        }
    }
    while (wait(NULL) > 0)
        ;
    for (int i = 0; i < n; i++)
        sum += rates[i];
    munmap(rates, (size_t)n * sizeof *rates);
    return sum;
}

__attribute__((noinline)) static void sweep(float *restrict y, const float *restrict x, float a)
{
    for (size_t i = 0; i < STREAM; i++)
        y[i] += a * x[i];
}

/* GB/s of the best sweep. */
static double bandwidth(void)
{
    float *x = malloc(STREAM * sizeof *x), *y = malloc(STREAM * sizeof *y);
    double best = 0;

    for (size_t i = 0; x && y && i < STREAM; i++)
        x[i] = y[i] = (float)(i % 3);
    for (int i = 0; x && y && i < SWEEPS; i++) {
        double begin = now();
        sweep(y, x, 1e-3f);
        double rate = 3.0 * sizeof *x * STREAM / (now() - begin) / 1e9;
        best = rate > best ? rate : best;
    }
    free(x);
    free(y);
    return best;
}

int main(int argc, char **argv)
{
    int cores[2], n = allowed_cores(cores, 2);

    for (int i = 0; i < 2 && i + 1 < argc; i++) {
        cores[i] = (int)strtol(argv[i + 1], NULL, 10);
        n = i + 1;
    }
    for (size_t k = 0; k < sizeof isas / sizeof *isas; k++)
        for (int processes = 1; supported(&isas[k]) && processes <= n; processes++)
            printf("{\"isa\":\"%s\",\"processes\":%d,\"gflops\":%.1f}\n", isas[k].name, processes,
                   measure_together(&isas[k], cores, processes));
    pin(cores[0]);
    printf("{\"bandwidth\":%.2f}\n", bandwidth());
    return 0;
}
