/*
 * One simulated history: a cluster, its users, and operators, in one thread on one clock. Whatever
 * happens is an event in a heap; equal seeds give equal histories, byte for byte.
 */
#ifndef PACELINE_TESTS_SIM_WORLD_H
#define PACELINE_TESTS_SIM_WORLD_H

#include <setjmp.h>

#include "operator/controller/controller.h"
#include "paceline/cluster.h"
#include "tests/sim/apiserver.h"
#include "tests/sim/random.h"

#define N_OPERATORS 2
#define N_NODES 3
#define MAX_SKEW_MS 2000 /* of a node's clock, either way: what the operator allows for */
#define MAX_JOBS 3
#define MAX_WATCHES 64
#define TRACE_LINES 40
#define OPERATOR_NS "paceline-system"
#define TENANT_NS "stranger" /* after "ns" and OPERATOR_NS in a list by name */

struct sim_world;
typedef void event_fn(struct sim_world *w, int64_t id);
struct sim_event {
    int64_t at;
    uint64_t order;
    event_fn *fn;
    int64_t id;
};

enum fault {
    FAULT_CONFLICT,  /* 409 */
    FAULT_GONE,      /* 410 */
    FAULT_BUSY,      /* 429 */
    FAULT_ERROR,     /* 500 */
    FAULT_FORBIDDEN, /* 403 */
    FAULT_LOST,      /* applied, answer lost */
    FAULT_REFUSED,   /* not applied, connection reset */
    FAULT_SLOW,      /* answer late */
    FAULT_LATE,      /* arrives late */
    FAULT_TIMEOUT,   /* never arrives */
    FAULT_WATCH_CUT,
    FAULT_WATCH_HALF,  /* says nothing more; ended by TCP keep-alive */
    FAULT_WATCH_STALL, /* says nothing more, ever */
    FAULT_WATCH_LAG,
    FAULT_COMPACT,     /* old watches and lists get 410 */
    FAULT_KILL,        /* kill -9 between steps */
    FAULT_KILL_INSIDE, /* between two requests of one step */
    FAULT_STOP,        /* graceful */
    FAULT_PAUSE,       /* no step for a while */
    FAULT_FREEZE,      /* stopped inside a step; what it sends then leaves late */
    FAULT_STEAL,       /* somebody takes or deletes the Lease */
    FAULT_CLOCK_FORWARD,
    FAULT_CLOCK_BACK,
    FAULT_QUOTA,     /* pods are forbidden for a while */
    FAULT_NODE_LOST, /* unreachable, its pods go on */
    FAULT_NODE_DEAD, /* powered off */
    FAULT_EVICT,
    FAULT_DRAIN, /* the kubelet's own eviction: Failed, reason Evicted */
    FAULT_LINK_CUT,
    FAULT_LINK_HALF, /* nothing gets through, and nobody is told */
    FAULT_LINK_LAG,
    FAULT_LINK_PARTITION, /* an operator reaches no pod */
    FAULT_LINK_REFUSED,   /* no answer to a new connection */
    FAULT_LAUNCH_KILL,    /* between the status and the launch that it tells of */
    FAULT_USER_LABEL,
    FAULT_USER_SCALE,
    FAULT_USER_SUSPEND,
    FAULT_USER_RESUME,
    FAULT_USER_DELETE,
    FAULT_USER_CREATE,
    FAULT_USER_POLICY, /* edits runPolicy */
    FAULT_USER_POD,    /* deletes a pod */
    FAULT_USER_FORCE,  /* with grace period 0 */
    FAULT_USER_STRIP,  /* and its finalizers */
    FAULT_USER_OBJECT, /* deletes a Service, ConfigMap, ... */
    N_FAULTS
};
extern const char *const fault_names[N_FAULTS];

