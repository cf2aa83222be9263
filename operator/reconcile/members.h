/*
 * Rule 12: the members of a launch, which are a job's workers and after them its parameter servers,
 * in the order of ranks, each with the pod that it has now.
 *
 * A launch waits for a worker's pod that does not run until replaceTimeoutSeconds after the pod was
 * created, or after the training stood still if it could not be created. It waits for a server's
 * pod for ever, since a server has a share of the parameters. Then it goes on with the other
 * workers if there are at least minReplicas (default: one) and worker 0 is among them: worker 0
 * leads and has the newest checkpoint. launch.without lists the workers that are left out. So a
 * training never stops because a worker's pod does not run.
 */
#ifndef PACELINE_OPERATOR_RECONCILE_MEMBERS_H
#define PACELINE_OPERATOR_RECONCILE_MEMBERS_H

#include "operator/reconcile/ctx.h"

struct member {
    enum cluster_role role;
    int index;
};

int members_count(const struct ctx *ctx);
struct member members_at(const struct ctx *ctx, int i);
const struct index_slot *members_slot(const struct ctx *ctx, int i);
/* Its pod, where that runs and stays; or NULL. */
const struct pod *members_pod(const struct ctx *ctx, int i);
/* The same of worker 0, which leads. */
const struct pod *members_chief(const struct ctx *ctx);

/*
 * The workers that the next launch goes on without: those whose pods do not run and are no longer
 * waited for. False: it has to wait, or too few are left, or the first one, which leads, is
 * missing.
 */
bool members_choose(struct ctx *ctx, struct index_map *without);
bool members_left_out(const struct index_map *without, struct member m);
/* The hash (launch_world) of all pods but those of these workers; 0: not all of them run. */
int64_t members_world(const struct ctx *ctx, const struct index_map *without,
                      const char *(*text)(const struct pod *p));

#endif
