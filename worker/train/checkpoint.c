/* Checkpoints; see checkpoint.h. */
#include "worker/train/checkpoint.h"

#include <inttypes.h>

#include "paceline/digest.h"
#include "paceline/log.h"
#include "paceline/mem.h"
#include "worker/checkpoint/checkpoints.h"
#include "worker/checkpoint/config.h"
#include "worker/checkpoint/safetensors.h"
#include "worker/train/checkpoint_meta.h"
#include "worker/train/events.h"

#define DIGEST "digest"
#define SHAPE_TEXT 128          /* bytes of the text of up to 4 dimensions */
#define PIECE ((size_t)1 << 20) /* bytes of a file that are read at once, for its digest */

/* The slab of slot -1 (weights) or of an optimiser slot. */
static float *checkpoint_slab_of(struct trainer *t, int slot)
{
    return slot < 0 ? t->model.weights : t->optimizer.slots[slot];
}

/* A digest that is made while tensors are loaded, in their order. */
struct checkpoint_sum {
    struct digest digest;
    size_t left;   /* tensors */
    char text[17]; /* after the last of them */
};

/* A tensor of a checkpoint: a parameter or an optimiser's state for it, or a statistic. */
struct tensor {
    struct trainer *t;
    int slot;
    const struct param *param;
    float *statistic; /* of the normaliser, which all ranks have; NULL: param it is */
    int n_dims;
    const int64_t *dims;
    int64_t own_dims[3];
    struct checkpoint_sum *sum; /* or NULL */
    bool loaded;
    char name[160];
};

/* States of recurrent layers are where a training stands, and no part of its weights. */
static void list_parameters(struct tensor **end, struct trainer *t, int slot, bool states)
{
    for (int i = 0; i < t->model.n_params; i++) {
        const struct param *p = &t->model.params[i];
        struct tensor *s = *end;

        if (p->kind == PARAM_STATE && !states)
            continue;
        (*end)++;
        *s =
            (struct tensor){.t = t, .slot = slot, .param = p, .n_dims = p->n_dims, .dims = p->dims};
        if (slot < 0)
            snprintf(s->name, sizeof s->name, "%s", p->name);
        else
            snprintf(s->name, sizeof s->name, "optimizer.%s.%s", t->optimizer.slot_names[slot],
                     p->name);
    }
}

/* n values: one for each channel, or for each pixel. */
static void list_statistic(struct tensor **end, struct trainer *t, const char *name, float *values,
                           size_t n)
{
    const struct shape shape = t->normalizer.shape;
    const bool plane = t->normalizer.by == NORMALIZE_PIXEL && shape.h * shape.w > 1;
    struct tensor *s = *end;

    if (!n)
        return;
    *s = (struct tensor){.t = t,
                         .statistic = values,
                         .n_dims = plane ? 3 : 1,
                         .dims = s->own_dims,
                         .own_dims = {plane ? shape.c : (int)n, shape.h, shape.w}};
    snprintf(s->name, sizeof s->name, "%s", name);
    (*end)++;
}

/* How much of a checkpoint. */
enum extent {
    OF_WEIGHTS, /* only these */
    OF_MODEL,   /* and what makes its input of bytes */
    OF_ALL      /* and the optimiser's state */
};

/* All of them, in the order of a checkpoint; freed by the caller. */
static struct tensor *list_tensors(struct trainer *t, enum extent extent, size_t *n)
{
    const struct normalizer *norm = &t->normalizer;
    const int slots = extent == OF_ALL ? t->optimizer.n_slots : 0;
    struct tensor *list = xcalloc((size_t)(t->model.n_params * (slots + 1) + 2), sizeof *list);
    struct tensor *end = list;

