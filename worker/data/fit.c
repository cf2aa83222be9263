#include "worker/data/fit.h"

#include "paceline/losses.h"
#include "paceline/mem.h"
#include "worker/data/format/arrays.h"
#include "worker/data/format/text.h"
#include "worker/data/store/source.h"

struct data_facts data_facts_of(const struct datasets *d)
{
    return (struct data_facts){.shape = d->train.shape,
                               .n_train = d->n_train,
                               .classes = d->train.classes,
                               .values = d->train.values,
                               .words = d->train.ops->ordered};
}

static int read_text(struct data_facts *f, const struct job *job, struct err *err)
{
    const uint32_t batch = (uint32_t)job->training.batch_size;
    const int64_t limit = job->dataset.limit;
    uint32_t n_test;

    f->words = true;
    if (text_peek(job, &f->shape, &f->n_train, &n_test, err) || text_words(job, &f->classes, err))
        return -1;
    if (limit > 0 && limit < f->n_train) /* whole batches */
        f->n_train = ((uint32_t)limit + batch - 1) / batch * batch;
    return 0;
}

static int read_arrays(struct data_facts *f, const struct job *job, struct err *err)
{
    struct datasets d = {0};

    if (arrays_load(&d, job, err)) {
        datasets_release(&d);
        return -1;
    }
    *f = data_facts_of(&d);
    f->n_train = d.train.n;
    datasets_release(&d);
    return 0;
}

static int read_source(struct data_facts *f, const struct job *job, struct err *err)
{
    AUTO(source_close) struct source s = {0};
    AUTO(auto_free) uint16_t *train = NULL, *test = NULL;

    if (source_open(&s, job, err))
        return -1;
    /* Image folders define their classes, and generated data have as many as the job says. */
    if (s.set->kind == &idx_source || s.set->kind == &cifar_source) {
        train = xcalloc(s.n[SET_TRAIN] + 1, sizeof *train);
        test = xcalloc(s.n[SET_TEST] + 1, sizeof *test);
        const struct source_memory labels = {.labels = {[SET_TRAIN] = train, [SET_TEST] = test}};

        if (source_read(&s, &labels, err))
            return -1;
    }
    f->shape = s.shape;
    f->n_train = s.n[SET_TRAIN];
    f->classes = s.classes;
    f->n_skipped = s.n_skipped;
    snprintf(f->skipped, sizeof f->skipped, "%s", s.skipped ? s.skipped : "");
    return 0;
}

int data_facts_read(struct data_facts *f, const struct job *job, struct err *err)
{
    uint32_t n_validation;

    *f = (struct data_facts){0};
    if (strcmp(job->dataset.name, "text") == 0)
        return read_text(f, job, err);
    if (strcmp(job->dataset.name, "arrays") == 0 ? read_arrays(f, job, err)
                                                 : read_source(f, job, err))
        return -1;
    return datasets_divide(job, f->n_train, &f->n_train, &n_validation, err);
}

static int fit_check_outputs(const struct data_facts *f, const struct net *net, struct err *err)
{
    const int positions = net->rows ? net->out.w : 1;
    const int outputs = net->out.c * net->out.h * net->out.w / positions;

    if (f->values && outputs != f->values)
        return err_set(err, ERR_INVALID,
                       "spec.model: the last layer has %d outputs, but each label has %s%d value%s",
                       outputs, f->values > 1 ? "a row of " : "", f->values,
                       f->values > 1 ? "s" : "");
    if (outputs < f->classes)
        return err_set(err, ERR_INVALID,
                       "spec.model: the last layer has %d outputs, but the data have %d %s",
                       outputs, f->classes, f->words ? "different words" : "classes");
    for (size_t i = 0; i < net->n_layers; i++) {
        const struct layer_spec *l = &net->layers[i].spec;

        if (l->type == LAYER_EMBEDDING && l->vocabulary < f->classes)
            return err_set(err, ERR_INVALID,
                           "spec.model: layer %s has a vocabulary of %d, but the data have %d "
                           "different words",
                           l->name, l->vocabulary, f->classes);
    }
    return 0;
}

static int check_monitor(const struct job *job, const struct net *net, struct err *err)
{
    const struct metric_def *monitor = &metric_defs[job->training.early_stop.monitor];
    const int outputs = net->out.c * net->out.h * net->out.w / (net->rows ? net->out.w : 1);

    if (!monitor->of_set || !labels_are_classes(job_labels(job)) || outputs <= METRIC_CLASSES_MAX)
        return 0;
    return err_set(err, ERR_INVALID,
                   "spec.training.earlyStopping.monitor: found %s of %d classes; allowed: of at "
                   "most %d, or another metric",
                   monitor->name, outputs, METRIC_CLASSES_MAX);
}

int data_fit(const struct data_facts *f, const struct job *job, const struct net *net,
             struct err *err)
{
    const int64_t pad = job->dataset.pad, batch = job->training.batch_size;

    if (fit_check_outputs(f, net, err))
        return -1;
    if (f->n_train < batch && job->training.last_batch == LAST_DROP)
        return err_set(err, ERR_INVALID,
                       "spec.training.batchSize: %lld with lastBatch drop leaves no batch of the "
                       "%u training samples; allowed: at most %u",
                       (long long)batch, f->n_train, f->n_train);
    if (check_monitor(job, net, err))
        return -1;
    if (pad < f->shape.h && pad < f->shape.w)
        return 0;
    return err_set(err, ERR_INVALID,
                   "spec.dataset.augment.pad: %lld for images of %dx%d; allowed: less than either",
                   (long long)pad, f->shape.h, f->shape.w);
}
