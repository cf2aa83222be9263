/* What is known of a run: its phase, from the engine's events and from how it ended. Pure. */
#ifndef PACELINE_AGENT_REPORT_H
#define PACELINE_AGENT_REPORT_H

#include <stdbool.h>

#include "agent/world.h"
#include "paceline/events.h"

enum engine_phase {
    PHASE_STARTING,
    PHASE_TRAINING,
    PHASE_STOPPING,
    PHASE_DONE, /* from here on it is over */
    PHASE_STOPPED,
    PHASE_FAILED,
};

/* The newest of each comes again to an operator that connects. */
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
    bool permanent;      /* the engine itself said that trying again cannot help */
    char complaint[256]; /* the last of `paceline-agent exec`, which knows more than mpirun */
    char silent[64];     /* the pod whose agent said nothing any more; "": none */
    const char *killed;  /* why we have killed it, if we have */
    cJSON *kept[N_KEPT];
    cJSON *last; /* the engine's "done", "stopped" or "error" */
    enum event_type last_type;
    bool foreign; /* it runs another program, which tells of nothing */
    size_t ended; /* daemons that are known to have ended well */
};

/* foreign: the run is of another program: it trains from here on, and the daemons say at its end
 * whether it was whole. */
void report_init(struct engine_report *r, const struct world *world, bool foreign);
void report_release(struct engine_report *r);

/* Takes an event of rank 0. Whether phase or stage changed. */
bool report_event(struct engine_report *r, enum event_type type, const cJSON *event);
/* Takes a line of the engine's log. Whether it says that a pod of the world is lost. */
bool report_log(struct engine_report *r, const char *line);
/* The engine was asked to stop. Whether that changed the phase. */
bool report_stop(struct engine_report *r);
/* The engine has ended with this code (128 + signal): the verdict. */
void report_end(struct engine_report *r, int code);
/* It could not even be started. */
void report_fail(struct engine_report *r, int exit_code, const char *message);
bool report_over(const struct engine_report *r);

/* The message "run"; the caller owns it. */
cJSON *report_message(const struct engine_report *r);

/* The completion record of a run that is done, at most 4 KiB; the caller owns it. Another program's
 * has no more than UID and generation. */
cJSON *report_record(const struct engine_report *r);

#endif
