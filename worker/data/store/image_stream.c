#include "worker/data/store/image_stream.h"

#include <stdatomic.h>
#include <time.h>

#include "paceline/mem.h"
#include "worker/data/image/image_folder.h"

enum { UNTOUCHED, CLAIMED, DECODED }; /* a fresh memory is zero */

/* Offsets count from here. */
struct image_stream {
    bool cached, parts; /* parts: of few files, as they are; else a file for each sample */
    uint32_t n;         /* samples of both sets */
    size_t places[N_SETS], states[N_SETS];
};

/* Of a sample. */
struct image_place {
    size_t path; /* offset */
    size_t at;   /* where in the file */
};

static size_t aligned(size_t n) { return (n + 63) & ~(size_t)63; }

struct image_stream *image_stream_behind(struct layout *l)
{
    return (struct image_stream *)((uint8_t *)l + aligned(l->bytes));
}

bool image_stream_decodes(const struct image_stream *s) { return !s->parts; }

/* Places, then states; then the paths. */
static size_t image_stream_place(struct image_stream *to, const uint32_t *n)
{
    size_t at = aligned(sizeof *to);

    for (int set = 0; set < N_SETS; set++) {
        to->places[set] = at;
        at = aligned(at + n[set] * sizeof(struct image_place));
        to->states[set] = at;
        at = aligned(at + n[set]);
    }
    return at;
}

/* Walks the files' names: writes them, and where each sample is, to the stream after `to`, unless
 * it is NULL. The bytes of the stream. */
static size_t walk_folder(struct image_stream *to, struct layout *layout, const struct source *s)
{
    const struct image_folder *f = s->files;
    struct image_stream plan;
    size_t at = image_stream_place(to ? to : &plan, s->n);

    for (int set = 0; set < N_SETS; set++)
        for (uint32_t i = 0; i < f->n[set]; i++) {
            const struct image_file *file = &f->files[set][i];
            const size_t room = strlen(file->folder) + strlen(file->name) + 2;

            if (to) {
                snprintf((char *)to + at, room, "%s/%s", file->folder, file->name);
                ((struct image_place *)((uint8_t *)to + to->places[set]))[i].path = at;
                ((uint16_t *)((uint8_t *)layout + layout->labels[set]))[i] = file->label;
            }
            at += room;
        }
    return at;
}

/* The same of parts: a name is there once for the samples that follow each other in its file. */
static size_t walk_parts(struct image_stream *to, const struct source *s)
{
    struct image_stream plan;
    size_t at = image_stream_place(to ? to : &plan, s->n), path_at = 0;
    const char *before = NULL;

    for (int set = 0; set < N_SETS; set++)
        for (uint32_t i = 0; i < s->n[set]; i++) {
            struct image_place p;
            const char *path = NULL;

            s->set->kind->where(s, set, i, &path, &p.at);
            if (path != before) {
                const size_t room = strlen(path) + 1;

                if (to)
                    memcpy((char *)to + at, path, room);
                path_at = at;
                at += room;
                before = path;
            }
            p.path = path_at;
            if (to)
                ((struct image_place *)((uint8_t *)to + to->places[set]))[i] = p;
        }
    return at;
}

/* Whether all samples can be read by themselves. */
static bool has_parts(const struct source *s)
{
    const char *path;
    size_t at;

    for (int set = 0; set < N_SETS; set++)
        if (!s->set->kind->where(s, set, 0, &path, &at))
            return false;
    return true;
}

size_t image_stream_bytes(const struct layout *plan, const struct source *s)
{
    return aligned(plan->bytes) +
           (s->set->kind->where ? walk_parts(NULL, s) : walk_folder(NULL, NULL, s));
}

/* Labels alone; compressed files, which are read from the front, whole. */
static int fill_parts(struct layout *to, const struct layout *plan, struct source *s,
                      struct err *err)
{
    struct image_stream *stream;

    if (!has_parts(s) && !s->job->dataset.cache)
        return err_set(
            err, ERR_INVALID,
            "dataset %s: a compressed file cannot be read in parts, as spec.dataset.cache "
            "false needs; unpack it with gunzip",
            s->set->name);
    if (layout_fill(to, plan, s, has_parts(s), err))
        return -1;
    stream = image_stream_behind(to);
    walk_parts(stream, s);
    stream->parts = true;
    for (int set = 0; set < N_SETS && !has_parts(s); set++)
        memset((uint8_t *)stream + stream->states[set], DECODED, s->n[set]);
    return 0;
}

int image_stream_fill(struct layout *to, const struct layout *plan, struct source *s,
                      struct err *err)
{
    struct image_stream *stream;

