#include "worker/optim/optim.h"

#define PI 0x1.921fb54442d18p+1

static double piecewise(const struct job_schedule *s, double epoch)
{
    size_t i = 0;

    while (i < s->n_boundaries && epoch >= s->boundaries[i])
        i++;
    return i < s->n_values ? s->values[i] : 1;
}

static double cosine(const struct job_schedule *s, double epoch, double epochs)
{
    double span = epochs - s->warmup_epochs, x = span > 0 ? (epoch - s->warmup_epochs) / span : 1;

    x = x < 0 ? 0 : x > 1 ? 1 : x;
    return s->min_factor + (1 - s->min_factor) * 0.5 * (1 + math_cos(PI * x));
}

static double factor(const struct job *job, double epoch)
{
    const struct job_schedule *s = &job->training.schedule;

    switch (s->type) {
    case SCHED_CONSTANT:
        break;
    case SCHED_PIECEWISE:
        return piecewise(s, epoch);
    case SCHED_COSINE:
        return cosine(s, epoch, (double)job->training.epochs);
    case SCHED_EXPONENTIAL:
        return math_pow(s->decay_rate, (epoch - s->warmup_epochs) / s->decay_epochs);
    }
    return 1;
}

double schedule_rate(const struct job *job, double epoch)
{
    const struct job_schedule *s = &job->training.schedule;
    double share, end;

    if (epoch >= s->warmup_epochs)
        return job->training.optimizer.learning_rate * factor(job, epoch);
    share = epoch / s->warmup_epochs;
    end = factor(job, s->warmup_epochs);
    return job->training.optimizer.learning_rate *
           (s->warmup_from + (end - s->warmup_from) * share);
}
