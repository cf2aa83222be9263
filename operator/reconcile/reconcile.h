/*
 * reconcile: what is, and the time, to what has to be done. Pure: no I/O, no clock, no randomness,
 * no logging. Called again whenever something changed and at plan.requeue_ms; it is
 * level-triggered, so a plan that was lost half-way is made again from what is then there.
 *
 * The rules, in the order in which they are looked at; the first that changes durable status ends
 * the look (the plan is that status alone):
 *
 *  1. managedBy of somebody else: nothing. A job that is being deleted: release every pod that is
 *     being deleted or finished, nothing else.
 *  2. A spec that is invalid (tj->problem): condition Failed, reason InvalidSpec - but only while
 *     no world exists; a running job keeps its world and says so in an event. A damaged status (a
 *     problem beside a job): an event and nothing else, so that nothing runs twice.
 *  3. Outcomes.
 *     - Succeeded (phase Succeeded): its index joins `completed`, its restart_count the restarts.
 *       If it was being deleted, only when it finished strictly before the second it was asked to
 *       stop in (finished_ms < deletion_ms - deletion_grace_ms): a graceful exit after SIGTERM is
 *       no success; then it counts as disrupted. A pod of an older incarnation that succeeded of
 *       its own counts too: it ended while a suspension or scaling was being written.
 *     - Failed: disrupted (pod->disrupted, or deleted while it ran) or retryable by the role's
 *       policy (ExitCode: code >= 128 or none; OnFailure, Always: always, since the kubelet
 *       restarts containers and only a lost pod ends Failed) gives a restart: restarts of job and
 *       role + 1 + its restart_count, the index's incarnation + 1, condition Restarting with the
 *       cause, back-off. When the restarts that a look needs go beyond backoffLimit, none is made:
 *       Failed, BackoffLimitExceeded. Else permanent: Failed, reason ReplicaFailed - or, for a
 *       worker of a Dynamic job with restart policy Never, `lost`, as long as minReplicas others
 *       are left. Permanent failures come before restarts, 4 and 5 before both.
 *     - a pod being deleted that never had a node: incarnation + 1, nothing counted.
 *     - a pod being deleted whose deletion_ms + fence_seconds passed, which we have watched being
 *       deleted for grace + fence_seconds, and which still has not finished: its node is lost; a
 * restart like a disruption. Only current incarnations fail; an older one has been decided already.
 * A pod of a newer one means that our status is stale: touch nothing of that index. The kubelet's
 * restarts in live pods count too: restarts + sum(restart_count) > backoffLimit is Failed,
 * BackoffLimitExceeded. They join the restarts when their pod becomes one of the past by suspension
 * or scaling. Back-off is by index: its first restart is immediate, as is one after
 * BACKOFF_RESET_MS of running; the others wait BACKOFF_FIRST_MS, twice that, ... up to
 * BACKOFF_MAX_MS. A wait further ahead than that was set before the wall clock went back, and is
 * over.
 *  4. Success: by the chief, if there is one; else worker 0 or all workers; AllWorkers: every
 *     worker (and the chief). Workers that are `lost` are not waited for, one must have completed.
 *     Success wins over a failure seen in the same look. One terminal condition, ever: what is
 *     terminal stays as it is, whatever pods and users do later.
 *  5. Deadline: active_ms + (now - active_since_ms) >= activeDeadlineSeconds: Failed,
 *     DeadlineExceeded.
 *  6. Suspend: clock stopped, Suspended True, Running False, world.incarnation above every
 *     incarnation so far, ledgers of incarnations emptied; the pods are then of an older
 *     incarnation and are deleted. Resume: Suspended False (reason Resumed), the clock goes on.
 *     A job created suspended makes nothing at all (no dry run, no objects). While it is suspended
 *     the counts of its spec wait.
 *  7. World: none yet: dry run per role, then generation 1, start_ms, Created, the clock starts;
 *     pods without a world (status was wiped) are below its incarnation. A template that the API
 *     server will never take: Failed, InvalidTemplate; with a world only PodsBlocked.
 *     Counts in the spec differ from it: Recreate: generation + 1, world.incarnation above all;
 *     Dynamic and built-in jobs: counts change, on the way down incarnation + 1 for each index that
 *     goes, so that its name is not used again, and for each that was `lost`, which is tried again
 *     (or a job scaled down to lost workers would wait for ever); but a change of ps or chief is
 * news to all, as in Recreate. `completed` is never forgotten.
 *  8. Objects: whatever of Service, Secret, ConfigMap (of this generation), NetworkPolicy, PodGroup
 *     is wanted and not there is created, before any pod. ConfigMaps of older generations go when
 *     no pod of an older world is left.
 *  9. Pods: unwanted ones (older incarnation, index out of range, index done) are deleted once,
 *     released when finished, forced when lost (3). A wanted index that is not completed or lost
 *     and has no pod of any incarnation that is not finished gets one - after backoff_until_ms if
 *     its incarnation is above the world's, not while hold_until_ms lies ahead, not while objects
 *     are missing, and not while a pod of an older world may still run: both would have the same
 *     host names. Only creation is held; deleting and releasing never wait.
 * 10. After a terminal condition: cleanPodPolicy (Running: those not finished; All: all; None: none
 *     - but pods of older incarnations always go), every finished pod is released, ttlSeconds after
 *     completion the job is deleted.
 * 11. Nothing to do: descriptive status (counts, Running, PodsBlocked, Restarting False when all
 *     run again, observedGeneration), at most every STATUS_INTERVAL_MS unless a condition came or
 *     flipped. It also goes along with every durable status.
 * 12. Built-in jobs: what rule 9 makes are agents; the training is theirs.
 *     - All workers' pods run and their chief (worker 0's agent) is connected and idle:
 *       launch.generation + 1, with what stands for these pods in launch.world; then the chief is
 *       told, and nothing else is launched before it has answered.
 *     - A run on other pods than the wanted ones is stopped once all wanted ones run. Pods beyond
 *       the count stay until it has, and while a chief that runs may still become connected; those
 *       that are wanted again by then, too, if the run was asked to stop.
 *     - A run that failed is launched again, later each time; more than backoffLimit failures in a
 *       row without a step of progress fail the job. A step also forgives the restarts so far.
 *     - Exit codes below 128 are permanent, as with ExitCode, whatever the scalePolicy: the agent
 *       ends so only where trying again cannot help. Worker 0 alone decides success.
 *
 * Events tell what the status that was observed says and reached less than ten minutes ago, in the
 * order in which it happened; only Scaled comes with the plan that writes it.
 *
 * Times are wall-clock milliseconds. Every wait (deadline, TTL, back-off, fence, hold, status
 * interval) leaves a requeue_ms.
 */