    if (s->set->kind->where) {
        if (fill_parts(to, plan, s, err))
            return -1;
    } else {
        *to = *plan;
        to->classes = s->classes;
        memcpy(to->n, s->n, sizeof to->n);
        walk_folder(image_stream_behind(to), to, s);
    }
    stream = image_stream_behind(to);
    stream->cached = s->job->dataset.cache;
    stream->n = s->n[SET_TRAIN] + s->n[SET_TEST];
    return 0;
}

static double image_stream_seconds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static size_t image_stream_pixels_of(const struct dataset *set)
{
    return (size_t)set->shape.c * (size_t)set->shape.h * (size_t)set->shape.w;
}

static const struct image_place *image_stream_place_of(const struct dataset *set, uint32_t i)
{
    const struct image_stream *s = set->stream;

    return (const struct image_place *)((const uint8_t *)s + s->places[set->number]) + i;
}

const char *image_stream_path(const struct dataset *set, uint32_t i)
{
    return (const char *)set->stream + image_stream_place_of(set, i)->path;
}

static int image_stream_decode(const struct dataset *set, uint32_t i, struct image_reader *r,
                               uint8_t *to, double *seconds, struct err *err)
{
    const struct image_stream *s = set->stream;
    const char *path = image_stream_path(set, i);
    const double start = image_stream_seconds_now();
    const int rc = s->parts ? image_reader_part(r, path, image_stream_place_of(set, i)->at,
                                                image_stream_pixels_of(set), to, err)
                            : image_reader_read(r, path, set->shape, to, err);

    *seconds += image_stream_seconds_now() - start;
    if (s->parts)
        return rc;
    if (rc && err->code == ERR_DAMAGED)
        err_wrap(err, "an image is damaged (dataset.staging: stream takes none)");
    return rc ? err_wrap(err, "dataset images") : 0;
}

static atomic_uchar *image_stream_state_of(const struct dataset *set, uint32_t i)
{
    return (atomic_uchar *)((uint8_t *)set->stream + set->stream->states[set->number]) + i;
}

int image_stream_read(const struct dataset *set, uint32_t i, struct image_reader *r, uint8_t *to,
                      struct err *err)
{
    double seconds = 0;

    return image_stream_decode(set, i, r, to, &seconds, err);
}

bool image_stream_has(const struct dataset *set, uint32_t i)
{
    return set->stream->cached &&
           atomic_load_explicit(image_stream_state_of(set, i), memory_order_acquire) == DECODED;
}

/* Whether sample i is in the host's memory; else *claimed says whether the caller is to put it
 * there. */
static bool is_there(const struct dataset *set, uint32_t i, bool *claimed)
{
    unsigned char found = UNTOUCHED;

    *claimed = false;
    if (image_stream_has(set, i))
        return true;
    *claimed = set->stream->cached &&
               atomic_compare_exchange_strong(image_stream_state_of(set, i), &found, CLAIMED);
    return false;
}

static void image_stream_publish(const struct dataset *set, uint32_t i)
{
    atomic_store_explicit(image_stream_state_of(set, i), DECODED, memory_order_release);
}

const uint8_t *image_stream_sample(const struct dataset *set, uint32_t i, struct image_reader *r,
                                   uint8_t *spare, double *seconds, struct err *err)
{
    uint8_t *kept = (uint8_t *)(uintptr_t)set->images + i * image_stream_pixels_of(set);
    bool claimed;

    if (is_there(set, i, &claimed))
        return kept;
    if (image_stream_decode(set, i, r, claimed ? kept : spare, seconds, err))
        return NULL;
    if (claimed)
        image_stream_publish(set, i);
    return claimed ? kept : spare;
}

int image_stream_row(const struct dataset *set, uint32_t i, struct image_reader *r, uint8_t *spare,
                     const struct normalizer *n, float *x, double *seconds, double *converting,
                     struct err *err)
{
    const size_t pixels = image_stream_pixels_of(set);
    float *kept = (float *)(uintptr_t)set->rows + i * pixels;
    bool claimed;

    if (is_there(set, i, &claimed)) {
        memcpy(x, kept, pixels * sizeof *x);
        return 0;
    }
    if (image_stream_decode(set, i, r, spare, seconds, err))
        return -1;
    const double start = image_stream_seconds_now();
    normalizer_apply(n, x, spare);
    *converting += image_stream_seconds_now() - start;
    if (claimed) {
        memcpy(kept, x, pixels * sizeof *x);
        image_stream_publish(set, i);
    }
    return 0;
}