    list_parameters(&end, t, -1, extent == OF_ALL);
    if (extent != OF_WEIGHTS) {
        list_statistic(&end, t, "normalize.mean", norm->mean, norm->n_mean);
        list_statistic(&end, t, "normalize.std", norm->std, norm->n_std);
    }
    for (int slot = 0; slot < slots; slot++)
        list_parameters(&end, t, slot, true);
    *n = (size_t)(end - list);
    return list;
}

static size_t bytes_of(const struct tensor *s)
{
    size_t n = sizeof(float);

    for (int i = 0; i < s->n_dims; i++)
        n *= (size_t)s->dims[i];
    return n;
}

static void sum_init(struct checkpoint_sum *sum, struct tensor *list, size_t n)
{
    size_t bytes = 0;

    for (size_t i = 0; i < n; i++) {
        bytes += bytes_of(&list[i]);
        list[i].sum = sum;
    }
    *sum = (struct checkpoint_sum){.digest = digest_begin(bytes), .left = n};
    snprintf(sum->text, sizeof sum->text, "%016d", 0); /* as long as it will be */
}

static void sum_add(struct checkpoint_sum *sum, const void *values, size_t bytes)
{
    digest_add(&sum->digest, values, bytes);
    if (--sum->left == 0)
        snprintf(sum->text, sizeof sum->text, "%016" PRIx64, digest_end(&sum->digest));
}

/* Its values, in t->checkpoint_tensor; where tensors have owners collective, and NULL but on the
 * writers. */
static const void *load_tensor(void *arg)
{
    struct tensor *s = arg;
    struct trainer *t = s->t;
    const float *values;

    if (s->statistic) {
        values = s->statistic;
    } else if (trainer_is_apart(t)) {
        values = t->strategy->collect(t, s->slot, s->param);
    } else {
        model_export(&t->model, s->param, trainer_room(t), checkpoint_slab_of(t, s->slot));
        values = t->checkpoint_tensor;
    }
    if (s->sum && values && !s->loaded)
        sum_add(s->sum, values, bytes_of(s));
    s->loaded = true;
    return values;
}

uint64_t checkpoint_digest(struct trainer *t)
{
    size_t n;
    AUTO(auto_free) struct tensor *list = list_tensors(t, OF_ALL, &n);
    struct checkpoint_sum sum;

    sum_init(&sum, list, n);
    for (size_t i = 0; i < n; i++)
        load_tensor(&list[i]);
    return digest_end(&sum.digest);
}

static int write_tensors(struct trainer *t, const char *path, struct err *err)
{
    size_t n;
    AUTO(auto_free) struct tensor *list = list_tensors(t, OF_ALL, &n);
    AUTO(auto_free) struct st_tensor *tensors = xcalloc(n, sizeof *tensors);
    AUTO(config_texts_release) struct config_texts config;
    struct checkpoint_meta meta;
    struct checkpoint_sum sum;
    int rc;

    checkpoint_meta_init(&meta, t);
    config_print(&config, t->job, t->data.train.shape, t->data.train.classes,
                 trainer_class_names(t), trainer_columns(t));
    meta.n += config_items(&config, meta.items + meta.n);
    sum_init(&sum, list, n);
    meta.items[meta.n++] = (struct st_meta){DIGEST, sum.text};
    for (size_t i = 0; i < n; i++) {
        tensors[i] = (struct st_tensor){.name = list[i].name,
                                        .dtype = ST_F32,
                                        .n_dims = list[i].n_dims,
                                        .bytes = bytes_of(&list[i]),
                                        .load = load_tensor,
                                        .arg = &list[i]};
        memcpy(tensors[i].dims, list[i].dims, sizeof *list[i].dims * (size_t)list[i].n_dims);
    }
    rc = st_write(path, tensors, n, meta.items, meta.n, err);
    for (size_t i = 0; trainer_is_apart(t) && i < n; i++) /* they come, whether it failed or not */
        if (!list[i].loaded)
            load_tensor(&list[i]);
    return rc;
}

