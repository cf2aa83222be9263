/*
 * The durable folder: copies of checkpoints on storage that outlives this host. The training writes
 * to its run folder, which is fast, and a thread copies from there, one checkpoint at a time, while
 * it goes on. Two writers of one folder do no harm: the same step is the same bytes under the same
 * name, put there whole by a rename.
 */
#ifndef PACELINE_DURABLE_H
#define PACELINE_DURABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "paceline/err.h"
#include "paceline/spec.h"

struct durable;

/*
 * Makes dir when it is not there. ERR_INVALID if it holds checkpoints of a job that trains
 * differently, so that no job resumes from them by mistake (job_differs, strict). Another number of
 * workers does not make a job different. More epochs do only if a step depends on their number.
 */
MUST_CHECK int durable_open(struct durable **out, const char *dir, const struct job *job,
                            struct err *err);
/* Writes job.json. Call it only when the training is sure to begin; until then the earlier job.json
 * is right. Fails if the file cannot be written. */
MUST_CHECK int durable_begin(const struct durable *d, const struct job *job, struct err *err);
/* Waits for a copy that is under way. NULL is fine. */
void durable_free(struct durable *d);

/* Begins to copy the checkpoint path, which may be removed from now on; waits for the copy before
 * it. best: also as best.safetensors; last: also as model.safetensors. Older ones beyond keep go.
 */
void durable_copy(struct durable *d, const char *path, int64_t step, int64_t keep, bool best,
                  bool last);

/* How a copy ended. */
struct durable_result {
    int64_t step;
    double seconds;
    bool failed;
    struct err err;
};

/* Whether a copy has ended that was not told of yet; wait: also one that is still under way. */
bool durable_ended(struct durable *d, bool wait, struct durable_result *result);

#endif
