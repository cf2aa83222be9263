/* Jobs for the tests of the spec, from YAML. */
#ifndef PACELINE_TESTS_UNIT_SPEC_TEXT_H
#define PACELINE_TESTS_UNIT_SPEC_TEXT_H

#include "paceline/mem.h"
#include "paceline/spec.h"
#include "tests/test.h"

#define HEAD "apiVersion: paceline.dev/v1\nkind: TrainingJob\nmetadata: {name: t}\nspec:\n"
#define MODEL HEAD "  model: {name: mlp}\n"

static inline struct job *parse(const char *text, const char *const *sets, size_t n_sets)
{
    struct problems problems = {0};
    struct job *job = job_parse(text, strlen(text), "t.yaml", sets, n_sets, &problems);

    CHECK(job != NULL);
    for (size_t i = 0; i < problems.n; i++)
        CHECK_STR(problems.items[i], "");
    problems_release(&problems);
    return job;
}

#endif
