/*
 * The TrainingJob: what a user writes, parsed, defaulted and validated.
 *
 * One table of fields (common/spec_table.c) drives parsing, defaults, validation, `explain`,
 * the reference page, the JSON form and, later, the CRD. Paths are relative to the object:
 * "spec.training.batchSize".
 */
#ifndef PACELINE_SPEC_H
#define PACELINE_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "paceline/buf.h"
#include "paceline/cluster.h"
#include "paceline/err.h"
#include "paceline/named_sets.h"
#include "paceline/networks.h"

enum optimizer_type {
    OPT_SGD, /* momentum 0: plain; nesterov: Nesterov's form */
    OPT_ADAM,
    OPT_ADAMW,
    OPT_ADAGRAD,
    OPT_ADADELTA,
    OPT_RMSPROP,
};
enum schedule_type { SCHED_CONSTANT, SCHED_PIECEWISE, SCHED_COSINE, SCHED_EXPONENTIAL };
enum normalize_by { NORMALIZE_GIVEN, NORMALIZE_CHANNEL, NORMALIZE_PIXEL };
enum staging { STAGING_MATERIALIZE, STAGING_STREAM };
enum color { COLOR_AUTO, COLOR_GRAY, COLOR_RGB };
enum distribution_kind {
    DISTRIBUTION_DEALT, /* nobody has samples of its own */
    DISTRIBUTION_IID,
    DISTRIBUTION_CONTIGUOUS,
    DISTRIBUTION_BY_LABEL,
    DISTRIBUTION_DIRICHLET,
    DISTRIBUTION_REPLICATED,
};
enum metric { /* losses.h */
              METRIC_LOSS,
              METRIC_ACCURACY,
              METRIC_PERPLEXITY,
              METRIC_BINARY_ACCURACY,
              METRIC_MAE,
              METRIC_RMSE,
              METRIC_R2,
              METRIC_PRECISION,
              METRIC_RECALL,
              METRIC_F1,
              N_METRICS,
};
enum last_batch { LAST_KEEP, LAST_DROP };
enum precision { PRECISION_FP32, PRECISION_BF16 }; /* of what products take */
static inline const char *precision_name(enum precision p)
{
    return p == PRECISION_BF16 ? "bf16" : "fp32";
}
enum strategy_type {
    STRATEGY_ALL_REDUCE,
    STRATEGY_PARAMETER_SERVER,
    STRATEGY_LOCAL_SGD,
    STRATEGY_ELASTIC_AVERAGING,
    STRATEGY_MODEL_PARALLEL,
    STRATEGY_SWITCH
};
enum switch_order { ALL_REDUCE_FIRST, SERVERS_FIRST };
enum switch_when { WHEN_FRACTION, WHEN_EPOCH, WHEN_PLATEAU };
enum switch_how { HOW_IN_PLACE, HOW_RELAUNCH };
enum switch_velocity { MOMENTUM_KEEP, MOMENTUM_RESET, MOMENTUM_SCALE, MOMENTUM_RAMP };
enum server_mode { MODE_SYNC, MODE_ASYNC, MODE_BOUNDED };
enum placement_kind { PLACEMENT_BALANCED, PLACEMENT_GREEDY };
enum batch_sharing { BATCH_SPLIT, BATCH_JOIN };
enum algorithm { ALGO_TREE, ALGO_RING, ALGO_MPI, ALGO_RECURSIVE_DOUBLING, ALGO_NAIVE };
enum comm_schedule { COMM_OVERLAP, COMM_END, COMM_ONE_AT_A_TIME, COMM_ALL_AT_ONCE };
enum wire_type { WIRE_FP32, WIRE_BF16 };
enum clean_pods { CLEAN_RUNNING, CLEAN_NONE, CLEAN_ALL };
enum restart_policy { RESTART_NEVER, RESTART_ON_FAILURE, RESTART_ALWAYS, RESTART_EXIT_CODE };
enum success_policy { SUCCESS_DEFAULT, SUCCESS_ALL_WORKERS };
enum scale_policy { SCALE_RECREATE, SCALE_DYNAMIC };
enum gang { GANG_NONE, GANG_VOLCANO, GANG_SCHEDULER_PLUGINS, GANG_KUEUE };
enum network_policy { NETWORK_JOB, NETWORK_NONE };

/* spec.replicas.<role>: the pods of one role. */
struct job_role {
    int64_t replicas;
    enum restart_policy restart;
    char *template_; /* a pod template as JSON, or NULL */
};