void checkpoint_supply(struct trainer *t)
{
    size_t n;
    AUTO(auto_free) struct tensor *list = list_tensors(t, OF_ALL, &n);

    for (size_t i = 0; trainer_is_apart(t) && i < n; i++)
        load_tensor(&list[i]);
}

int checkpoint_write(struct trainer *t, const char *dir, bool best, char **path, struct err *err)
{
    AUTO(auto_free) char *name = checkpoint_path(dir, t->at.step);
    if (write_tensors(t, name, err) != 0)
        return -1;
    if (best && checkpoints_link_best(dir, name, err) != 0)
        return -1;
    checkpoints_drop_old(dir, t->at.step, t->job->checkpoint.keep);
    *path = STEAL(name);
    return 0;
}

/* "F32 [32, 784]". */
static void checkpoint_shape_text(char *text, size_t size, enum st_dtype dtype, int n_dims,
                                  const int64_t *dims)
{
    size_t n = (size_t)snprintf(text, size, "%s [", st_dtype_name(dtype));

    for (int i = 0; i < n_dims; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%" PRId64, i ? ", " : "", dims[i]);
    snprintf(text + n, size - n, "]");
}

static int check_tensor(const struct tensor *tensor, const struct st_file *f, const char *path,
                        struct err *err)
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
    const char *want = st_meta_get(f, DIGEST);
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
    enum extent extent;
    struct position at;
    struct tensor *tensors; /* every rank's: those that are wanted */
    size_t n;
};

static void reading_init(struct checkpoint_reading *r, struct trainer *t, enum extent extent)
{
    *r = (struct checkpoint_reading){.extent = extent, .at = t->at};
    r->tensors = list_tensors(t, extent, &r->n);
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
    if (r->extent == OF_ALL && (checkpoint_meta_check(t, &r->file, path, err) != 0 ||
                                checkpoint_meta_read(t, &r->file, path, &r->at, err) != 0))
        return -1;
    for (size_t i = 0; i < r->n; i++)
        if (check_tensor(&r->tensors[i], &r->file, path, err) != 0)
            return -1;
    if (r->extent == OF_WEIGHTS) /* another model may begin with them */
        return 0;
    return config_check_names(&r->file, path, trainer_class_names(t),
                              job_labels(t->job) == LABELS_WORDS, err);
}

/* The tensor in t->checkpoint_tensor becomes this rank's, or what it owns of it. */
static void keep_tensor(struct trainer *t, const struct tensor *s)
{
    const struct param *p = s->param;
    float *slab;

    if (s->statistic)
        memcpy(s->statistic, t->checkpoint_tensor, bytes_of(s));
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
                                   const char *path, const struct tensor *s)
{
    struct err err;

    if (st_read(&r->file, path, st_find(&r->file, s->name)->offset, trainer_room(t), bytes_of(s),
                &err) == 0)
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
        const struct tensor *s = &r->tensors[i];
        const size_t bytes = bytes_of(s);

        if (comm_rank(t->comm) == root)
            checkpoint_read_values(t, r, path, s);
        comm_broadcast(t->comm, trainer_room(t), bytes, root);
        keep_tensor(t, s);
    }
    normalizer_use(&t->normalizer);
    if (r->extent != OF_ALL) /* such a checkpoint is never resumed */
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
        reading_init(&r, t, OF_ALL);
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

static int checkpoint_load(struct trainer *t, const char *path, enum extent extent, struct err *err)
{
    AUTO(reading_release) struct checkpoint_reading r;

    reading_init(&r, t, extent);
    int rc = comm_rank(t->comm) == 0 ? reading_open(&r, t, path, err) : 0;
    return checkpoint_share(t, &r, path, rc, 0, err);
}

int checkpoint_load_weights(struct trainer *t, const char *path, struct err *err)
{
    return checkpoint_load(t, path, OF_WEIGHTS, err);
}

int checkpoint_load_model(struct trainer *t, const char *path, struct err *err)
{
    return checkpoint_load(t, path, OF_MODEL, err);
}
