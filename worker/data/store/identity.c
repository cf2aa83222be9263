#include "worker/data/store/identity.h"

#include <libdeflate.h>

void identity_add(struct digest *d, const void *bytes, size_t n)
{
    const uint64_t crc = libdeflate_crc32(0, bytes, n);

    digest_add(d, &crc, sizeof crc);
}

uint64_t identity_labels(const struct dataset *set)
{
    return set->labels ? digest_bytes(set->labels, set->n * sizeof *set->labels)
                       : set->values_digest;
}

uint32_t identity_taking_part(const struct dataset *s, const struct job *job)
{
    const int64_t limit = job->dataset.limit;

    return s->number == SET_TRAIN && limit > 0 && limit < s->n ? (uint32_t)limit : s->n;
}

uint32_t identity_spread(uint32_t k, uint32_t count, uint32_t n)
{
    return count < n ? (uint32_t)((uint64_t)k * (n - 1) / (count - 1)) : k;
}

/* By the job and the sizes alone: a host's compressed files are in memory, another's may not be. */
static uint32_t identity_count_of(const struct dataset *set, size_t each, uint32_t n,
                                  const struct job *job)
{
    const bool in_memory = !set->ops->mapped && !job->dataset.cache_path &&
                           job->dataset.staging == STAGING_MATERIALIZE;
    const size_t fit = IDENTITY_WHOLE_BYTES / each;
    const uint32_t most = fit < 2 ? 2 : fit < IDENTITY_SPREAD ? (uint32_t)fit : IDENTITY_SPREAD;

    return in_memory || n <= fit || n < most ? n : most;
}

static int digest_samples(uint64_t *digest, const struct dataset *set, struct sample_reader *r,
                          const struct normalizer *normalizer, const struct job *job,
                          struct err *err)
{
    const size_t each = dataset_pixels(set) * (set->ops->floats ? sizeof(float) : 1);
    const uint32_t n = identity_taking_part(set, job);
    const uint32_t count = identity_count_of(set, each, n, job);
    struct digest sum = digest_begin(count);

    for (uint32_t k = 0; k < count; k++) {
        const void *raw = set->ops->raw(set, identity_spread(k, count, n), r, normalizer, err);

        if (!raw)
            return -1;
        identity_add(&sum, raw, each);
    }
    *digest = digest_end(&sum);
    return 0;
}

int identity_raw(uint64_t *digest, const struct dataset *set, const struct job *job,
                 struct err *err)
{
    struct normalizer normalizer;
    struct sample_reader r;

    sample_reader_init(&r, set, job);
    normalizer_init(&normalizer, job, set->shape);
    const int rc = digest_samples(digest, set, &r, &normalizer, job, err);
    normalizer_release(&normalizer);
    sample_reader_release(&r);
    return rc;
}

int identity_samples(uint64_t *digest, const struct dataset *set, const struct job *job,
                     struct err *err)
{
    return set->ops->digest ? set->ops->digest(set, job, digest, err)
                            : identity_raw(digest, set, job, err);
}
