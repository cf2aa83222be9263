/* Loading and resuming; see checkpoint.h. */
#include <inttypes.h>

#include "paceline/digest.h"
#include "paceline/log.h"
#include "paceline/mem.h"
#include "worker/checkpoint/checkpoints.h"
#include "worker/checkpoint/config.h"
#include "worker/checkpoint/safetensors.h"
#include "worker/train/checkpoint/checkpoint.h"
#include "worker/train/checkpoint/checkpoint_meta.h"
#include "worker/train/checkpoint/checkpoint_tensors.h"
#include "worker/train/telemetry/events.h"

#define SHAPE_TEXT 128          /* bytes of the text of up to 4 dimensions */
#define PIECE ((size_t)1 << 20) /* bytes of a file that are read at once, for its digest */

/* "F32 [32, 784]". */
static void checkpoint_shape_text(char *text, size_t size, enum st_dtype dtype, int n_dims,
                                  const int64_t *dims)
{
    size_t n = (size_t)snprintf(text, size, "%s [", st_dtype_name(dtype));

    for (int i = 0; i < n_dims; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%" PRId64, i ? ", " : "", dims[i]);
    snprintf(text + n, size - n, "]");
}

static int check_tensor(const struct checkpoint_tensor *tensor, const struct st_file *f,
                        const char *path, struct err *err)
{
    const struct st_tensor *s = st_find(f, tensor->name);
    char found[SHAPE_TEXT], needed[SHAPE_TEXT];

    if (!s)
        return err_set(err, ERR_INVALID, "%s: no tensor %s; it is a checkpoint of another %s", path,
                       tensor->name,
                       tensor->statistic  ? "spec.dataset.normalizeBy"
                       : tensor->slot < 0 ? "model"
                                          : "optimizer");
    if (s->dtype == ST_F32 && s->n_dims == tensor->n_dims &&
        memcmp(s->dims, tensor->dims, sizeof(int64_t) * (size_t)s->n_dims) == 0)
        return 0;
    checkpoint_shape_text(found, sizeof found, s->dtype, s->n_dims, s->dims);
    checkpoint_shape_text(needed, sizeof needed, ST_F32, tensor->n_dims, tensor->dims);
    return err_set(err, ERR_INVALID,
                   "%s: %s is %s, but the job's model has %s there; it is a checkpoint of another "
                   "model",
                   path, tensor->name, found, needed);
}

/* Piece by piece: the model may be larger than the memory of whoever reads. */
static int file_digest(const struct st_file *f, const char *path, uint64_t *digest, struct err *err)
{
    const size_t begin = f->n ? f->tensors[0].offset : 0; /* tensors cover the data, in order */
    AUTO(auto_free) char *piece = xmalloc(PIECE);
    struct digest sum;
    size_t bytes = 0;

    for (size_t i = 0; i < f->n; i++)
        bytes += f->tensors[i].bytes;
    sum = digest_begin(bytes);
    for (size_t at = 0; at < bytes; at += PIECE) {
        const size_t n = bytes - at < PIECE ? bytes - at : PIECE;

        if (st_read(f, path, begin + at, piece, n, err))
            return -1;
        digest_add(&sum, piece, n);
    }
    *digest = digest_end(&sum);
    return 0;
}

/* A checkpoint without a digest is of an older engine. */
static int check_digest(const struct st_file *f, const char *path, struct err *err)
{
    const char *want = st_meta_get(f, CHECKPOINT_DIGEST);
    uint64_t digest;
    char found[17];

    if (file_digest(f, path, &digest, err))
        return -1;
    snprintf(found, sizeof found, "%016" PRIx64, digest);
    if (!want || strcmp(found, want) == 0)
        return 0;
    return err_set(err, ERR_DAMAGED, "%s: its tensors have the digest %s, it was written with %s",
                   path, found, want);
}

/* A checkpoint that is read: by its root; to the other ranks it is nothing yet. */
struct checkpoint_reading {
    struct st_file file;
    enum checkpoint_extent extent;
    struct position at;
    struct checkpoint_tensor *tensors; /* every rank's: those that are wanted */
    size_t n;
};

static void reading_init(struct checkpoint_reading *r, struct trainer *t,
                         enum checkpoint_extent extent)
{
    *r = (struct checkpoint_reading){.extent = extent, .at = t->at};
    r->tensors = checkpoint_tensors(t, extent, &r->n);
}

static void reading_release(struct checkpoint_reading *r)
{
    st_close(&r->file);
    free(r->tensors);
}

static int reading_open(struct checkpoint_reading *r, const struct trainer *t, const char *path,
                        struct err *err)
{
    if (st_open_on_disk(&r->file, path, err) != 0 || check_digest(&r->file, path, err) != 0)
        return -1;
    if (r->extent == CHECKPOINT_ALL && (checkpoint_meta_check(t, &r->file, path, err) != 0 ||
                                        checkpoint_meta_read(t, &r->file, path, &r->at, err) != 0))
        return -1;
    for (size_t i = 0; i < r->n; i++)
        if (check_tensor(&r->tensors[i], &r->file, path, err) != 0)
            return -1;
    if (r->extent == CHECKPOINT_WEIGHTS) /* another model may begin with them */
        return 0;
    return config_check_names(&r->file, path, trainer_class_names(t),
                              job_labels(t->job) == LABELS_WORDS, err);
}

/* The tensor in t->checkpoint_tensor becomes this rank's, or what it owns of it. */
static void keep_tensor(struct trainer *t, const struct checkpoint_tensor *s)
{
    const struct param *p = s->param;
    float *slab;

    if (s->statistic)
        memcpy(s->statistic, t->checkpoint_tensor, checkpoint_tensor_bytes(s));
    if (s->statistic || !p->floats)
        return;
    if (s->slot < 0 || !t->sharded) {
        model_import(&t->model, p, checkpoint_slab_of(t, s->slot), t->checkpoint_tensor);
        return;
    }
    slab = t->sink.blocks[0]; /* of gradients; there are none now */
    memset(slab + p->offset, 0, p->floats * sizeof *slab);
    model_import(&t->model, p, slab, t->checkpoint_tensor);
    optimizer_load(&t->optimizer, s->slot, slab, p->offset, p->floats);
}

/* They are made of what is loaded. */
static void hold_batches(const struct trainer *t)
{
    batcher_hold(t->batches);
    batcher_hold(t->validation);
    batcher_hold(t->test);
}

/* To t->checkpoint_tensor. The file was whole a moment ago; if it is not any more the others, who
 * have a part of it by now, end with this rank. */
static void checkpoint_read_values(struct trainer *t, const struct checkpoint_reading *r,
                                   const char *path, const struct checkpoint_tensor *s)
{
    struct err err;

    if (st_read(&r->file, path, st_find(&r->file, s->name)->offset, trainer_room(t),
                checkpoint_tensor_bytes(s), &err) == 0)
        return;
    event_error(err_exit_code(err.code), err.msg);
    comm_abort(t->comm, err_exit_code(err.code));
}

/* The verdict of rank root; then its tensors, one after the other, and its position become
 * everybody's. Nothing of the trainer has changed when it fails. */
static int checkpoint_share(struct trainer *t, struct checkpoint_reading *r, const char *path,
                            int rc, int root, struct err *err)
{
    comm_broadcast(t->comm, &rc, sizeof rc, root);
    if (rc != 0) {
        comm_broadcast_err(t->comm, err, root);
        return -1;
    }
    hold_batches(t);
    for (size_t i = 0; i < r->n; i++) {
        const struct checkpoint_tensor *s = &r->tensors[i];
        const size_t bytes = checkpoint_tensor_bytes(s);

        if (comm_rank(t->comm) == root)
            checkpoint_read_values(t, r, path, s);
        comm_broadcast(t->comm, trainer_room(t), bytes, root);
        keep_tensor(t, s);
    }
    normalizer_use(&t->normalizer);
    if (r->extent != CHECKPOINT_ALL) /* such a checkpoint is never resumed */
        return 0;
    comm_broadcast(t->comm, &r->at, sizeof r->at, root);
    trainer_check_position(t, root, &r->at);
    t->at = r->at;
    return 0;
}

/* The lowest rank that says yes, or -1. */
static int lowest_rank(struct comm *c, bool yes)
{
    int rank = (int)-comm_max(c, -(yes ? comm_rank(c) : comm_size(c)));
    return rank >= 0 && rank < comm_size(c) ? rank : -1;
}

/* Reads the checkpoint of this step on the ranks that have it, one after the other, until it is
 * whole. */
static int resume_from(struct trainer *t, const char *dir, int64_t step, bool have, bool if_any,
                       struct err *err)
{
    AUTO(auto_free) char *path = checkpoint_path(dir, step);
    int root, me = comm_rank(t->comm);

    while ((root = lowest_rank(t->comm, have)) >= 0) {
        AUTO(reading_release) struct checkpoint_reading r;
        reading_init(&r, t, CHECKPOINT_ALL);
        int rc = root == me ? reading_open(&r, t, path, err) : 0;
        if (checkpoint_share(t, &r, path, rc, root, err) == 0) {
            if (root == me && if_any) /* nobody watches: where it came from is worth a line */
                log_info("resumed from %s rank=%d", path, me);
            return 0;
        }
        if (!if_any || err->code == ERR_INVALID)
            return -1;
        if (root == me)
            log_warn("skipped a checkpoint: %s rank=%d", err->msg, me);
        have = have && root != me;
    }
    return -1;
}

/* The newest step below that any rank has a checkpoint of, -1 without one; mine: this rank's, by
 * folder. */
static int64_t newest_of_all(struct trainer *t, const char *const *dirs, size_t n_dirs,
                             int64_t below, int64_t *mine)
{
    int64_t newest = -1;

    for (size_t i = 0; i < n_dirs; i++) {
        mine[i] = checkpoints_newest(dirs[i], below);
        newest = mine[i] > newest ? mine[i] : newest;
    }
    return comm_max(t->comm, newest);
}

/* The step of the next older checkpoint when the newest is damaged; -1: none. */
static int say_before(struct trainer *t, const char *const *dirs, size_t n_dirs, int64_t step,
                      struct err *err)
{
    const struct err why = *err;
    int64_t mine[2];
    const int64_t before = newest_of_all(t, dirs, n_dirs, step, mine);

    if (before < 0)
        return -1;
    return err_set(err, why.code, "%s; the checkpoint before it is of step %lld", why.msg,
                   (long long)before);
}

int checkpoint_resume(struct trainer *t, const char *dir, const char *durable, bool if_any,
                      struct err *err)
{
    const char *const dirs[] = {dir, durable};
    const size_t n_dirs = durable ? 2 : 1;
    struct err why = {.code = ERR_NOT_FOUND};
    int64_t mine[2], step = INT64_MAX;

    while ((step = newest_of_all(t, dirs, n_dirs, step, mine)) >= 0) {
        for (size_t i = 0; i < n_dirs; i++) {
            if (resume_from(t, dirs[i], step, mine[i] == step, if_any, &why) == 0)
                return 0;
            if ((!if_any && i + 1 == n_dirs) || why.code == ERR_INVALID) {
                *err = why;
                return why.code == ERR_DAMAGED ? say_before(t, dirs, n_dirs, step, err) : -1;
            }
        }
    }
    return if_any ? 0 : err_set(err, ERR_NOT_FOUND, "%s: no checkpoint to resume from", dir);
}

static int checkpoint_load(struct trainer *t, const char *path, enum checkpoint_extent extent,
                           struct err *err)
{
    AUTO(reading_release) struct checkpoint_reading r;

    reading_init(&r, t, extent);
    int rc = comm_rank(t->comm) == 0 ? reading_open(&r, t, path, err) : 0;
    return checkpoint_share(t, &r, path, rc, 0, err);
}

int checkpoint_load_weights(struct trainer *t, const char *path, struct err *err)
{
    return checkpoint_load(t, path, CHECKPOINT_WEIGHTS, err);
}

int checkpoint_load_model(struct trainer *t, const char *path, struct err *err)
{
    return checkpoint_load(t, path, CHECKPOINT_MODEL, err);
}
