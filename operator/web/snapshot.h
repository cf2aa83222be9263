/* The state for the web thread: an immutable copy of the controller's numbers. */
#ifndef PACELINE_OPERATOR_WEB_SNAPSHOT_H
#define PACELINE_OPERATOR_WEB_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum snapshot_state { /* of jobs */
                      SNAPSHOT_PENDING,
                      SNAPSHOT_RUNNING,
                      SNAPSHOT_RESTARTING,
                      SNAPSHOT_BLOCKED,
                      SNAPSHOT_SUSPENDED,
                      SNAPSHOT_SUCCEEDED,
                      SNAPSHOT_FAILED,
                      N_SNAPSHOT_STATES
};
extern const char *const snapshot_state_names[N_SNAPSHOT_STATES];

enum snapshot_restart {                     /* why a pod was replaced */
                        SNAPSHOT_EXIT,      /* its program failed */
                        SNAPSHOT_DISRUPTED, /* evicted, preempted, deleted */
                        SNAPSHOT_LOST,      /* its node fell silent */
                        N_SNAPSHOT_RESTARTS
};
extern const char *const snapshot_restart_names[N_SNAPSHOT_RESTARTS];

/* Upper bounds in seconds of the histogram's buckets; one more counts what is above. */
#define N_BUCKETS 14
extern const double snapshot_bounds[N_BUCKETS];
struct histogram {
    uint64_t counts[N_BUCKETS + 1];
    double sum; /* seconds */
};
void histogram_add(struct histogram *h, double seconds);

/* Requests by method (enum kube_method) and class of answer: 0 none, 1..5 hundreds; and 409, 429.
 */
enum { N_METHODS = 5, N_CODES = 8 };
extern const char *const snapshot_code_names[N_CODES]; /* "none", "1xx".."5xx", "409", "429" */
int snapshot_code(int status);

struct snapshot {
    bool leader, synced;
    bool healthy; /* the control loop turned lately; the web thread also looks at the age */
    int64_t made_mono_ms;
    uint64_t jobs[N_SNAPSHOT_STATES];
    uint64_t pods, queue_depth, writes_in_flight;
    uint64_t requests[N_METHODS][N_CODES];
    uint64_t restarts[N_SNAPSHOT_RESTARTS];
    uint64_t watch_restarts, relists;
    uint64_t objects_cut;       /* that were larger than the operator reads */
    uint64_t looks_delayed;     /* of jobs or namespaces without time */
    struct histogram reconcile; /* of pure reconcile */
    struct histogram sync;      /* from the first change of a key to its plan carried out */
    uint64_t jobs_finished[2];  /* seen to end by this process: succeeded, failed */
};

#endif
