/*
 * A study's binary search: of variants in the order of x, the first that is as good as another
 * variant, or nearly. Taken for granted is that those after it are, too. Pure: what has run
 * decides what is to run next, so a search that was stopped goes on by itself.
 */
#ifndef PACELINE_CLI_STUDY_SEARCH_H
#define PACELINE_CLI_STUDY_SEARCH_H

#include "cli/study/result.h"

struct study_step {
    int variant;
    struct study_mean mean;
    bool good; /* its mean is at least the reference's, less `within` */
};

struct study_found {
    struct study_step steps[16]; /* those looked at, in order */
    size_t n;
    int next;    /* the variant that has to run before there is an answer; -1: there is one */
    int variant; /* the answer; -1: none is good enough */
    double needed;
};

/* The variants are those that the scale runs. */
struct study_found study_find(const struct study_results *r, const struct study_search *s,
                              const struct study_scale *scale);

/* "at-6, with at least 85.10%": the answer in words. */
struct study_words {
    char s[160];
};
struct study_words study_found_text(const struct study_results *r, const struct study_search *s,
                                    const struct study_found *f);

/* Whether a search decides if the variant runs. */
bool study_is_searched(const struct study *s, int variant);

#endif
