/* The memory that a worker and a parameter server take at their peak, and how far the job's workers
 * can share its work. What the engine's own code allocates is asked of that code, which then takes
 * none (mem_planned). */
#ifndef PACELINE_NEEDS_H
#define PACELINE_NEEDS_H

#include <stdint.h>

#include "paceline/spec.h"

/* Of a process, in bytes. */
struct needs_memory {
    double parameters;  /* and gradients, and the optimiser's state */
    double activations; /* that are kept for the way back, and their gradients */
    double batches;     /* of training, validation and test, what is made ahead included */
    double exchange, data;
    double rest; /* layers' and threads' scratch, and a process without slabs: code and MPI */
    double total;
};

struct needs {
    struct needs_memory worker;
    struct needs_memory server; /* a parameter server, where the job has some; else all 0 */
    double state_part;          /* of the optimiser's state that a worker has, in parameters */
    double ceiling;             /* speedup that the lanes allow */
};

/* Of the worker and of the server that need the most. Each holds all of its host's data. n: samples
 * to train with, and to test with. Fails where a network cannot be split as the job says. */
MUST_CHECK int needs_find(struct needs *needs, const struct job *job, const struct net *net,
                          const uint32_t n[2], struct err *err);

#endif