/* The operator's work at the moment of a fault. */
enum situation {
    AT_NO_LEADER,
    AT_NEW,     /* job without condition Created */
    AT_OBJECTS, /* Created, no pods yet */
    AT_PODS,    /* pods are coming */
    AT_RUNNING,
    AT_RESTARTING,
    AT_LAUNCHING, /* a run of the engine is about to begin */
    AT_TRAINING,
    AT_STOPPING, /* it writes a checkpoint */
    AT_SUSPENDED,
    AT_SUCCEEDED,
    AT_FAILED,
    AT_DELETING,
    AT_GONE,
    N_SITUATIONS
};
extern const char *const situation_names[N_SITUATIONS];

struct stats {
    uint64_t cells[N_FAULTS][N_SITUATIONS];
    uint64_t seeds, events, requests, pods, succeeded, failed, restarts, launches, switches,
        running, failures; /* running: jobs that settled so */
    int64_t first_failure; /* seed, or -1 */
};

enum actor { ACTOR_USER, ACTOR_OPERATOR, ACTOR_KUBELET, ACTOR_CLUSTER, ACTOR_EVICTION };

/* The process of a pod, as it really is. */
enum pod_state { POD_AT_NEW, POD_AT_BOUND, POD_AT_RUNNING, POD_AT_WAITING, POD_AT_ENDED };
struct sim_process {
    char name[128], ns[64], uid[40], job[64], job_uid[40];
    enum cluster_role role;
    int index;
    int64_t incarnation;
    int node; /* -1: none */
    enum pod_state state;
    bool running;
    bool orphan;   /* its node was lost while it ran: nobody can know */
    bool late;     /* made by a request whose sender had given up, or led no more */
    bool stripped; /* a user took the object away by force */
    bool gone;     /* the object is gone */
    bool reported_success, reported_failure; /* in the API */
    bool evicted;                            /* killed by the kubelet's eviction */
    bool replacement;                        /* its incarnation was above the world's */
    bool forgiven; /* given up and tried again, or scaled away, at the user's wish */
    enum actor asked_by;
    int64_t asked_ms; /* when its deletion was asked for; 0: not */
    int64_t created_ms, started_ms, ended_ms;
    int exit_code, restarts, attempt;
    int64_t epoch;   /* of its timers */
    int64_t lost_ms; /* since when its node is silent */
};

struct node {
    bool down, dead, forever;
    int64_t epoch;
    int64_t since_ms;
    int64_t skew_ms; /* of its clock */
};

struct call;
struct operator_process {
    struct sim_world *w;
    int n;
    struct controller *c; /* NULL: not running */
    char identity[32];
    int64_t epoch; /* of the process */
    int64_t step_epoch;
    int64_t paused_until;
    int64_t frozen_until; /* what is sent now leaves then */
    int64_t skew_ms;      /* of its wall clock */
    bool dying;           /* killed inside a step: sends nothing more */
    bool stopping, absent;
    int sends; /* in this step */
    bool led;
};

struct job_plan { /* a user's intention */
    char ns[32], name[32];
    char *spec;                   /* JSON */
    bool launched;                /* by agents: built-in, or */
    bool foreign;                 /* another MPI program */
    int servers;                  /* of a built-in one */
    bool switches, relaunch;      /* StrategySwitch; by a launch */
    bool everlasting;             /* workers run until they are stopped */
    bool always[N_CLUSTER_ROLES]; /* restartPolicy Always: an end would be none */
    bool create_suspended;
    bool cramped; /* launched: nodes have room for worker 0 and the servers, no more */
    int64_t created_ms;
    int trouble; /* how often its pods fail, 0 to 3 */
};

struct sim_world {
    uint64_t seed;
    struct random schedule, faults, user, tenant; /* independent streams */
    int64_t now_ms, start_ms;
    struct sim_event *heap;
    size_t n_heap, cap_heap;
    uint64_t order;
    struct api api;
    enum actor actor;
    bool actor_late;
    bool gc_waits; /* a collection is on its way */

