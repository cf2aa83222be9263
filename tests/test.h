/*
 * Tests: CHECK macros that print file, line and values. A test's main returns test_result(): non-
 * zero when anything failed or when nothing was checked. Under MPI the verdict goes through
 * worker/comm, so one failing rank fails the run.
 */
#ifndef PACELINE_TEST_H
#define PACELINE_TEST_H

#include <math.h>
#include <stdio.h>
#include <string.h>

static _Atomic int test_checked, test_failed; /* checks may run on any thread */

#define TEST_FAIL(...)                                  \
    do {                                                \
        test_failed++;                                  \
        fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
        fprintf(stderr, __VA_ARGS__);                   \
        fputc('\n', stderr);                            \
    } while (0)

#define CHECK(cond)                 \
    do {                            \
        test_checked++;             \
        if (!(cond))                \
            TEST_FAIL("%s", #cond); \
    } while (0)

#define CHECK_INT(got, want)                                     \
    do {                                                         \
        long long g_ = (long long)(got), w_ = (long long)(want); \
        test_checked++;                                          \
        if (g_ != w_)                                            \
            TEST_FAIL("%s: got %lld, want %lld", #got, g_, w_);  \
    } while (0)

#define CHECK_NEAR(got, want, tolerance)                                        \
    do {                                                                        \
        double g_ = (got), w_ = (want), t_ = (tolerance);                       \
        test_checked++;                                                         \
        if (!(fabs(g_ - w_) <= t_))                                             \
            TEST_FAIL("%s: got %.9g, want %.9g within %.3g", #got, g_, w_, t_); \
    } while (0)

#define CHECK_STR(got, want)                                                        \
    do {                                                                            \
        const char *g_ = (got), *w_ = (want);                                       \
        test_checked++;                                                             \
        if (!g_ || strcmp(g_, w_) != 0)                                             \
            TEST_FAIL("%s: got \"%s\", want \"%s\"", #got, g_ ? g_ : "(null)", w_); \
    } while (0)

#define CHECK_CONTAINS(got, part)                                               \
    do {                                                                        \
        const char *g_ = (got), *w_ = (part);                                   \
        test_checked++;                                                         \
        if (!g_ || !strstr(g_, w_))                                             \
            TEST_FAIL("%s: \"%s\" lacks \"%s\"", #got, g_ ? g_ : "(null)", w_); \
    } while (0)

/* The first differing byte is named. */
#define CHECK_BYTES(got, want, n)                                                              \
    do {                                                                                       \
        const unsigned char *g_ = (const void *)(got), *w_ = (const void *)(want);             \
        size_t n_ = (n), i_ = 0;                                                               \
        test_checked++;                                                                        \
        while (i_ < n_ && g_[i_] == w_[i_])                                                    \
            i_++;                                                                              \
        if (i_ < n_)                                                                           \
            TEST_FAIL("%s: byte %zu of %zu is %02x, want %02x", #got, i_, n_, g_[i_], w_[i_]); \
    } while (0)

static inline int test_result(void)
{
    if (!test_checked)
        fprintf(stderr, "nothing was checked\n");
    return test_failed || !test_checked;
}

#endif
