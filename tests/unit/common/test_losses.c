// LINK: common
// The tables of losses and metrics: in the order of the field's names, each metric of some labels,
// and each kind of labels with what "best" is chosen by.
#include "paceline/losses.h"

#include "common/spec_table.h"
#include "tests/test.h"

static void check_names(const char *path, const char *const *names, int n)
{
    const struct field *f = spec_field_find(path);

    CHECK(f != NULL);
    for (int i = 0; f && i < n; i++)
        CHECK_STR(f->names[i], names[i]);
    CHECK(f && f->names[n] == NULL);
}

int main(void)
{
    const char *losses[N_LOSSES], *metrics[N_METRICS];

    for (int i = 0; i < N_LOSSES; i++)
        losses[i] = loss_defs[i].name;
    for (int i = 0; i < N_METRICS; i++) {
        metrics[i] = metric_defs[i].name;
        CHECK(metric_defs[i].labels != 0);
    }
    check_names("spec.model.loss", losses, N_LOSSES);
    check_names("spec.training.earlyStopping.monitor", metrics, N_METRICS);
    for (int kind = LABELS_CLASS; kind <= LABELS_BITS; kind++) {
        CHECK(metric_fits(metric_of_best((enum label_kind)kind), (enum label_kind)kind));
        CHECK(!metric_defs[metric_of_best((enum label_kind)kind)].of_set);
    }
    CHECK(metric_of_best(LABELS_CLASS) == METRIC_ACCURACY);

    struct job job = {.dataset.name = (char *)"arrays", .model.loss = LOSS_HUBER};
    CHECK(job_labels(&job) == LABELS_NUMBERS);
    job.model.loss = LOSS_SIGMOID_CROSS_ENTROPY;
    CHECK(job_labels(&job) == LABELS_BITS);
    job.model.loss = LOSS_SOFTMAX_CROSS_ENTROPY;
    CHECK(job_labels(&job) == LABELS_CLASS);
    job.dataset.name = (char *)"text";
    CHECK(job_labels(&job) == LABELS_WORDS);
    return test_result();
}