#ifndef PACELINE_OPERATOR_RECONCILE_RECONCILE_H
#define PACELINE_OPERATOR_RECONCILE_RECONCILE_H

#include "operator/api/run_report.h"
#include "operator/reconcile/plan.h"

#define STATUS_INTERVAL_MS 2000
#define BACKOFF_FIRST_MS 1000 /* before the second restart; the first is immediate */
#define BACKOFF_MAX_MS 300000
#define BACKOFF_RESET_MS 600000 /* a pod that ran so long is replaced at once */

struct observed {
    const struct tj *tj;
    const struct pod *const *pods; /* owned by tj's UID, any order */
    size_t n_pods;
    bool have[N_OWNED];         /* CONFIG_MAP: that of world.generation */
    int64_t old_generations[4]; /* older ConfigMaps that are still there, 0: none */
    /* What the controller remembers of this process; all zero after a restart. */
    bool dry_run_ok[N_CLUSTER_ROLES];
    const char *invalid_template; /* the API server's sentence for a pod it will never take */
    const char *blocked;          /* its sentence for a pod that it refuses now (403, ...) */
    int64_t hold_until_ms;        /* back-off after refused or failed requests of this job */
    int64_t status_written_ms;    /* the last write of status; 0: none yet */
    /* Built-in jobs. */
    const struct run_report *run; /* what the chief's agent last said; or NULL */
    bool linked;                  /* it is connected */
    const char *unreachable;      /* why it is not, once it should be; or NULL */
};

/* Whether the job needs an object of this kind. */
bool job_wants_owned(const struct job *job, enum owned_kind kind);

/* Fills *plan (all zero before); the caller releases it. */
void reconcile(const struct observed *o, int64_t now_ms, struct plan *plan);

#endif
