#include "worker/data/fit.h"

#include "paceline/losses.h"
#include "paceline/mem.h"

struct data_facts data_facts_of(const struct datasets *d)
{
    return (struct data_facts){.shape = d->train.shape,
                               .n_train = d->n_train,
                               .n_test = d->test.n,
                               .classes = d->train.classes,
                               .values = d->train.values,
                               .words = d->train.ops->ordered};
}

int data_facts_read(struct data_facts *f, const struct job *job, struct err *err)
{
    uint32_t n_validation;

    if (datasets_look(f, job, true, err))
        return -1;
    if (!f->words)
        return datasets_divide(job, f->n_train, &f->n_train, &n_validation, err);
    f->n_train = datasets_whole_batches(job, f->n_train);
    return 0;
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
