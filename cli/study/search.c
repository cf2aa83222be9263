#include "cli/study/search.h"

#include <math.h>
#include <stdio.h>

#include "paceline/mem.h"

/* Those of the search that the scale runs; how many. */
static int study_search_list(int *variants, const struct study *study, const struct study_search *s,
                             const struct study_scale *scale)
{
    int n = 0;

    for (size_t i = 0; i < s->n_variants; i++)
        if (study_runs(scale, &study->variants[s->variants[i]]))
            variants[n++] = s->variants[i];
    return n;
}

struct study_found study_find(const struct study_results *r, const struct study_search *s,
                              const struct study_scale *scale)
{
    struct study_found f = {.next = -1, .variant = -1};
    int variants[STUDY_VARIANTS_MAX], low = 0,
                                      high = study_search_list(variants, r->study, s, scale);

    f.needed = study_mean_of(r, &s->measure, s->reference).mean - s->within;
    if (!isfinite(f.needed))
        return f;
    while (low < high && f.next < 0 && f.n < ARRAY_LEN(f.steps)) {
        const int middle = low + (high - low) / 2, v = variants[middle];
        const struct study_mean mean = study_mean_of(r, &s->measure, v);
        const bool good = mean.mean >= f.needed;

        if (!study_has_run(r, v)) {
            f.next = v;
            break;
        }
        f.steps[f.n++] = (struct study_step){v, mean, good};
        if (good) {
            f.variant = v;
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return f;
}

struct study_words study_found_text(const struct study_results *r, const struct study_search *s,
                                    const struct study_found *f)
{
    struct study_words text = {"none is as good"};

    if (f->next >= 0)
        snprintf(text.s, sizeof text.s, "%.60s has not run", r->study->variants[f->next].name);
    else if (!isfinite(f->needed))
        snprintf(text.s, sizeof text.s, "%.60s was not measured",
                 r->study->variants[s->reference].name);
    else if (f->variant >= 0)
        snprintf(text.s, sizeof text.s, "%.60s, with at least %s",
                 r->study->variants[f->variant].name, study_format(s->measure.format, f->needed).s);
    return text;
}

bool study_is_searched(const struct study *s, int variant)
{
    for (size_t i = 0; i < s->n_searches; i++)
        for (size_t k = 0; k < s->searches[i].n_variants; k++)
            if (s->searches[i].variants[k] == variant)
                return true;
    return false;
}
