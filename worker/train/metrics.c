#include "worker/train/metrics.h"

#include <math.h>

#include "worker/kernels/math.h"

double metric_value(enum metric metric, const struct evaluation *e)
{
    const struct totals *s = &e->totals;
    const double n = (double)s->samples;

    switch (metric) {
    case METRIC_LOSS:
        return s->loss / n;
    case METRIC_PERPLEXITY:
        return math_exp(s->loss / n);
    case METRIC_ACCURACY:
    case METRIC_MAE:
        return s->scores[0] / n;
    case METRIC_BINARY_ACCURACY:
        return s->scores[1] / n;
    case METRIC_RMSE:
        return sqrt(s->scores[1] / n);
    case METRIC_R2:
        return e->scores.r2;
    case METRIC_PRECISION:
        return e->scores.precision;
    case METRIC_RECALL:
        return e->scores.recall;
    case METRIC_F1:
        return e->scores.f1;
    case N_METRICS:
        break;
    }
    return NAN;
}

void metrics_add(cJSON *event, const char *set, enum label_kind kind, const struct evaluation *e)
{
    for (int m = 0; m < N_METRICS && e->totals.samples > 0; m++) {
        const double value = metric_value((enum metric)m, e);

        if (metric_fits((enum metric)m, kind) && isfinite(value))
            cJSON_AddNumberToObject(event, metric_key(set, (enum metric)m).s, value);
    }
}
