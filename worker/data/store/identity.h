/*
 * What tells whether two hosts hold the same data: digests of the bytes, the same on every machine,
 * whatever the number of ranks and threads. Against accidents: another byte goes unseen by one in
 * 2^32 chances, as libdeflate's CRC-32 of each sample has it.
 *
 * Training samples beyond dataset.limit do not count. Samples that are in memory count whole. Those
 * in files that are mapped or read on demand (dataset.cachePath, arrays, streams, also where a host
 * has them compressed and so in memory) do up to IDENTITY_WHOLE_BYTES; of more, as many as these
 * hold but at most IDENTITY_SPREAD and at least two do, as far apart as can be, the first and the
 * last among them, for who has more may not want to read it before the first step. Of pictures that
 * are decoded later, the names of all files do, and the sizes of so many.
 */
#ifndef PACELINE_IDENTITY_H
#define PACELINE_IDENTITY_H

#include "paceline/digest.h"
#include "worker/data/batch/dataset.h"

#define IDENTITY_WHOLE_BYTES ((size_t)256 << 20)
#define IDENTITY_SPREAD 256u

/* A sample more. */
void identity_add(struct digest *d, const void *bytes, size_t n);

/* Of all labels; 0 where there are none apart from the samples (text). */
uint64_t identity_labels(const struct dataset *set);

/* Before the first batch. Errors as the samples' of the set. */
MUST_CHECK int identity_samples(uint64_t *digest, const struct dataset *set, const struct job *job,
                                struct err *err);

/* For dataset_ops.digest: how many samples count, which of n samples is the k-th of `count` that
 * are spread over them, and the digest of raw samples. */
uint32_t identity_taking_part(const struct dataset *set, const struct job *job);
uint32_t identity_spread(uint32_t k, uint32_t count, uint32_t n);
MUST_CHECK int identity_raw(uint64_t *digest, const struct dataset *set, const struct job *job,
                            struct err *err);

#endif
