#include "worker/data/store/identity.h"

#include <errno.h>
#include <libdeflate.h>
#include <sys/stat.h>

#include "paceline/mem.h"
#include "worker/data/batch/normalize.h"
#include "worker/data/format/arrays.h"
#include "worker/data/store/image_stream.h"

/* The samples of a set: n times `each` bytes, at `at` or, where it is NULL, read into room; after
 * which a stream's pixels are that become a row. */
struct samples {
    const struct dataset *set;
    uint32_t n;
    size_t each, pixels;
    const uint8_t *at;
    uint8_t *room;
    struct image_reader *reader;
    struct normalizer normalizer;
};

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

/* Those beyond dataset.limit do not. */
static uint32_t taking_part(const struct dataset *s, const struct job *job)
{
    const int64_t limit = job->dataset.limit;

    return s->number == SET_TRAIN && limit > 0 && limit < s->n ? (uint32_t)limit : s->n;
}

static struct samples samples_of(const struct dataset *s, const struct job *job)
{
    const uint32_t n = taking_part(s, job);
    const size_t pixels = (size_t)s->shape.c * (size_t)s->shape.h * (size_t)s->shape.w;
    const size_t each = pixels * (s->arrays || s->rows ? sizeof(float) : 1);
    const bool read = s->arrays || (s->stream && !image_stream_has(s, 0));

    if (s->tokens)
        return (struct samples){.set = s,
                                .n = s->streams,
                                .each = s->stream_length * sizeof *s->tokens,
                                .at = (const uint8_t *)s->tokens};
    return (struct samples){.set = s,
                            .n = n,
                            .each = each,
                            .pixels = pixels,
                            .at = read      ? NULL
                                  : s->rows ? (const uint8_t *)s->rows
                                            : s->images};
}

/* As the host's memory would have it. */
static int read_stream(const struct samples *s, uint32_t i, struct err *err)
{
    uint8_t *bytes = s->set->rows ? s->room + s->each : s->room;

    if (image_stream_read(s->set, i, s->reader, bytes, err))
        return -1;
    if (s->set->rows)
        normalizer_apply(&s->normalizer, (float *)(void *)s->room, bytes);
    return 0;
}

static int read_sample(const struct samples *s, uint32_t i, const uint8_t **bytes, struct err *err)
{
    *bytes = s->at ? s->at + i * s->each : s->room;
    if (s->at)
        return 0;
    return s->set->arrays ? arrays_sample(s->set, i, (float *)(void *)s->room, err)
                          : read_stream(s, i, err);
}

/* Sample k of `count` that are spread over n. */
static uint32_t spread(uint32_t k, uint32_t count, uint32_t n)
{
    return count < n ? (uint32_t)((uint64_t)k * (n - 1) / (count - 1)) : k;
}

/* By the job and the sizes alone: a host's compressed files are in memory, another's may not be. */
static uint32_t identity_count_of(const struct samples *s, const struct job *job)
{
    const bool in_memory =
        !s->set->arrays && !job->dataset.cache_path && job->dataset.staging == STAGING_MATERIALIZE;
    const size_t fit = IDENTITY_WHOLE_BYTES / s->each;
    const uint32_t most = fit < 2 ? 2 : fit < IDENTITY_SPREAD ? (uint32_t)fit : IDENTITY_SPREAD;

    return in_memory || s->n <= fit || s->n < most ? s->n : most;
}

static int digest_samples(uint64_t *digest, const struct samples *s, uint32_t count,
                          struct err *err)
{
    struct digest sum = digest_begin(count);

    for (uint32_t k = 0; k < count; k++) {
        const uint8_t *bytes;

        if (read_sample(s, spread(k, count, s->n), &bytes, err))
            return -1;
        identity_add(&sum, bytes, s->each);
    }
    *digest = digest_end(&sum);
    return 0;
}

/* Of files that are not decoded yet. */
static int digest_files(uint64_t *digest, const struct dataset *set, uint32_t n, struct err *err)
{
    const uint32_t count = n < IDENTITY_SPREAD ? n : IDENTITY_SPREAD;
    struct digest sum = digest_begin(n);

    for (uint32_t i = 0; i < n; i++) {
        const char *path = image_stream_path(set, i);

        identity_add(&sum, path, strlen(path));
    }
    for (uint32_t k = 0; k < count; k++) {
        const char *path = image_stream_path(set, spread(k, count, n));
        struct stat st;

        if (stat(path, &st))
            return err_set(err, ERR_IO, "dataset images: %s: %s", path, strerror(errno));
        const uint64_t size = (uint64_t)st.st_size;
        digest_add(&sum, &size, sizeof size);
    }
    *digest = digest_end(&sum);
    return 0;
}

int identity_samples(uint64_t *digest, const struct dataset *set, const struct job *job,
                     struct err *err)
{
    struct samples s = samples_of(set, job);

    if (set->stream && image_stream_decodes(set->stream))
        return digest_files(digest, set, s.n, err);

    AUTO(auto_free) uint8_t *room = s.at ? NULL : xmalloc(s.each + s.pixels);
    AUTO(image_reader_free)
    struct image_reader *reader = set->stream ? image_reader_new(job) : NULL;

    s.room = room;
    s.reader = reader;
    normalizer_init(&s.normalizer, job, set->shape);
    const int rc = digest_samples(digest, &s, identity_count_of(&s, job), err);
    normalizer_release(&s.normalizer);
    return rc;
}
