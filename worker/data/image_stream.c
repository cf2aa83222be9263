#include "worker/data/image_stream.h"

#include <stdatomic.h>
#include <time.h>

#include "paceline/mem.h"
#include "worker/data/image_folder.h"

enum { UNTOUCHED, CLAIMED, DECODED }; /* a fresh memory is zero */

/* Offsets count from here. */
struct image_stream {
    bool cached;
    uint32_t n; /* files, of both sets */
    size_t paths[N_SETS], states[N_SETS];
};

static size_t aligned(size_t n) { return (n + 63) & ~(size_t)63; }

struct image_stream *image_stream_behind(struct layout *l)
{
    return (struct image_stream *)((uint8_t *)l + aligned(l->bytes));
}

/* An offset for each path, and one behind the last; then states; then the paths themselves. */
static size_t place(struct image_stream *to, const struct image_folder *f)
{
    size_t at = aligned(sizeof *to);

    for (int set = 0; set < N_SETS; set++) {
        to->paths[set] = at;
        at = aligned(at + f->n[set] * sizeof(size_t));
        to->states[set] = at;
        at = aligned(at + f->n[set]);
    }
    return at;
}

size_t image_stream_bytes(const struct layout *plan, const struct source *s)
{
    const struct image_folder *f = s->files;
    struct image_stream stream;
    size_t bytes = place(&stream, f);

    for (int set = 0; set < N_SETS; set++)
        for (uint32_t i = 0; i < f->n[set]; i++)
            bytes += strlen(f->files[set][i].folder) + strlen(f->files[set][i].name) + 2;
    return aligned(plan->bytes) + bytes;
}

void image_stream_fill(struct layout *to, const struct layout *plan, const struct source *s)
{
    const struct image_folder *f = s->files;

    *to = *plan;
    to->classes = s->classes;
    memcpy(to->n, s->n, sizeof to->n);
    struct image_stream *stream = image_stream_behind(to);
    size_t at = place(stream, f);

    stream->cached = s->job->dataset.cache;
    stream->n = f->n[SET_TRAIN] + f->n[SET_TEST];
    for (int set = 0; set < N_SETS; set++) {
        size_t *paths = (size_t *)((uint8_t *)stream + stream->paths[set]);
        uint16_t *labels = (uint16_t *)((uint8_t *)to + to->labels[set]);
        for (uint32_t i = 0; i < f->n[set]; i++) {
            const struct image_file *file = &f->files[set][i];
            const size_t room = strlen(file->folder) + strlen(file->name) + 2;

            snprintf((char *)stream + at, room, "%s/%s", file->folder, file->name);
            paths[i] = at;
            at += room;
            labels[i] = file->label;
        }
    }
}

static double seconds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int decode(const struct dataset *set, uint32_t i, struct image_reader *r, uint8_t *to,
                  double *seconds, struct err *err)
{
    const struct image_stream *s = set->stream;
    const size_t *paths = (const size_t *)((const uint8_t *)s + s->paths[set->number]);
    const double start = seconds_now();
    const int rc = image_reader_read(r, (const char *)s + paths[i], set->shape, to, err);

    *seconds += seconds_now() - start;
    if (rc && err->code == ERR_DAMAGED)
        err_wrap(err, "more than 0 of %u images are damaged", s->n);
    return rc ? err_wrap(err, "dataset images") : 0;
}

static atomic_uchar *state_of(const struct dataset *set, uint32_t i)
{
    return (atomic_uchar *)((uint8_t *)set->stream + set->stream->states[set->number]) + i;
}

/* Whether sample i is in the host's memory; else *claimed says whether the caller is to put it
 * there. */
static bool is_there(const struct dataset *set, uint32_t i, bool *claimed)
{
    unsigned char found = UNTOUCHED;

    *claimed = false;
    if (!set->stream->cached)
        return false;
    if (atomic_load_explicit(state_of(set, i), memory_order_acquire) == DECODED)
        return true;
    *claimed = atomic_compare_exchange_strong(state_of(set, i), &found, CLAIMED);
    return false;
}

static void publish(const struct dataset *set, uint32_t i)
{
    atomic_store_explicit(state_of(set, i), DECODED, memory_order_release);
}

static size_t pixels_of(const struct dataset *set)
{
    return (size_t)set->shape.c * (size_t)set->shape.h * (size_t)set->shape.w;
}

const uint8_t *image_stream_sample(const struct dataset *set, uint32_t i, struct image_reader *r,
                                   uint8_t *spare, double *seconds, struct err *err)
{
    uint8_t *kept = (uint8_t *)(uintptr_t)set->images + i * pixels_of(set);
    bool claimed;

    if (is_there(set, i, &claimed))
        return kept;
    if (decode(set, i, r, claimed ? kept : spare, seconds, err))
        return NULL;
    if (claimed)
        publish(set, i);
    return claimed ? kept : spare;
}

int image_stream_row(const struct dataset *set, uint32_t i, struct image_reader *r, uint8_t *spare,
                     const struct normalizer *n, float *x, double *seconds, double *converting,
                     struct err *err)
{
    const size_t pixels = pixels_of(set);
    float *kept = (float *)(uintptr_t)set->rows + i * pixels;
    bool claimed;

    if (is_there(set, i, &claimed)) {
        memcpy(x, kept, pixels * sizeof *x);
        return 0;
    }
    if (decode(set, i, r, spare, seconds, err))
        return -1;
    const double start = seconds_now();
    normalizer_apply(n, x, spare);
    *converting += seconds_now() - start;
    if (claimed) {
        memcpy(kept, x, pixels * sizeof *x);
        publish(set, i);
    }
    return 0;
}
