#include "cli/run/calibrate.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/run/session.h"
#include "paceline/clock.h"
#include "paceline/mem.h"
#include "worker/data/data.h"

/* The effective job in a file that every rank can read; the caller removes it. */
static int calibrate_write_job(const struct job *job, char *path, struct err *err)
{
    AUTO(auto_close) int fd = mkstemp(path);
    AUTO(buf_release) struct buf spec;

    buf_init(&spec, 0);
    job_to_json(job, &spec);
    if (fd < 0 || write(fd, spec.data, spec.len) != (ssize_t)spec.len)
        return err_set(err, ERR_IO, "cannot write %.100s: %s", path, strerror(errno));
    return 0;
}

/* One run of the engine; its number of that name. */
static int calibrate_measure(double *value, double *bytes, const char *name, const char *spec,
                             int ranks, const struct job *job, struct err *err)
{
    const char *arguments[] = {"calibrate", "--spec", spec, NULL};
    AUTO(session_release) struct session session;
    int code;

    session_init(&session, EVENT_CALIBRATION);
    code = session_run(&session, arguments, ranks, (int)job->training.threads, clock_realtime_ns(),
                       err);
    if (code != EXIT_OK)
        return code;
    *value = event_number(session.history.calibration, name);
    *bytes = event_number(session.history.calibration, "bytes");
    if (*value > 0)
        return EXIT_OK;
    err_set(err, ERR_DAMAGED, "the engine has measured no %s", name);
    return err_exit_code(err->code);
}

int calibrate(struct calibration *c, const struct job *job, struct err *err)
{
    const char *folder = getenv("TMPDIR");
    AUTO(auto_free) char *path = xasprintf("%s/paceline-XXXXXX", folder ? folder : "/tmp");
    int code;

    if (calibrate_write_job(job, path, err) < 0) {
        code = err_exit_code(err->code);
    } else {
        code = calibrate_measure(&c->gradient_s, &c->bytes, "gradientSeconds", path, 1, job, err);
        if (code == EXIT_OK)
            code =
                calibrate_measure(&c->transfer_s, &c->bytes, "transferSeconds", path, 2, job, err);
    }
    unlink(path);
    return code;
}

size_t *tensors_of_net(const struct net *net, size_t *n)
{
    size_t *tensors = xcalloc(2 * net->n_layers, sizeof *tensors);

    *n = 0;
    for (size_t i = 0; i < net->n_layers; i++) {
        const size_t sizes[] = {net->layers[i].weights, net->layers[i].biases};

        for (size_t k = 0; k < ARRAY_LEN(sizes); k++)
            if (sizes[k])
                tensors[(*n)++] = sizes[k];
    }
    return tensors;
}

int tensors_of_job(struct estimate_costs *costs, size_t **tensors, const struct job *job,
                   struct err *err)
{
    struct data_facts facts;
    struct net net;

    if (job->strategy.placement != PLACEMENT_GREEDY)
        return 0;
    if (datasets_look(&facts, job, false, err) < 0 ||
        job_network(job, facts.shape, 0, &net, err) < 0)
        return -1;
    free(*tensors);
    costs->tensors = *tensors = tensors_of_net(&net, &costs->n_tensors);
    net_release(&net);
    return 0;
}
