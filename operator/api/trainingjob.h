/* A TrainingJob as the operator keeps it: trimmed metadata, the parsed spec, the status. */
#ifndef PACELINE_OPERATOR_API_TRAININGJOB_H
#define PACELINE_OPERATOR_API_TRAININGJOB_H

#include "operator/api/index_map.h"
#include "operator/api/meta.h"
#include "paceline/buf.h"
#include "paceline/spec.h"

#define STATUS_MAX_MESSAGE 1024 /* of a condition, in bytes; longer ones are cut when read */

enum condition_type {
    COND_CREATED,
    COND_RUNNING,    /* all wanted pods run */
    COND_RESTARTING, /* a pod is being replaced */
    COND_SUSPENDED,
    COND_STALLED,      /* a run made no progress, and is launched again */
    COND_PODS_BLOCKED, /* the API server refuses pods; carries its sentence, clears itself */
    COND_DURABLE,      /* built-in jobs: checkpoints and the model outlive the pods */
    COND_SUCCEEDED,    /* terminal */
    COND_FAILED,       /* terminal */
    N_CONDITIONS
};
extern const char *const condition_names[N_CONDITIONS];
extern const bool condition_durable[N_CONDITIONS]; /* written before what follows from them */

struct condition {
    bool present, status; /* status: True or False */
    const char *reason, *message;
    int64_t since_ms; /* lastTransitionTime */
};

struct role_status {
    int active, ready, succeeded, failed; /* descriptive: pods that run; ...; indices so far */
    int64_t restarts; /* operator-made, of this role, and those of the kubelet in pods now gone */
    struct index_map completed, lost; /* indices that succeeded; that failed and are tolerated */
    struct index_map incarnations;    /* above status.world.incarnation */
};

/* The progress of a built-in job's training, as its chief's agent reports it. */
struct tj_progress {
    bool present;
    int64_t epoch, epochs, step; /* epoch: the current one, from 1 */
    double loss, learning_rate, samples_per_second, eta_seconds;
    unsigned has_metrics;      /* 1 << metric, or-ed */
    double metrics[N_METRICS]; /* of the last epoch, on the validation (else the test) samples; all
                                  but the loss, which is that of training */
    int64_t early_epoch;       /* the training stopped early after this epoch; 0: it did not */
};

/* StrategySwitch: what the engine last said of it. */
struct strategy_status {
    const char *phase;             /* the strategy that trains: "AllReduce"; or NULL */
    int64_t epoch, step, since_ms; /* of the switch, and when it was heard of; 0: not yet */
    const char *reason;
    double seconds; /* that the hand-over took; 0: not known */
};

/* The speed that a number of workers reached. */
struct scaling {
    int64_t workers;
    double samples_per_second;
};

/* Why a launch was begun. */
enum launch_reason {
    LAUNCH_START,
    LAUNCH_RESUME,  /* after a suspension */
    LAUNCH_LOSS,    /* of a pod or a rank */
    LAUNCH_RESCALE, /* the one before was stopped */
    LAUNCH_SWITCH,  /* the one before has stopped by itself, to change its strategy */
    N_LAUNCH_REASONS
};

/*
 * Each member has its row in status_table.c. Durable members, as the row says, are written before
 * the action that depends on them.
 */
struct tj_status {
    struct condition conditions[N_CONDITIONS];
    int64_t observed_generation;
    int64_t start_ms, completion_ms; /* 0: absent */
    int64_t active_since_ms;         /* the deadline's clock runs since; 0: it stands */
    int64_t active_ms;               /* what it counted before */
    struct {
        int64_t generation;                /* 0: no world yet; names the ConfigMap */
        int64_t replicas[N_CLUSTER_ROLES]; /* what this generation's cluster spec lists */
        int64_t incarnation;               /* where this generation's incarnations begin */
    } world;
    struct {                /* built-in jobs: what the chief's agent was told to run */
        int64_t generation; /* 0: nothing yet; the highest ever used */
        int64_t world;      /* launch_world() of its pods' UIDs; 0: it has ended */
        int64_t step;       /* the training had come so far when a generation last ended */
        int64_t failures;   /* generations in a row that failed without a step of progress */
        int64_t forgiven;   /* of the restarts: those before the last progress */
        int64_t outlived;   /* of the disruptions: likewise */
        /* Told in the event of its first step. */
        enum launch_reason reason;
        const char *cause;        /* "its pods ran", "worker 1's pod was lost"; or NULL */
        int64_t from_ms;          /* when that was; 0: not yet */
        int64_t trained_ms;       /* when its first step was heard of; 0: not yet */
        int64_t resumed, workers; /* from which step, on how many; set with trained_ms */
        int64_t stepped;          /* the last generation whose first step was heard of */
        int64_t stalled;          /* the last generation that is killed for want of progress */
        int64_t since_ms;         /* since when nothing trains; 0: since the job is active */
        struct index_map without; /* the workers that it goes on without: their pods do not run */
        int64_t chief;            /* launch_world() of its chief's UID alone; 0: not recorded */
    } launch;
    struct tj_progress progress;
    struct strategy_status strategy;
    double transfer_s; /* of all parameters from worker to worker, as measured last; 0: never */
    const struct scaling *scaling; /* by workers, ascending */
    int n_scaling;
    int64_t restarts;    /* towards backoffLimit: operator-made, and the kubelet's in gone pods */
    int64_t disruptions; /* towards disruptionLimit: pods ended by others, and replaced */
    int64_t backoff_until_ms; /* no replacement is created before */
    struct role_status roles[N_CLUSTER_ROLES];
};

