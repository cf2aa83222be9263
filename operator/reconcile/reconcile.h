/*
 * reconcile: what is, and the time, to what has to be done. Pure: no I/O, no clock, no randomness,
 * no logging. Called again whenever something changed and at plan.requeue_ms; it is
 * level-triggered, so a plan that was lost half-way is made again from what is then there.
 *
 * The rules, in the order in which they are looked at; the first that changes durable status ends
 * the look (the plan is that status alone):
 *
 *  1. managedBy of somebody else: nothing. A job that is being deleted: release every pod that is
 *     being deleted or finished, nothing else. A job that cannot be read (tj->unread): nothing.
 *  2. A spec that is invalid (tj->problem): condition Failed, reason InvalidSpec - but only while
 *     no world exists; a running job keeps its world and says so in an event. A damaged status (a
 *     problem beside a job): an event and nothing else, so that nothing runs twice.
 *  3. Outcomes.
 *     - Succeeded (phase Succeeded): its index joins `completed`, its restart_count the restarts.
 *       If it was being deleted, only when we have seen it finished before, or when it finished
 *       more than CLOCK_SKEW_MS before it was asked to stop (deletion_ms - deletion_grace_ms; one
 *       is the node's time, the other the API server's): a graceful exit after SIGTERM is no
 *       success; then it counts as disrupted. A pod of an older incarnation that succeeded of
 *       its own counts too: it ended while a suspension or scaling was being written.
 *     - Failed: disrupted (pod->disrupted, or deleted while it ran) or retryable by the role's
 *       policy (ExitCode: code >= 128 or none; OnFailure, Always: always, since the kubelet
 *       restarts containers and only a lost pod ends Failed) is replaced: the index's incarnation
 *       + 1, condition Restarting with the cause, back-off. A disruption adds 1 to the disruptions,
 *       anything else to the restarts of job and role; both add its restart_count to the latter.
 *       When the restarts that a look needs go beyond backoffLimit, or the disruptions beyond
 *       disruptionLimit (absent: 10 for each pod, at least 100: a drained rack is no failure, but
 *       who is evicted wherever it runs is not replaced for ever), none is made: Failed,
 *       BackoffLimitExceeded or DisruptionLimitExceeded. Else permanent: Failed, reason
 *       ReplicaFailed - or, for a worker of a Dynamic job with restart policy Never, `lost`, as
 *       long as minReplicas others are left. Permanent failures come before restarts, 4 and 5
 *       before both.
 *     - a pod being deleted that never had a node: incarnation + 1, nothing counted.
 *     - a pod being deleted whose deletion_ms + fence_seconds passed, which we have watched being
 *       deleted for grace + fence_seconds, and which still has not finished: its node is lost; a
 *       disruption. Only current incarnations fail; an older one has been decided already.
 * A pod of a newer one means that our status is stale: touch nothing of that index. The kubelet's
 * restarts in live pods count too: restarts + sum(restart_count) > backoffLimit is Failed,
 * BackoffLimitExceeded. They join the restarts when their pod becomes one of the past by suspension
 * or scaling. Back-off is by index: its first restart is immediate, as is one after
 * BACKOFF_RESET_MS of running, and the job's first after progress (12); the others wait
 * BACKOFF_FIRST_MS, twice that, ... up to BACKOFF_MAX_MS. A wait further ahead than that was set
 * before the wall clock went back, and is over.
 *  4. Success: by the chief, if there is one; else worker 0 or all workers; AllWorkers: every
 *     worker (and the chief). Workers that are `lost` are not waited for, one must have completed.
 *     Success wins over a failure seen in the same look. One terminal condition, ever: what is
 *     terminal stays as it is, whatever pods and users do later.
 *  5. Deadline: active_ms + (now - active_since_ms) >= activeDeadlineSeconds: Failed,
 *     DeadlineExceeded.
 *  6. Suspend: clock stopped, Suspended True, Running False, world.incarnation above every
 *     incarnation so far, index maps of incarnations emptied; the pods are then of an older
 *     incarnation and are deleted. Resume: Suspended False (reason Resumed), the clock goes on.
 *     A job created suspended makes nothing at all (no dry run, no objects). While it is suspended
 *     the counts of its spec wait.
 *  7. World: none yet: dry run per role, then generation 1, start_ms, Created, the clock starts;
 *     pods without a world (status was wiped) are below its incarnation. A template that the API
 *     server will never take: Failed, InvalidTemplate; with a world only PodsBlocked.
 *     Counts in the spec differ from it: Recreate: generation + 1, world.incarnation above all;
 *     Dynamic and launched jobs: counts change, on the way down incarnation + 1 for each index that
 *     goes, so that its name is not used again, and for each that was `lost`, which is tried again
 *     (or a job scaled down to lost workers would wait for ever); but a change of ps or chief of a
 *     Dynamic job is news to all, as in Recreate. `completed` is never forgotten.
 *  8. Objects: whatever of Service, Secret, ConfigMap (of this generation), NetworkPolicy, PodGroup
 *     is wanted and not there is created, before any pod. Secrets and PodGroups are not watched:
 *     they are made again when a pod waits, or is to be made, and we have not known them to be
 *     there for OWNED_DOUBT_MS. A name of a Secret stands for one key: where pods mount another
 *     than our master key makes, neither Secret nor pods are made, and the job is PodsBlocked.
 *     PodGroups and ConfigMaps of older generations go, in this order, when no pod of an older
 *     world is left; they come in the other order, so that no PodGroup is without its ConfigMap.
 *  9. Pods: unwanted ones (older incarnation, index out of range, index done) are deleted once,
 *     released when finished, forced when lost (3). A wanted index that is not completed or lost
 *     and has no pod of any incarnation that is not finished gets one - after backoff_until_ms if
 *     its incarnation is above the world's, not while hold_until_ms lies ahead, not while objects
 *     are missing, and not while a pod of an older world may still run: both would have the same
 *     host names. Only creation is held; deleting and releasing never wait. Events
 *     about the first pod that its node does not begin, without a word in its status, are read.
 * 10. After a terminal condition: cleanPodPolicy (Running: those not finished; All: all; None: none
 *     - but pods of older incarnations always go), every finished pod is released, ttlSeconds after
 *     completion the job is deleted.
 * 11. Nothing to do: descriptive status (counts, Running, PodsBlocked, Restarting False when all
 *     run again, observedGeneration), at most every STATUS_INTERVAL_MS unless a condition came or
 *     flipped. It also goes along with every durable status.
 * 12. Built-in jobs: what rule 9 makes are agents; the training is theirs.
 *     - All workers' pods run (or those that can), those of all parameter servers do, and their
 *       chief (worker 0's agent) is connected and idle: launch.generation + 1, with what stands for
 *       these pods in launch.world; then the chief is told, and nothing else is launched before it
 *       has answered.
 *     - A pod whose template has a readiness probe runs, here and in condition Running, when it is
 *       Ready; one that ceases to be so while a run has it changes nothing.
 *     - A worker's pod that does not run is waited for until replaceTimeoutSeconds after it was
 *       made (after the training stood still, where it could not be made), a server's for ever.
 *       Then the others are launched, if their workers are minReplicas (absent: one) and worker 0
 *       is among them: it leads, and has the newest checkpoint. launch.without names who is left
 *       out. So a training never stops for a worker's pod that does not run.
 *     - Worker 0 and the servers, without which nothing is launched, are placed first: the pods of
 *       the other workers are made when these have nodes. Where one of these finds none, others
 *       that wait for a node make way at once (nothing counted), and once it has found none for
 *       replaceTimeoutSeconds the last worker that has one does, if minReplicas others keep theirs
 *       and it is not the only one that may have a checkpoint; one after the other. A worker that
 *       is part of a run keeps its place; one that a run is without gives it, while the run goes
 *       on. A gang's scheduler places all or none, so its pods come together.
 *     - A run is stopped once all wanted pods run and are others than its own, or once those that
 *       run and need not wait are more than its own, or fewer since it was scaled down. Pods beyond
 *       the count stay until it has, and while a chief that runs may still become connected; those
 *       that are wanted again by then, too, if the run was asked to stop.
 *     - A run that failed is launched again, later each time; more than backoffLimit failures in a
 *       row without a step of progress fail the job. A step also forgives the restarts and
 *       disruptions so far. One that failed after a pod of it was lost is no failure: the pod is
 *       what is told and counted.
 *     - Exit codes below 128 are permanent, as with ExitCode, whatever the scalePolicy: the agent
 *       ends so only where trying again cannot help. Worker 0 alone decides success.
 *     - A pod whose agent was silent is deleted once the run that failed for it is noted: it may
 *       run without its node or its network, and is replaced like one that was evicted.
 *
 *     - A run that tells of no progress for progressDeadlineSeconds is Stalled; it is killed once
 *       that is in status, and has failed then.
 *     - A run that stopped by itself wants to be launched again, in the second strategy of
 *       StrategySwitch. What status says of the switch is what the engine said last: a run that
 *       resumes from before it takes it back.
 *     - What a launch follows (pods that run, a loss, a stop) and when it made its first step is in
 *       status before its event is told. A first step and the end of a run heard of at once are two
 *       writes, so that no launch goes untold.
 *
 * Events tell what the status that was observed says and reached less than ten minutes ago, in the
 * order in which it happened; only Scaled and PlaceGiven come with the plan that writes it, and
 * what a launch waits for (LaunchWaits, AgentUnreachable), and that nothing enforces the job's
 * NetworkPolicy (NetworkPolicyNotEnforced), is told once for each generation, unwritten.
 *
 * Times are wall-clock milliseconds. Every wait (deadline, TTL, back-off, fence, hold, status
 * interval) leaves a requeue_ms.
 */
