#include "worker/data/store/rows.h"

#include "paceline/mem.h"
#include "worker/data/batch/normalize.h"

size_t rows_sample_bytes(const struct source *s)
{
    return source_image_bytes(s) * (s->job->dataset.row_convert ? 1 : sizeof(float));
}

/* The end of it. Floats are made from the front, so they reach a sample's bytes when it is made. */
uint8_t *rows_bytes(const struct source *s, uint8_t *room, uint32_t n)
{
    return room + n * (rows_sample_bytes(s) - source_image_bytes(s));
}

void rows_convert(const struct source *s, uint8_t *room, const uint8_t *bytes, uint32_t n)
{
    const size_t pixels = source_image_bytes(s);
    AUTO(auto_free) uint8_t *sample = NULL; /* the last one's bytes lie within its floats */
    struct normalizer normalizer;

    if (s->job->dataset.row_convert)
        return;
    sample = xmalloc(pixels);
    normalizer_init(&normalizer, s->job, s->shape);
    for (uint32_t i = 0; i < n; i++) {
        memcpy(sample, bytes + i * pixels, pixels);
        normalizer_apply(&normalizer, (float *)room + i * pixels, sample);
    }
    normalizer_release(&normalizer);
}
