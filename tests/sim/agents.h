/*
 * The agents in the pods of built-in jobs (docs/reference/agent.md), on simulated time. agents.c is
 * their connections with operators, runs.c what the engine would do, launches.c what must never
 * happen.
 */
#ifndef PACELINE_TESTS_SIM_AGENTS_H
#define PACELINE_TESTS_SIM_AGENTS_H

#include "operator/api/run_report.h"
#include "tests/sim/truth.h"

#define MAX_HOSTS 8
#define RUN_STAGES 3    /* of starting; then it trains */
#define SILENCE_MS 5000 /* ends connections, and what depends on them */

struct sim_run {
    int64_t generation;
    int hosts[MAX_HOSTS]; /* processes; the first is the chief */
    int n, servers; /* of n: those that the engine takes for servers, by the job it was given */
    enum run_phase phase;
    int stage;                 /* while it starts */
    bool taken;                /* by every pod */
    int64_t from, step, total; /* resumed from; reached; 0: trains until it is stopped */
    int64_t step_ms, interval; /* of a step; steps between checkpoints */
    int64_t mark_ms;           /* when it had reached step */
    int64_t due_ms;            /* the next stage, or the end of stopping */
    int64_t told_ms;           /* the next progress event */
    int64_t fails_ms;          /* by itself; 0: it does not */
    int64_t stuck_ms;          /* makes no progress from then on; 0: it does */
    int64_t switch_step;       /* after which its strategy changes; 0: never */
    bool relaunch;             /* it ends then; so it ended */
    bool switched;             /* its strategy has changed, in it or before */
    int exit_code;
    int64_t stalled_ms; /* a pod is dead or silent since then; 0: none */
    int64_t lost_ms;    /* when that is noticed */
    bool progressed;    /* beyond what status knew when it ended */
    bool bereft;        /* one of its pods had been asked to end by then, as the API tells */
    char message[160];
    int64_t epoch; /* of its timers */
    bool tells;    /* as run_fate has it; so the next three */
    bool foreign;
    bool hangs;
    int64_t fetched_ms;
};

struct sim_agent { /* of the process with the same number */
    int64_t seen;
    int64_t copy; /* the newest checkpoint in its memory: a step; 0: none */
    int run;      /* its newest as chief, from 1; 0: none */
};

struct agents {
    struct sim_agent *agents;
    size_t n, cap;
    struct sim_run *runs;
    size_t n_runs, cap_runs;
    struct agent_link **links; /* open or about to be */
    size_t n_links, cap_links;
    int64_t ids;
    int64_t cut_until_ms[N_OPERATORS]; /* it reaches no pod */
    uint64_t n_said;                   /* messages of agents */
};

struct sim_agent *agent_at(struct sim_world *w, int process);
struct sim_run *run_at(struct sim_world *w, int process); /* the newest of this chief; or NULL */
bool run_is_on(const struct sim_run *r);                  /* not over */
bool run_is_stuck(const struct sim_world *w, const struct sim_run *r);
/* One is dead, or does not hear the chief. dead: whether it is the former; or NULL. */
bool run_is_broken(const struct sim_world *w, const struct sim_run *r, bool *dead);
/* The pod is its job's chief, has trained it and stays, to keep the model. */
bool run_is_kept(struct sim_world *w, const struct sim_process *p);
/* The active run that the pod is part of; or NULL. */
struct sim_run *run_with(struct sim_world *w, int process);
/* Of the job's active run; RUN_NONE: there is none. */
enum run_phase run_phase_of_job(struct sim_world *w, const char *uid);

/* Orders to the chief. */
void run_begin(struct sim_world *w, int chief, const cJSON *message);
void run_stop(struct sim_world *w, int chief, int64_t generation);
void run_kill(struct sim_world *w, int chief, int64_t generation);
/* The answer to an operator that connects; the caller owns it. */
cJSON *run_message(struct sim_world *w, const struct sim_run *r);
cJSON *run_started(const struct sim_run *r);
cJSON *run_progress(const struct sim_run *r);
cJSON *run_switched(const struct sim_run *r);
void runs_each_event(struct sim_world *w);

/* To the operator that is connected to this pod, if one is; takes the message over. */
void agent_say(struct sim_world *w, int process, cJSON *message);

/* launches.c */
void launches_job_changed(struct sim_world *w, struct job_truth *t, const struct store_object *o,
                          const cJSON *prev, const cJSON *next);
void launches_run_taken(struct sim_world *w, const struct sim_run *r); /* every pod has */
void launches_run_resumed(struct sim_world *w, const struct sim_run *r);
void launches_run_over(struct sim_world *w, struct sim_run *r); /* failed, or stopped */
/* The job has succeeded, and this chief of its may keep the model still. */
bool launches_keep(struct sim_world *w, const struct sim_process *p, const cJSON *job);
void launches_pod_made(struct sim_world *w, const struct sim_process *p);
void launches_pod_placed(struct sim_world *w,
                         const struct sim_process *p); /* it has a node, at last */
void launches_told(struct sim_world *w, const struct store_object *event); /* to the user */
void launches_reached(struct sim_world *w, const struct sim_run *r);
void launches_pod_asked(struct sim_world *w,
                        const struct sim_process *p); /* to go, by an operator */

#endif
