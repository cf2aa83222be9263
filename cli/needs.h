/* What memory a worker takes at its peak, and how far the job's workers can share its work. What
 * the engine's own code allocates is asked of that code, which then takes none (mem_planned). */
#ifndef PACELINE_NEEDS_H
#define PACELINE_NEEDS_H

#include <stdint.h>

#include "paceline/spec.h"

struct needs {
    double parameters;  /* and gradient, and the optimiser's state; bytes, as all of these */
    double activations; /* that are kept for the way back, and their gradients */
    double batches;     /* of training, validation and test, what is made ahead included */
    double exchange, data;
    double rest; /* layers' and threads' scratch, and a process without slabs: code and MPI */
    double total;
    double state_part; /* of the optimiser's state that a worker has, in parameters */
    double ceiling;    /* speedup that the lanes allow */
};

/* Of the worker that needs the most, which holds all of its host's data. n: samples to train with,
 * and to test with. Fails where a network cannot be split as the job says. */
MUST_CHECK int needs_find(struct needs *needs, const struct job *job, const struct net *net,
                          const uint32_t n[2], struct err *err);

#endif