struct job_optimizer {
    enum optimizer_type type;
    double learning_rate;
    double momentum, dampening;
    bool nesterov;
    double beta1, beta2, rho, epsilon;
    bool epsilon_inside;        /* epsilon under the root (study 003's Adam) instead of beside it */
    bool epsilon_hat;           /* Adam: epsilon before the bias correction, as Keras */
    bool rate_in_velocity;      /* momentum: buffers hold steps, learning rate included, as Keras */
    bool centered;              /* RMSProp: subtract the squared mean */
    double initial_accumulator; /* Adagrad: 0 as PyTorch, 0.1 as Keras */
    double weight_decay;        /* AdamW: decoupled; the others use training.l2 */
    int sharded;                /* 0, 1; -1: job_shards() decides */
};

struct job_schedule {
    enum schedule_type type;
    double *boundaries; /* piecewise: epochs at which the next value starts */
    size_t n_boundaries;
    double *values; /* piecewise: multiples of learningRate, n_boundaries + 1 of them */
    size_t n_values;
    double decay_rate; /* exponential: factor per decay_epochs */
    double decay_epochs;
    double min_factor;    /* cosine: the last multiple of learningRate */
    double warmup_epochs; /* linear from warmup_from * learningRate */
    double warmup_from;
};

/* spec.training.earlyStopping; see worker/train/early_stop.h. */
struct job_early_stop {
    enum metric monitor;
    int64_t patience; /* epochs; 0: off */
    double min_delta;
};

/* spec.strategy.switch: of StrategySwitch. */
struct job_switch {
    enum switch_order order;
    enum switch_when when;
    double fraction; /* of the epochs; plateau: at the latest then */
    int64_t epoch;   /* after so many; -1: absent */
    int64_t window;  /* plateau: losses of so many epochs */
    double threshold;
    enum switch_velocity momentum;
    double factor;       /* scale: of the buffer; ramp: of the coefficient at first */
    int64_t ramp_epochs; /* until the coefficient is whole again */
    enum switch_how how;
};

/* spec.dataset.distribution; see worker/data/distribution.h. */
struct job_distribution {
    enum distribution_kind kind;
    double alpha;
    int64_t
        sizes[64]; /* of the workers' shares, relatively, and again from the first; none: equal */
    size_t n_sizes;
    int64_t every; /* epochs until samples are dealt anew; 0: never */
};

