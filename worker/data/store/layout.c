#include "worker/data/store/layout.h"

#include "worker/data/image/image.h"
#include "worker/data/store/rows.h"

#define MAX_CLASSES 65536

/* Room for n bytes after what is there, with the source's headroom; their offset. */
static size_t layout_place(struct layout *l, size_t n)
{
    size_t at = (l->bytes + SOURCE_HEADROOM + 63) & ~(size_t)63;

    l->bytes = at + n;
    return at;
}

struct layout layout_plan(const struct source *s)
{
    const bool kept = s->job->dataset.staging == STAGING_MATERIALIZE || s->job->dataset.cache;
    const size_t image_bytes = kept ? rows_sample_bytes(s) : 0;
    struct layout l = {.shape = s->shape, .bytes = sizeof l};

    for (int set = 0; set < N_SETS; set++) {
        l.images[set] = layout_place(&l, s->n[set] * image_bytes);
        l.labels[set] = layout_place(&l, s->n[set] * sizeof(uint16_t));
    }
    return l;
}

static const uint8_t *layout_bytes(const struct dataset *set, uint32_t id, struct sample_reader *r,
                                   struct err *err)
{
    (void)r, (void)err;
    return set->images + id * dataset_pixels(set);
}

static int layout_row(const struct dataset *set, uint32_t id, struct sample_reader *r,
                      const struct normalizer *n, float *x, struct err *err)
{
    const size_t pixels = dataset_pixels(set);

    (void)r, (void)n, (void)err;
    memcpy(x, (const float *)(const void *)set->images + id * pixels, pixels * sizeof *x);
    return 0;
}

static const void *layout_raw(const struct dataset *set, uint32_t id, struct sample_reader *r,
                              const struct normalizer *n, struct err *err)
{
    (void)r, (void)n, (void)err;
    return set->images + id * dataset_pixels(set) * (set->ops->floats ? sizeof(float) : 1);
}

const struct dataset_ops bytes_in_memory = {.bytes = layout_bytes, .raw = layout_raw};
const struct dataset_ops rows_in_memory = {.floats = true, .row = layout_row, .raw = layout_raw};

struct dataset layout_view(const struct layout *l, int set, bool rows)
{
    const uint8_t *base = (const uint8_t *)l;

    return (struct dataset){.ops = rows ? &rows_in_memory : &bytes_in_memory,
                            .n = l->n[set],
                            .number = set,
                            .shape = l->shape,
                            .classes = l->classes,
                            .positions = 1,
                            .images = base + l->images[set],
                            .labels = (const uint16_t *)(base + l->labels[set])};
}

int layout_fill(struct layout *to, const struct layout *plan, struct source *s, bool labels_alone,
                struct err *err)
{
    uint8_t *base = (uint8_t *)to;
    struct source_memory memory;

    *to = *plan;
    for (int set = 0; set < N_SETS; set++) {
        memory.images[set] =
            labels_alone ? NULL : rows_bytes(s, base + plan->images[set], s->n[set]);
        memory.labels[set] = (uint16_t *)(base + plan->labels[set]);
    }
    if (source_read(s, &memory, err))
        return -1;
    for (int set = 0; set < N_SETS && !labels_alone; set++)
        rows_convert(s, base + plan->images[set], memory.images[set], s->n[set]);
    memcpy(to->n, s->n, sizeof to->n);
    to->classes = s->classes;
    return 0;
}

/* Whether n pieces of `each` bytes at offset lie within the layout, aligned. */
static bool layout_fits(const struct layout *l, size_t offset, size_t n, size_t each)
{
    return offset % 64 == 0 && offset >= sizeof *l && offset <= l->bytes && each > 0 &&
           n <= (l->bytes - offset) / each;
}

static bool sizes_fit(const struct layout *l)
{
    const struct shape *s = &l->shape;

    if ((s->c != 1 && s->c != 3) || s->h < 1 || s->w < 1 || s->h > IMAGE_MAX_SIDE ||
        s->w > IMAGE_MAX_SIDE || l->classes < 1 || l->classes > MAX_CLASSES)
        return false;
    for (int set = 0; set < N_SETS; set++)
        if (l->n[set] < 1 ||
            !layout_fits(l, l->images[set], l->n[set],
                         (size_t)s->c * (size_t)s->h * (size_t)s->w) ||
            !layout_fits(l, l->labels[set], l->n[set], sizeof(uint16_t)))
            return false;
    return true;
}

static bool labels_fit(const struct layout *l)
{
    for (int set = 0; set < N_SETS; set++) {
        struct dataset view = layout_view(l, set, false);
        for (uint32_t i = 0; i < view.n; i++)
            if (view.labels[i] >= l->classes)
                return false;
    }
    return true;
}

bool layout_check(const struct layout *l, size_t bytes)
{
    return bytes >= sizeof *l && l->bytes == bytes && sizes_fit(l) && labels_fit(l);
}
