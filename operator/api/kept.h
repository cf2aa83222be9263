/*
 * The members that are kept of the objects that the API server sends: those that decoders read, and
 * no more. A member that a decoder begins to read needs a row here. The simulation runs through
 * these tables, so a missing row shows there.
 */
#ifndef PACELINE_OPERATOR_API_KEPT_H
#define PACELINE_OPERATOR_API_KEPT_H

#include "paceline/sieve.h"

/*
 * Anybody who may create TrainingJobs decides what stands in them. At these bounds no stage of the
 * work on a job takes 2 ms (tests/unit/operator/controller/test_costs.c). Annotations include
 * kubectl's copy of the applied file.
 */
#define KEPT_SPEC_BYTES ((size_t)128 << 10)
#define KEPT_SPEC_VALUES ((size_t)5120)
#define KEPT_LABELS_BYTES ((size_t)64 << 10)
#define KEPT_ANNOTATIONS_BYTES ((size_t)128 << 10)
#define KEPT_NOTES ((size_t)512) /* labels, and annotations */
/* Our own, and as large as the index maps of a job's indices. */
#define KEPT_STATUS_BYTES ((size_t)512 << 10)
#define KEPT_STATUS_VALUES ((size_t)4096)

/* One object, as the answer to a request. Each of them also takes a Status. */
extern const struct sieve_field kept_pod[];
extern const struct sieve_field kept_job[];
extern const struct sieve_field kept_owned[]; /* any other kind: its metadata */
/* Lists, whose objects are items. */
extern const struct sieve_field kept_pod_list[];
extern const struct sieve_field kept_job_list[];
extern const struct sieve_field kept_owned_list[];
/* Watches: each event is an item. */
extern const struct sieve_field kept_pod_event[];
extern const struct sieve_field kept_job_event[];
extern const struct sieve_field kept_owned_event[];
/* Of an object of any kind that cannot be read, and of an event with one. */
extern const struct sieve_field kept_identity[];
extern const struct sieve_field kept_identity_event[];
/* A list of Events about a pod, in one piece: what pod_events_newest reads. */
extern const struct sieve_field kept_events[];

#endif