struct job {
    char *name, *namespace_;
    char *labels, *annotations; /* JSON objects of strings, or NULL */
    struct {
        char *name;                /* a built-in network, or NULL */
        struct layer_spec *layers; /* inline chain; n_layers 0 when name is set */
        size_t n_layers;
        int64_t hidden[8]; /* mlp: units of the hidden layers */
        size_t n_hidden;
        enum loss_type loss;
        double huber_delta;
        char *initial_weights; /* safetensors to start from, or NULL */
    } model;
    struct {
        char *name; /* of paceline/named_sets.h */
        char *path; /* folder; NULL: where the built-in set is installed */
        double validation_split;
        enum normalize_by normalize_by; /* the next two, or what the training set gives */
        double mean, std;               /* pixels in 0..1 become (x - mean) / std */
        bool flip;                      /* augmentation: see worker/data/batch/augment.h */
        int64_t pad;
        struct job_distribution distribution;
        enum staging staging; /* whether all is decoded before the first step */
        bool cache;           /* stream: what was decoded is kept */
        bool row_convert;     /* samples become floats in each batch; else once */
        int64_t prefetch;     /* batches made ahead by a thread; 0: in the step itself */
        bool shuffle;
        int64_t limit;      /* use only the first N training samples; 0: all */
        int64_t image_size; /* images: brought to this height and width; 0: as the first is */
        bool draft;         /* images: JPEGs are decoded smaller where they shrink by 2 or more */
        enum color color;
        double max_damaged;        /* share of the images that may be damaged, and are left out */
        double test_split;         /* share kept back where no folder of test images is */
        int64_t steps, vocabulary; /* text: words of a sample; the most words that are told apart */
        char *label_column;        /* csv: the name of the column of the labels */
        char *cache_path;          /* images: folder of packed copies, or NULL */
        int64_t samples, classes, size; /* of what the engine makes (synthetic_source.c) */
        double noise;
        char *volume; /* where path is in pods: a pod volume without its name, as JSON; or NULL */
    } dataset;
    struct {
        int64_t epochs, steps; /* steps 0: epochs decide; else stop after that many updates */
        int64_t batch_size;    /* over all workers */
        int64_t accumulate;    /* batches of one update */
        int64_t lanes;         /* 0: the default rule */
        enum last_batch last_batch;
        enum precision precision;
        uint64_t seed;
        int64_t threads;     /* per rank; 0: what the CPU quota allows */
        bool pin_threads;    /* each on a CPU of its own */
        int64_t profile[16]; /* epochs, from 1, in which layers are timed */
        size_t n_profile;
        double l2;        /* adds l2/2*sum(w^2) over weights (no biases); reported apart */
        double clip_norm; /* 0: off */
        struct job_optimizer optimizer;
        struct job_schedule schedule;
        struct job_early_stop early_stop;
    } training;
    struct {
        int64_t every_epochs, every_steps, every_seconds; /* 0: off */
        int64_t keep; /* how many besides the best and the last */
        bool best;    /* keep the best by validation (else test) accuracy */
    } checkpoint;
    struct {
        char *volume, *sub_path; /* or NULL */
        int64_t keep_seconds;    /* -1: job_keep_seconds() decides */
    } output;
    struct {
        enum strategy_type type;
        enum batch_sharing batch;
        enum placement_kind placement;
        enum server_mode mode;
        int64_t backup_workers; /* sync: gradients of an update that are begun and not needed */
        int64_t staleness;      /* bounded: batches that a worker may be ahead of the slowest */
        int64_t max_staleness;  /* with credit; at most staleness: there is none */
        int64_t groups;        /* async, bounded: of workers that are one to the servers; 0: none */
        bool divide_rate;      /* async, bounded: learning rate / workers, or groups */
        int64_t wait_seconds;  /* the longest wait for a message */
        int64_t average_every; /* local: updates of a worker between two meetings */
        int64_t local_from;    /* epoch before which it is 1 */
        double elastic_force;  /* 0: 0.9 / workers */
        int64_t micro_batches; /* pipeline: parts of a batch that follow each other */
        int64_t layer_placement[256]; /* the worker of each layer; none: automatic */
        size_t n_layer_placement;
        bool transfer_semaphore; /* async, bounded: one bulk transfer per direction and server */
        enum algorithm algorithm;
        enum comm_schedule schedule;
        enum wire_type wire;
        int64_t fusion_bytes;
        bool communication_thread;
        struct job_switch change;
    } strategy;
    struct {
        bool present;             /* another MPI program: worker's command, started by mpirun */
        int64_t ranks_per_worker; /* -1: by the CPU limit of its container */
    } mpi;
    struct job_role replicas[N_CLUSTER_ROLES];
    int64_t min_workers, max_workers; /* bounds of scaling; -1: absent */
    /* Members for the operator: */
    struct {
        enum clean_pods clean_pods;
        int64_t backoff_limit;
        int64_t disruption_limit;              /* -1: absent, see reconcile.h */
        int64_t ttl_seconds, deadline_seconds; /* -1: absent */
        bool suspend;
        enum success_policy success;
        enum scale_policy scale;
        int64_t node_loss_seconds; /* how long pods tolerate a node that is not ready */
        int64_t fence_seconds;     /* after the grace period, before a silent pod is given up */
        int64_t progress_deadline_seconds; /* 0: off */
        int64_t replace_timeout_seconds;   /* before a launch goes on without a pod */
        char *managed_by;                  /* NULL or ours; anything else: hands off */
    } run_policy;
    struct {
        enum gang gang;
        char *scheduler; /* schedulerName of the pods; NULL: by gang, else the cluster's default */
        char *queue, *priority_class; /* or NULL */
        int64_t min_available;        /* -1: all pods */
    } scheduling;
    struct {
        bool list_evaluator; /* TF_CONFIG names the evaluator, as TFJob does */
        char *domain;        /* after "svc" in host names; NULL: the operator's, or none */
    } cluster_spec;
    struct {
        enum network_policy type;
        char *extra_ingress; /* JSON list of NetworkPolicyIngressRules, or NULL */
    } network;
    struct {
        int64_t check_replicas; /* compare weights every N steps; 0: each epoch */
        bool fail_nan;          /* poison the loss from step 3 on, to try the failure path */
        int64_t
            push_order[64]; /* workers whose gradients servers take, in turn; else as they come */
        size_t n_push_order;
        double *slowdown; /* of the first workers, factors of their computing time */
        size_t n_slowdown;
        double gradient_seconds; /* that a batch's gradient takes at least, on one worker */
        int64_t bandwidth;       /* simulated bytes per second, rank and direction; 0: as it is */
        double latency_seconds;  /* and of each bulk message */
        double jitter;           /* adds up to this share of a step's computing time */
    } debug;
};

/* All problems of a file, in the order of its lines; each is one sentence, in one line of printable
 * UTF-8, whatever it quotes. */
