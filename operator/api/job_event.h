/* The contents of an Event of a job. */
#ifndef PACELINE_OPERATOR_API_JOB_EVENT_H
#define PACELINE_OPERATOR_API_JOB_EVENT_H

#include <stdbool.h>
#include <stdint.h>

/* An event; its name is made of the job's UID and the key, so one key is one event, ever. */
struct job_event {
    bool warning;
    const char *reason, *message, *key;
    int64_t at_ms; /* of the fact, where it is known: events of one second sort by it; else 0 */
    int rank;      /* those of one millisecond sort by it: 0 to 15 */
};

#endif
