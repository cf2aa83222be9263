/* The state of a run, derived from the engine's events and from how the engine ended. Pure. */
#ifndef PACELINE_AGENT_REPORT_H
#define PACELINE_AGENT_REPORT_H

#include <stdbool.h>

#include "agent/world.h"
#include "paceline/events.h"

enum engine_phase {
    PHASE_STARTING,
    PHASE_TRAINING,
    PHASE_STOPPING,
    PHASE_DONE, /* this and all later phases: the run is over */
    PHASE_STOPPED,
    PHASE_FAILED,
};

/* Kinds of events of which the newest is sent again to an operator that connects. */
enum { KEPT_START, KEPT_SWITCH, KEPT_PROGRESS, KEPT_EPOCH, KEPT_DURABLE, KEPT_DONE, N_KEPT };

struct engine_report {
    long long generation;
    char uid[80]; /* the job's */
    cJSON *pods;  /* names, in the order of ranks */
    enum engine_phase phase;
    char stage[16]; /* while starting */
    long long step; /* the newest known */
    int exit;
    char message[512];   /* at the end */
    bool permanent;      /* the engine said that a retry cannot help */
    char complaint[256]; /* the last line of `paceline-agent exec`, which knows more than mpirun */
    char silent[64];     /* the pod whose agent fell silent; "": none */
    const char *killed;  /* why we killed it; NULL: we did not */
    cJSON *kept[N_KEPT];
    cJSON *last; /* the engine's "done", "stopped" or "error" */
    enum event_type last_type;
    bool foreign; /* it runs another program, which sends no events */
    size_t ended; /* daemons that are known to have ended with 0 */
};

/* foreign: the run is of another program. Its phase is PHASE_TRAINING from the start, and its
 * daemons show at the end whether it finished on all pods. */
void report_init(struct engine_report *r, const struct world *world, bool foreign);
void report_release(struct engine_report *r);

/* Adds an event of rank 0. Returns whether phase or stage changed. */
bool report_event(struct engine_report *r, enum event_type type, const cJSON *event);
/* Adds a line of the engine's log. Returns whether it says that a pod of the world is lost. */
bool report_log(struct engine_report *r, const char *line);
/* Notes that the engine was asked to stop. Returns whether that changed the phase. */
bool report_stop(struct engine_report *r);
/* Notes that the engine ended with this code (or 128 + signal), and decides how the run ended. */
void report_end(struct engine_report *r, int code);
/* Notes that the engine could not be started. */
void report_fail(struct engine_report *r, int exit_code, const char *message);
bool report_over(const struct engine_report *r);

/* Returns the message "run"; the caller owns it. */
cJSON *report_message(const struct engine_report *r);

/* Returns the completion record of a run that is done, at most 4 KiB; the caller owns it. The
 * record of another program has only UID and generation. */
cJSON *report_record(const struct engine_report *r);

#endif
