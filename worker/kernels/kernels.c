/* Chooses one kernel set at run time; the only file that knows which instruction sets exist. */
#include "worker/kernels/kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <xmmintrin.h>
#endif

#define DECLARE(isa)                                                 \
    extern const struct product_kernels product_kernels_##isa;       \
    extern const struct conv_kernels conv_kernels_##isa;             \
    extern const struct dense_kernels dense_kernels_##isa;           \
    extern const struct pool_kernels pool_kernels_##isa;             \
    extern const struct activation_kernels activation_kernels_##isa; \
    extern const struct math_kernels math_kernels_##isa;             \
    extern const struct random_kernels random_kernels_##isa;         \
    extern const struct reduce_kernels reduce_kernels_##isa;         \
    extern const struct update_kernels update_kernels_##isa;         \
    extern const struct norm_kernels norm_kernels_##isa;             \
    extern const struct lrn_kernels lrn_kernels_##isa;               \
    extern const struct lstm_kernels lstm_kernels_##isa;             \
    DECLARE_BF16(isa)
#define DECLARE_BF16(isa)                                           \
    extern const struct product_kernels product_bf16_kernels_##isa; \
    extern const struct conv_kernels conv_bf16_kernels_##isa;       \
    extern const struct dense_kernels dense_bf16_kernels_##isa;
#define SET(name) SET_OF(name, name)
/* bf16: whose products of bf16 it has */
#define SET_OF(name, bf16)                                                                      \
    {                                                                                           \
        .isa = #name, .isa_bf16 = #bf16, .product = &product_kernels_##name,                    \
        .conv = &conv_kernels_##name, .dense = &dense_kernels_##name,                           \
        .pool = &pool_kernels_##name, .activation = &activation_kernels_##name,                 \
        .math = &math_kernels_##name, .random = &random_kernels_##name,                         \
        .reduce = &reduce_kernels_##name, .update = &update_kernels_##name,                     \
        .norm = &norm_kernels_##name, .lrn = &lrn_kernels_##name, .lstm = &lstm_kernels_##name, \
        .product_bf16 = &product_bf16_kernels_##bf16, .conv_bf16 = &conv_bf16_kernels_##bf16,   \
        .dense_bf16 = &dense_bf16_kernels_##bf16,                                               \
    }

DECLARE(c)
#if defined(__x86_64__)
DECLARE(avx2)
DECLARE(avx512)
DECLARE_BF16(avx512bf16)
static const struct kernels sets[] = {SET_OF(avx512, avx512bf16), SET(avx512), SET(avx2),
                                      SET(c)}; /* best first */
#elif defined(__aarch64__)
DECLARE(neon)
static const struct kernels sets[] = {SET(neon), SET(c)};
#else
static const struct kernels sets[] = {SET(c)};
#endif

const char *const kernels_isas[] = {"c", "avx2", "avx512", "neon", NULL};

#if defined(__x86_64__)
/* clang 14 knows no such name of __builtin_cpu_supports: leaf 7.1, EAX bit 5. */
static bool cpu_has_bf16(void)
{
    unsigned a, b, c, d;

    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 5 & 1);
}
#endif

static bool cpu_runs(const char *isa)
{
#if defined(__x86_64__)
    if (!strcmp(isa, "avx512bf16"))
        return cpu_runs("avx512") && cpu_has_bf16();
    if (!strcmp(isa, "avx512"))
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("fma");
    if (!strcmp(isa, "avx2"))
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    return !strcmp(isa, "c") || !strcmp(isa, "neon");
}

const struct kernels *kernels_find(const char *isa)
{
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        if (!strcmp(sets[i].isa_bf16, isa) && cpu_runs(isa))
            return &sets[i];
    }
    return NULL;
}

const struct kernels *kernels_select(const char **why)
{
    static char text[160];
    const char *forced = getenv("PACELINE_ISA");
    const struct kernels *found = NULL;

    if (forced && *forced) {
        found = kernels_find(forced);
    } else {
        for (size_t i = 0; !found && i < sizeof sets / sizeof sets[0]; i++)
            found = kernels_find(sets[i].isa_bf16);
    }
    if (!found) {
        int n = snprintf(text, sizeof text, "PACELINE_ISA=%.32s: this CPU runs", forced);
        for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
            if (cpu_runs(sets[i].isa_bf16))
                n += snprintf(text + n, sizeof text - (size_t)n, " %s", sets[i].isa_bf16);
        }
    }
    if (why)
        *why = text;
    return found;
}

void kernels_thread_init(void)
{
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() & ~0x8040u); /* FTZ (bit 15) and DAZ (bit 6) off */
#endif
}
