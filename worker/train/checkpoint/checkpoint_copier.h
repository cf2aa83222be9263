/*
 * The durable folder: copies of checkpoints on storage that outlives this host. The training writes
 * to its run folder, which is fast, and a thread copies from there, one checkpoint at a time, while
 * it goes on. Two writers of one folder do no harm: the same step is the same bytes under the same
 * name, put there whole by a rename.
 */
#ifndef PACELINE_CHECKPOINT_COPIER_H
#define PACELINE_CHECKPOINT_COPIER_H

#include <stdbool.h>
#include <stdint.h>

#include "paceline/err.h"
#include "paceline/spec.h"

struct checkpoint_copier;

/*
 * Makes dir when it is not there. ERR_INVALID if it holds checkpoints of a job that trains
 * differently, so that no job resumes from them by mistake (job_differs, strict). Another number of
 * workers does not make a job different. More epochs do only if a step depends on their number.
 */
MUST_CHECK int checkpoint_copier_open(struct checkpoint_copier **out, const char *dir,
                                      const struct job *job, struct err *err);
/* Writes job.json. Call it only when the training is sure to begin; until then the earlier job.json
 * is right. Fails if the file cannot be written. */
MUST_CHECK int checkpoint_copier_begin(const struct checkpoint_copier *d, const struct job *job,
                                       struct err *err);
/* Waits for a copy that is under way. NULL is fine. */
void checkpoint_copier_free(struct checkpoint_copier *d);

/* Begins to copy the checkpoint path, which may be removed from now on; waits for the copy before
 * it. best: also as best.safetensors; last: also as model.safetensors. Older ones beyond keep go.
 */
void checkpoint_copier_copy(struct checkpoint_copier *d, const char *path, int64_t step,
                            int64_t keep, bool best, bool last);

/* How a copy ended. */
struct checkpoint_copier_result {
    int64_t step;
    double seconds;
    bool failed;
    struct err err;
};

/* Returns the result of a copy that has ended and was not returned yet; false if there is none.
 * wait: first waits for a copy that is under way. */
bool checkpoint_copier_ended(struct checkpoint_copier *d, bool wait,
                             struct checkpoint_copier_result *result);

#endif