#ifndef PACELINE_OPERATOR_RECONCILE_RECONCILE_H
#define PACELINE_OPERATOR_RECONCILE_RECONCILE_H

#include "operator/api/run_report.h"
#include "operator/reconcile/plan.h"

#define STATUS_INTERVAL_MS 2000
/* That a node's clock may be behind the API server's; from 1 s on etcd warns about its own. */
#define CLOCK_SKEW_MS 2000
#define DURABLE_FAILED "CopyFailed" /* the reason that is told in an event */
#define DURABLE_NONE                                                                               \
    "checkpoints and the model are in the pods' memory only: when the job is suspended, and when " \
    "all pods that have a copy are lost at once (a job of one worker: its pod), the training "     \
    "begins anew; a job with spec.output.volume keeps them there"
#define POD_MUTE_MS                                                                              \
    10000                /* a pod that its node has for so long, and that is not begun, says why \
                          */
#define POD_ASK_MS 10000 /* and again */
#define OWNED_DOUBT_MS 30000  /* what is not watched may be gone after so long */
#define BACKOFF_FIRST_MS 1000 /* before the second restart; the first is immediate */
#define BACKOFF_MAX_MS 300000
#define BACKOFF_RESET_MS 600000 /* a pod that ran so long is replaced at once */

struct observed {
    const struct tj *tj;
    const struct pod *const *pods; /* owned by tj's UID, any order */
    size_t n_pods;
    bool have[N_OWNED];         /* CONFIG_MAP, POD_GROUP: that of world.generation */
    int64_t seen_ms[N_OWNED];   /* of the kinds that are not watched: when it was there; 0: ? */
    int64_t old_generations[4]; /* older ConfigMaps that are still there, 0: none */
    int64_t groups_gone;        /* up to this generation their PodGroups are not */
    const char *key;            /* the Secret that our master key makes for the job */
    /* What the controller remembers of this process; all zero after a restart. */
    bool dry_run_ok[N_CLUSTER_ROLES];
    const char *invalid_template; /* the API server's sentence for a pod it will never take */
    const char *blocked;          /* its sentence for a pod that it refuses now (403, ...) */
    bool name_taken;              /* or ours for an object that is there and not the job's */
    int64_t hold_until_ms;        /* back-off after refused or failed requests of this job */
    int64_t status_written_ms;    /* the last write of status; 0: none yet */
    struct {                      /* the events that were read last */
        const char *pod;          /* about which one, its UID; NULL: none yet */
        const char *sentence;     /* the newest of them; NULL: there was none */
        int64_t asked_ms;
    } events;
    /* Built-in jobs. */
    const struct run_report *run; /* what the chief's agent last said; or NULL */
    bool linked;                  /* it is connected */
    const char *unreachable;      /* why it is not, once it should be; or NULL */
    const char *unenforced;       /* what shows that nothing enforces its NetworkPolicy; or NULL */
    int64_t quiet_ms;             /* since it last told of a new step, stage or phase */
    bool stalled;                 /* for progressDeadlineSeconds, while we listened */
};

int64_t seconds_ms(int64_t seconds); /* bounded, so that sums of times do not overflow */

/* Whether the job needs an object of this kind. */
bool job_wants_owned(const struct job *job, enum owned_kind kind);

/* Fills *plan (all zero before); the caller releases it. */
void reconcile(const struct observed *o, int64_t now_ms, struct plan *plan);

#endif
