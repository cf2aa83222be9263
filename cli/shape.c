/* The shape of a job's samples, where nobody has read them yet. */
#include "cli/cli.h"
#include "worker/data/data.h"

int cli_data_shape(const struct job *job, struct shape *shape, double *n, struct problems *notes,
                   struct err *err)
{
    uint32_t n_train, n_test, n_published;

    if (datasets_peek(job, shape, &n_train, &n_test, err) == 0) {
        *n = (double)n_train + n_test;
        return 0;
    }
    if (err->code != ERR_NOT_FOUND || !datasets_published(job, shape, &n_published))
        return -1;
    problems_add(notes, "%s; shapes as published were taken", err->msg);
    *n = n_published;
    return 0;
}
