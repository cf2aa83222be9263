/* The report of a built-in job's run, which its chief's agent sends (docs/reference/agent.md). */
#ifndef PACELINE_OPERATOR_API_RUN_REPORT_H
#define PACELINE_OPERATOR_API_RUN_REPORT_H

#include "operator/api/trainingjob.h"

enum run_phase {
    RUN_NONE,
    RUN_STARTING,
    RUN_TRAINING,
    RUN_STOPPING,
    RUN_DONE,
    RUN_STOPPED,
    RUN_FAILED,
    N_RUN_PHASES
};
extern const char *const run_phase_names[N_RUN_PHASES]; /* as agents say them; "": none */

/* StrategySwitch, as the engine says it. */
struct switch_report {
    bool known;          /* it has said whether the switch has been */
    int64_t epoch, step; /* after which; step 0: it has not */
    char reason[16];
    double seconds; /* of the hand-over in place; 0: not known */
};

struct run_report {
    char pod[NAME_SIZE]; /* whose agent it is */
    int64_t seen;        /* the highest generation it has seen */
    int64_t announced;   /* the run that it will speak of; 0: none */
    int canary;          /* the port that a NetworkPolicy keeps us from; 0: it has none */
    int64_t told;        /* the generation that we have sent on this connection; 0: none */
    int64_t killed;      /* the one that we have had killed on it; 0: none */
    int64_t generation;  /* of its newest run; 0: there was none */
    int64_t world;       /* launch_world() of the names of that run's pods */
    enum run_phase phase;
    int64_t step;                  /* the newest known */
    int64_t resumed;               /* the step that it began with */
    double transfer_s;             /* of all parameters to another rank; 0: it was not measured */
    int replicas[N_CLUSTER_ROLES]; /* that run's pods */
    char stage[32], message[512];
    int64_t copy_step;           /* of the newest checkpoint for the job's volume */
    char copy_error[256];        /* why it is not there; "": it is */
    char record_uid[64];         /* done: the job's UID in its completion record; else "" */
    char silent[NAME_SIZE];      /* of a run that has failed: the pod whose agent said nothing */
    struct tj_progress progress; /* of that run */
    struct switch_report switched;
    bool relaunch; /* stopped: it wants to be launched again, in its second strategy */
};

/*
 * Takes a message of the agent into the report. True: it is one that docs/reference/agent.md lists;
 * others, and fields of other types, leave the report as it is.
 */
bool run_report_take(struct run_report *r, const cJSON *message);

/* Whether the agent has said all that it knows: its pod, and its newest run if there was one. */
bool run_report_complete(const struct run_report *r);

/* Whether the engine runs, as far as the report says. */
bool run_is_active(const struct run_report *r);

/* A number for a list of pods, by names or by UIDs; never 0. Start with 0 and add one after the
 * other. */
int64_t launch_world(int64_t world, const char *pod);

#endif
