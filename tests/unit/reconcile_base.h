/* A case of reconcile, and the words that all lines of its text share; see reconcile_case.h. */
#ifndef PACELINE_TESTS_RECONCILE_BASE_H
#define PACELINE_TESTS_RECONCILE_BASE_H

#include "operator/reconcile/reconcile.h"
#include "paceline/buf.h"
#include "paceline/mem.h"
#include "tests/test.h"

#define CASE_MAX_PODS 64

struct reconcile_case {
    struct arena arena;
    const char *name;
    struct job job;
    struct tj tj;
    struct pod pods[CASE_MAX_PODS];
    const struct pod *pointers[CASE_MAX_PODS];
    struct observed o;
    struct run_report run;
    int64_t now;
};

static const char *const restart_names[] = {"Never", "OnFailure", "Always", "ExitCode"};
static const char *const clean_names[] = {"Running", "None", "All"};

/* Of names, the one that is text. */
static inline int name_index(const char *const *names, int n, const char *text)
{
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], text) == 0)
            return i;
    TEST_FAIL("unknown name %s", text);
    exit(1);
}

static inline int role_of(const char *text)
{
    return name_index(cluster_role_names, N_CLUSTER_ROLES, text);
}

static inline int64_t case_ms(const char *text) { return (int64_t)(strtod(text, NULL) * 1000); }

#endif