    struct operator_process operators[N_OPERATORS];
    int n_operators;
    struct controller_config config;
    struct call **calls;
    size_t n_calls, cap_calls;
    struct call *watches[MAX_WATCHES]; /* open ones */
    size_t n_watches;
    int64_t leader_since_ms; /* one operator has led since then without a fault; 0: none */

    struct sim_process *processes;
    size_t n_processes, cap_processes;
    struct node nodes[N_NODES];
    struct job_plan jobs[MAX_JOBS];
    int n_jobs;
    struct truth *truth;
    struct agents *agents;

    int intensity;    /* per 1000 requests */
    bool churn;       /* users never rest, and operators are killed again and again */
    int tenant_eager; /* the same */
    int64_t quiet_ms; /* faults end then */
    bool quiet;
    bool stolen;        /* the Lease was: two may have led for a moment */
    bool unmapped;      /* a user took a ConfigMap, by which PodGroups of former worlds are known */
    int64_t lease_ms;   /* when somebody last wrote it */
    int64_t jump_ms;    /* sum of the jumps */
    int64_t settled_ms; /* since when; 0: not */
    uint64_t settled_tenant_requests, n_tenant_requests; /* about the tenant's objects */
    uint64_t settled_requests, settled_said, n_requests, n_writes, n_events;
    bool done;

    bool verbose;
    bool failed;
    char failure[512];
    char trace[TRACE_LINES][1000];
    uint64_t n_trace, hash;
    struct stats *stats;
};

void world_init(struct sim_world *w, uint64_t seed, bool verbose, struct stats *stats);
/* Runs to the end; false: an invariant broke, w->failure says which. */
bool world_run(struct sim_world *w);
void world_release(struct sim_world *w);