struct tj {
    struct arena arena; /* owns every string here */
    struct meta meta;
    struct derived *derived; /* owns the next two; shared by versions with the same spec */
    struct job *job;         /* the effective spec; NULL when it is invalid */
    bool unread;             /* of this version only the metadata could be read: hands off */
    bool stripped;           /* job_strip() has freed what only pods need; tj_decode has it */
    const char *problem;     /* why it is invalid, one sentence; or NULL */
    const char *managed_by;  /* runPolicy.managedBy, of an invalid spec too; or NULL */
    struct tj_status status;
    const char *foreign_conditions; /* of other writers: JSON values with commas; or NULL */
};

/*
 * A TrainingJob from the API's JSON. A spec that does not parse, or a network whose layers do not
 * fit, gives job NULL and problem set; a damaged status (index maps that do not parse) is a problem
 * too, beside a job. Fails (ERR_INVALID) only without usable metadata. The caller owns *out
 * (tj_free).
 */
MUST_CHECK int tj_decode(struct tj **out, const cJSON *object, struct err *err);
/* Whether this is a known job with a new spec, which is slow to decode. */
bool tj_spec_is_new(const cJSON *object, const struct tj *known);
/*
 * The same for the cache, given the known version of the object (or NULL). If UID, generation,
 * labels and annotations are the same as in the known version, the spec is not decoded again. A
 * large spec is stripped.
 */
#define TJ_KEPT_BYTES ((size_t)8 << 10) /* of templates and layers; most jobs have less */
MUST_CHECK int tj_decode_again(struct tj **out, const cJSON *object, const struct tj *known,
                               struct err *err);
/* A version of which nothing but the metadata can be read: it is there, and nothing follows. */
MUST_CHECK int tj_decode_unread(struct tj **out, const cJSON *object, struct err *err);
void tj_free(struct tj *tj);

#define SCALING_MAX 256 /* numbers of workers that are kept */

/* Whether the condition is there and True. */
bool status_is(const struct tj_status *s, enum condition_type type);
/* Whether the status says Succeeded or Failed. */
bool status_terminal(const struct tj_status *s);
/* Pending, Running, Restarting, Suspended, Blocked, Succeeded or Failed: for people. */
const char *status_state(const struct tj_status *s);
/* Why it is in that state, in a sentence; "": nobody says. */
const char *status_why(const struct tj_status *s);
/* The incarnation that index of role has now. */
int64_t status_incarnation(const struct tj_status *s, enum cluster_role role, int index);
/* Deep copy into the arena. */
void status_copy(struct tj_status *out, const struct tj_status *in, struct arena *a);

/* Whether runPolicy.managedBy leaves the job to us. */
#define MANAGED_BY_US "paceline.dev/operator"
bool tj_is_ours(const struct tj *tj);

/* "paceline.dev/job-name=<job>,paceline.dev/role=worker": status.selector, for the HPA. */
void tj_selector(const struct tj *tj, struct buf *out);

/*
 * The body of a JSON merge patch on .../status: {"metadata":{"uid":..,"resourceVersion":..},
 * "status":{...}}, absent fields as null, so that fields of others stay.
 */
void status_encode_patch(const struct tj *tj, const struct tj_status *s, struct buf *out);

/* Equal in what decisions depend on / in everything. */
bool status_equal_durable(const struct tj_status *a, const struct tj_status *b);
bool status_equal(const struct tj_status *a, const struct tj_status *b);

#endif