struct problems {
    char **items;
    size_t n;
};
void problems_add(struct problems *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void problems_release(struct problems *p);

/*
 * Loads a TrainingJob from YAML (or JSON, which is YAML), applies `--set path=value` overrides
 * (paths may leave out "spec."), fills defaults, checks every field and every rule across fields.
 * `file` is the name used in messages. Returns NULL after listing every problem in *problems.
 */
struct job *job_parse(const char *text, size_t len, const char *file, const char *const *sets,
                      size_t n_sets, struct problems *problems);
/* The same for a file. A relative path in it (such as spec.dataset.path) counts from the file's
 * folder, and one in an override from the working directory. */
struct job *job_load(const char *path, const char *const *sets, size_t n_sets,
                     struct problems *problems);
/* Makes relative paths absolute, for a job that is written to another place. */
void job_make_absolute(struct job *job);
void job_free(struct job *job);
/*
 * Frees the parts of a job that only pods and the engine need (templates, labels, layers) if they
 * and networkPolicy.extraIngress take more than `most` bytes; returns whether it did. The parts
 * stay present but empty, so decisions about the job do not change, but no pod or job file can be
 * made from it any more. extraIngress stays if it is not longer than `most`; a longer one becomes
 * "[{}]", which allows everything.
 */
bool job_strip(struct job *job, size_t most);
void auto_job(struct job **job);

/*
 * The same from the API's JSON. Fields that it does not know are ignored, also in spec: the API
 * server refuses typing errors, so what is left belongs to a CRD that is newer than this program.
 */
struct job *job_from_json(const cJSON *object, struct problems *problems);

/* Whether the built-in engine trains (spec.model is given); else the templates say what runs. */
bool job_builtin(const struct job *job);
/* Whether agents start what runs: the engine, or with spec.mpi another MPI program. */
bool job_launched(const struct job *job);

/*
 * The effective spec (every default written out) as JSON on one line, appended to out; parses back
 * to an equal job.
 */
void job_to_json(const struct job *job, struct buf *out);
/* The same and a newline, indented for people: job.json of a run folder. On one line if it would
 * otherwise be too long to be loaded (YAML_MAX_BYTES). */
void job_to_text(const struct job *job, struct buf *out);

/*
 * The record of a job in its checkpoints, as JSON on one line: the fields that decide the
 * checkpoint's bytes. It leaves out where the data are, how the work is shared and how long to
 * train, so a run that is moved, rescaled, or stopped and resumed has the same record. The record
 * can be parsed as a job unless its data set needs spec.dataset.path.
 */
void job_record(const struct job *job, struct buf *out);
/*
 * Whether a run of `there` cannot be resumed as `here`. If so, it appends the first field that
 * differs: "spec.training.seed 1, but the job has 2". docs/reference/trainingjob.md lists the
 * fields that may differ. strict: for a run that resumes unasked. Then no field may differ that
 * decides the weights, and the length of the training only if no step depends on it.
 */
bool job_differs(const struct job *there, const struct job *here, bool strict, struct buf *what);

/* The time that the pod with the model stays until somebody fetches it: a day, where no volume
 * has the model. */
int64_t job_keep_seconds(const struct job *job);

/* Processes of the built-in engine: workers and servers. */
int job_ranks(const struct job *job);

/* Appends warnings: one sentence for each setting that is allowed but seldom meant. */
void job_warnings(const struct job *job, struct problems *warnings);

/* Whether spec.debug makes computers or networks slower than they are: times are simulated. */
bool job_simulated(const struct job *job);

/* The promise of the job's algorithm and wire format: "same bytes on any number of workers". */
const char *job_promise(const struct job *job);

/* The shape of the job's samples for who has no data: as far as the job says it, else that which
 * its built-in network was designed for, else a guess. */
struct shape job_published_shape(const struct job *job);
/* The shapes that the input layers of an inline network take, one after the other: a vector, which
 * may be longer than net_build allows; c 0: there are none, or one has no shape. */
struct shape job_inputs_shape(const struct job *job);
bool job_publishes_shape(const struct job *job); /* it says it: others only their readers know */
uint32_t job_published_samples(const struct job *job); /* of images; 0: only their readers know */
int job_published_classes(const struct job *job); /* of a text the most; 0: nobody but readers */

/* The layers of the job's network, a built-in one's for so many classes (0: its own number), into
 * an empty list. Names and inputs of inline layers stay the job's. */
void job_layers(const struct job *job, int classes, struct layer_list *list);

/*
 * The network of the job for samples of shape in and, where it is a built-in one, of so many
 * classes (0: not known). Fails (ERR_INVALID) where net_build does, and when the network does not
 * end in a flat vector (of a text: one for each word) or has nothing to train.
 */
MUST_CHECK int job_network(const struct job *job, struct shape in, int classes, struct net *net,
                           struct err *err);

/* Copies of the parameters that the optimiser keeps as its state: 0 to 3. */
int job_optimizer_slots(const struct job_optimizer *o);

/* Whether, where there is more than one rank, optimiser state lies with the owners of parameters
 * alone, each of whom updates its own: the servers, or the workers. */
bool job_shards(const struct job *job);

/* training.lanes after the default rule: largest power of two <= batchSize/4, 1 to 64. */
int job_lanes(const struct job *job);
/* The number of workers that share a batch; 1: each has whole ones. Of a switch in its servers'
 * part. */
int job_sharers(const struct job *job);

#endif