/* fn(w, id) in delay_ms milliseconds; equal times in the order of these calls. */
void world_after(struct sim_world *w, int64_t delay_ms, event_fn *fn, int64_t id);
void world_trace(struct sim_world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* An invariant is broken; the first counts. */
void world_fail(struct sim_world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Counts a fault in its cell of the histogram. */
void world_fault(struct sim_world *w, enum fault fault);

/* operators.c: processes of the operator. */
void operators_start(struct sim_world *w);
void operators_release(struct sim_world *w);
void operator_start(struct sim_world *w, int n);
void operator_kill(struct sim_world *w, int n, int64_t restart_ms);
void operator_step(struct sim_world *w, int n);
struct operator_process *operators_leader(struct sim_world *w); /* NULL: none */
/* How many do, as far as they know; 2 once the Lease was stolen. */
int operators_leading(const struct sim_world *w);
void operators_heal(struct sim_world *w);

/* network.c: requests of operators. */
extern const struct kube_ops network_ops;
void network_changed(struct sim_world *w, enum store_kind kind); /* watches have something to say */
void network_watch_fault(struct sim_world *w);
void network_heal(struct sim_world *w);
void network_release(struct sim_world *w);

/* faults.c */
struct request_fault {
    bool fault;
    enum fault kind;
    int64_t delay_ms;
};
struct request_fault faults_of_request(struct sim_world *w, const struct operator_process *op,
                                       const struct kube_request *r);
/* True: a new connection to an agent gets no answer. */
bool faults_of_connection(struct sim_world *w);
/* May kill the operator before it sends. */
void faults_of_launch(struct sim_world *w, struct operator_process *op);
void faults_start(struct sim_world *w);

/* kubelet.c, nodes.c: what happens to pods. */
void kubelet_pod_changed(struct sim_world *w, const struct store_object *o, const cJSON *prev,
                         const cJSON *next);
struct sim_process *process_find(struct sim_world *w, const char *uid);
/* The number of the process with this address; -1: none ever had it. */
int process_at(const struct sim_world *w, const char *address);
void node_lose(struct sim_world *w, int node, bool dead, int64_t for_ms);
void node_return(struct sim_world *w, int64_t node);
void kubelet_node_back(struct sim_world *w, int node);
void kubelet_stop(struct sim_world *w, struct sim_process *p, int exit_code);
void pod_set_condition(struct sim_world *w, cJSON *status, const char *type, bool value,
                       const char *reason);
void pod_evict(struct sim_world *w, struct store_object *pod);
void pod_drain(struct sim_world *w, struct sim_process *p);

/* gc.c */
void gc_changed(struct sim_world *w, const struct store_object *o, const cJSON *prev,
                const cJSON *next);

/* scenario.c, user.c */
void scenario_make(struct sim_world *w);
void scenario_release(struct sim_world *w);
void user_create(struct sim_world *w, int64_t job);
void user_act(struct sim_world *w);
void user_churn(struct sim_world *w); /* one act on a job as a whole */

/* tenant.c: somebody hostile in a namespace of their own. */
void tenant_start(struct sim_world *w);
void tenant_between(struct sim_world *w); /* two requests */
void tenant_act(struct sim_world *w);
bool tenant_owns(const struct store_object *o);
/* How many objects of the kind are not the tenant's; they come first. */
size_t tenant_others(const struct sim_world *w, enum store_kind kind);

/* How the process of an index fares at its n-th start. */
struct sim_fate {
    int64_t run_ms; /* -1: until stopped */
    int exit_code;
    int64_t stop_ms; /* after SIGTERM; -1: ignores it */
    int stop_code;
};
struct sim_fate scenario_fate(const struct sim_world *w, const struct sim_process *p);

/* How the engine fares when it is launched. */
struct run_fate {
    int64_t steps; /* of the whole training; 0: until it is stopped */
    int64_t step_ms, interval;
    int64_t fails_ms;    /* after its start; 0: it does not */
    int64_t stuck_ms;    /* the same: it goes on and makes no step any more */
    int64_t switch_step; /* StrategySwitch: after which; 0: another strategy */
    bool relaunch;       /* for that it ends */
    int exit_code;
    bool refused; /* the agent does not take it */
    bool foreign; /* another MPI program: no events, no checkpoints of its own, no model */
    bool tells;   /* its last word has a record, and its agent stays with the model; else it ends */
    int64_t fetched_ms; /* after the end; -1: never */
    bool hangs;         /* it never ends by itself */
};
/* How much later than others a pod finds a node. */
int64_t scenario_unmounted_ms(const struct sim_world *w, const struct sim_process *p);
/* How many pods of the job have room on nodes at once. */
int64_t scenario_room(const struct sim_world *w, const char *job);
int64_t scenario_unplaced_ms(const struct sim_world *w, const struct sim_process *p);
struct run_fate scenario_run(const struct sim_world *w, const struct sim_process *p,
                             int64_t generation);

/* agents.c: what lives in pods of built-in jobs. */
extern const struct agent_ops agents_ops;
void agents_new(struct sim_world *w);
void agents_free(struct sim_world *w);
void agents_each_event(struct sim_world *w);
void agents_fault(struct sim_world *w, enum fault kind);
void agents_heal(struct sim_world *w);
const char *agents_unsettled(struct sim_world *w); /* as truth_unsettled */

/* invariants.c */
void truth_new(struct sim_world *w);
void truth_free(struct sim_world *w);
void truth_changed(struct sim_world *w, const struct store_object *o, const cJSON *prev,
                   const cJSON *next);
void truth_started(struct sim_world *w, struct sim_process *p);
/* op: who waits for the answer; NULL: nobody any more. */
void truth_request(struct sim_world *w, const struct operator_process *op,
                   const struct kube_request *r);
void truth_sends(struct sim_world *w, const struct operator_process *op,
                 const struct kube_request *r);
/* A graceful end is over. */
void truth_stopped(struct sim_world *w, const struct operator_process *op);
void truth_each_event(struct sim_world *w);
/* How many jobs say that they run. */
uint64_t truth_running(const struct sim_world *w);
/* NULL: every job is as it should be for good; else what is not yet. */
const char *truth_unsettled(struct sim_world *w);

#endif
