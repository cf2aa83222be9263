#include "worker/data/store/image_stream.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "paceline/mem.h"
#include "worker/data/image/image_folder.h"
#include "worker/data/image/image_reader.h"
#include "worker/data/store/identity.h"

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

static struct image_stream *image_stream_behind(struct layout *l)
{
    return (struct image_stream *)((uint8_t *)l + aligned(l->bytes));
}

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

            s->kind->where(s, set, i, &path, &p.at);
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
        if (!s->kind->where(s, set, 0, &path, &at))
            return false;
    return true;
}

size_t image_stream_bytes(const struct layout *plan, const struct source *s)
{
    return aligned(plan->bytes) +
           (s->kind->where ? walk_parts(NULL, s) : walk_folder(NULL, NULL, s));
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

    if (s->kind->where) {
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

static const struct image_place *image_stream_place_of(const struct dataset *set, uint32_t i)
{
    const struct image_stream *s = set->own;

    return (const struct image_place *)((const uint8_t *)s + s->places[set->number]) + i;
}

static const char *image_stream_path(const struct dataset *set, uint32_t i)
{
    return (const char *)set->own + image_stream_place_of(set, i)->path;
}

/* The pixels of sample i from its file. */
static int image_stream_decode(const struct dataset *set, uint32_t i, struct sample_reader *r,
                               uint8_t *to, struct err *err)
{
    const struct image_stream *s = set->own;
    const char *path = image_stream_path(set, i);
    const double start = sample_seconds();
    const int rc = s->parts ? image_reader_part(r->own, path, image_stream_place_of(set, i)->at,
                                                dataset_pixels(set), to, err)
                            : image_reader_read(r->own, path, set->shape, to, err);

    r->decoding += sample_seconds() - start;
    if (s->parts)
        return rc;
    if (rc && err->code == ERR_DAMAGED)
        err_wrap(err, "an image is damaged (dataset.staging: stream takes none)");
    return rc ? err_wrap(err, "dataset images") : 0;
}

static atomic_uchar *image_stream_state_of(const struct dataset *set, uint32_t i)
{
    const struct image_stream *s = set->own;

    return (atomic_uchar *)((uint8_t *)(uintptr_t)s + s->states[set->number]) + i;
}

/* Whether the host's memory has sample i. */
static bool image_stream_has(const struct dataset *set, uint32_t i)
{
    const struct image_stream *s = set->own;

    return s->cached &&
           atomic_load_explicit(image_stream_state_of(set, i), memory_order_acquire) == DECODED;
}

/* Whether sample i is in the host's memory; else *claimed says whether the caller is to put it
 * there. */
static bool is_there(const struct dataset *set, uint32_t i, bool *claimed)
{
    const struct image_stream *s = set->own;
    unsigned char found = UNTOUCHED;

    *claimed = false;
    if (image_stream_has(set, i))
        return true;
    *claimed =
        s->cached && atomic_compare_exchange_strong(image_stream_state_of(set, i), &found, CLAIMED);
    return false;
}

static void image_stream_publish(const struct dataset *set, uint32_t i)
{
    atomic_store_explicit(image_stream_state_of(set, i), DECODED, memory_order_release);
}

static void *image_stream_reader_new(const struct job *job) { return image_reader_new(job); }

static void image_stream_reader_free(void *own)
{
    struct image_reader *r = own;

    image_reader_free(&r);
}

static const uint8_t *image_stream_bytes_of(const struct dataset *set, uint32_t i,
                                            struct sample_reader *r, struct err *err)
{
    uint8_t *kept = (uint8_t *)(uintptr_t)set->images + i * dataset_pixels(set);
    bool claimed;

    if (is_there(set, i, &claimed))
        return kept;
    uint8_t *to = claimed ? kept : r->bytes;
    if (image_stream_decode(set, i, r, to, err))
        return NULL;
    if (claimed)
        image_stream_publish(set, i);
    return to;
}

/* The host's memory keeps floats (dataset.rowConvert false). */
static int image_stream_row(const struct dataset *set, uint32_t i, struct sample_reader *r,
                            const struct normalizer *n, float *x, struct err *err)
{
    const size_t pixels = dataset_pixels(set);
    float *kept = (float *)(uintptr_t)set->images + i * pixels;
    bool claimed;

    if (is_there(set, i, &claimed)) {
        memcpy(x, kept, pixels * sizeof *x);
        return 0;
    }
    if (image_stream_decode(set, i, r, r->bytes, err))
        return -1;
    const double start = sample_seconds();
    normalizer_apply(n, x, r->bytes);
    r->converting += sample_seconds() - start;
    if (claimed) {
        memcpy(kept, x, pixels * sizeof *x);
        image_stream_publish(set, i);
    }
    return 0;
}

static const void *image_stream_raw(const struct dataset *set, uint32_t i, struct sample_reader *r,
                                    const struct normalizer *n, struct err *err)
{
    const size_t each = dataset_pixels(set) * (set->ops->floats ? sizeof(float) : 1);

    if (image_stream_has(set, i))
        return set->images + i * each;
    if (image_stream_decode(set, i, r, r->bytes, err))
        return NULL;
    if (!set->ops->floats)
        return r->bytes;
    normalizer_apply(n, r->room, r->bytes);
    return r->room;
}

/* Of pictures that are decoded later, the names of all files, and the sizes of some. */
static int image_stream_digest(const struct dataset *set, const struct job *job, uint64_t *digest,
                               struct err *err)
{
    const uint32_t n = identity_taking_part(set, job);
    const uint32_t count = n < IDENTITY_SPREAD ? n : IDENTITY_SPREAD;
    struct digest sum = digest_begin(n);

    if (((const struct image_stream *)set->own)->parts)
        return identity_raw(digest, set, job, err);
    for (uint32_t i = 0; i < n; i++) {
        const char *path = image_stream_path(set, i);

        identity_add(&sum, path, strlen(path));
    }
    for (uint32_t k = 0; k < count; k++) {
        const char *path = image_stream_path(set, identity_spread(k, count, n));
        struct stat st;

        if (stat(path, &st))
            return err_set(err, ERR_IO, "dataset images: %s: %s", path, strerror(errno));
        const uint64_t size = (uint64_t)st.st_size;
        digest_add(&sum, &size, sizeof size);
    }
    *digest = digest_end(&sum);
    return 0;
}

static const struct dataset_ops stream_bytes = {.reader_new = image_stream_reader_new,
                                                .reader_free = image_stream_reader_free,
                                                .bytes = image_stream_bytes_of,
                                                .raw = image_stream_raw,
                                                .digest = image_stream_digest};
static const struct dataset_ops stream_rows = {.floats = true,
                                               .reader_new = image_stream_reader_new,
                                               .reader_free = image_stream_reader_free,
                                               .row = image_stream_row,
                                               .raw = image_stream_raw,
                                               .digest = image_stream_digest};

void image_stream_view(struct dataset *set, struct layout *l, int readers)
{
    const struct image_stream *s = image_stream_behind(l);

    set->ops = set->ops->floats ? &stream_rows : &stream_bytes;
    set->own = s;
    set->readers = s->parts ? 1 : readers;
}
