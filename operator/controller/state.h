/* The controller's own parts, seen only by the files of this folder. */
#ifndef PACELINE_OPERATOR_CONTROLLER_STATE_H
#define PACELINE_OPERATOR_CONTROLLER_STATE_H

#include "operator/controller/accepted_templates.h"
#include "operator/controller/agent_conns.h"
#include "operator/controller/budget.h"
#include "operator/controller/controller.h"
#include "operator/controller/dispatcher.h"
#include "operator/controller/informer.h"
#include "operator/controller/job_state.h"
#include "operator/controller/lease.h"
#include "operator/controller/recorder.h"
#include "operator/core/cache.h"
#include "operator/core/workqueue.h"
#include "operator/objects/objects.h"

struct controller {
    struct controller_config config; /* strings are ours */
    struct objects_config objects;
    const struct kube_ops *ops;
    void *kube;
    struct moment now; /* of the step under way; in callbacks: of the last one */
    int64_t offset_ms; /* wall minus monotonic, to see the wall clock jump */
    uint64_t random;
    struct cache *cache;
    struct workqueue *queue;
    struct job_states *job_states;
    struct budgets budgets;
    struct informer informers[N_RESOURCES];
    struct lease lease;
    struct dispatcher dispatcher;
    struct recorder recorder;
    struct accepted_templates templates;
    struct orphans *orphans;
    struct agent_conns *agent_conns;
    struct executor *executors; /* plans under way */
    int n_whole_jobs,
        n_waiting;          /* of them: those that have a place for a whole job, or wait for one */
    uint64_t last_turn;     /* the last turn that was given to a waiting plan */
    int64_t review_mono_ms; /* when the waiting plans are reviewed next */
    int64_t sweep_mono_ms;
    int64_t cut_mono_ms; /* when an object was last said to be too large; 0: never */
    bool leads;          /* as of this step */
    bool looked;         /* all jobs have been queued since it leads */
    bool stopping;
    struct snapshot stats;
};

/* Queues the job "<namespace>/<name>". */
void controller_touch(struct controller *c, const char *namespace_, const char *name);
/* Counts an answer to a request by method and code. */
void controller_count(struct controller *c, enum kube_method method, int status);
/* Queues all jobs. */
void controller_touch_all(struct controller *c);

/* The job of a key, or NULL. */
const struct tj *job_of_key(const struct controller *c, const char *key);

#define KEY_SIZE 512
void key_make(char out[KEY_SIZE], const char *namespace_, const char *name);

#endif
