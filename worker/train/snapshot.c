/* Checkpoints; see snapshot.h. */
#include "worker/train/snapshot.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paceline/log.h"
#include "paceline/mem.h"
#include "worker/checkpoint/safetensors.h"
#include "worker/train/digest.h"

#define PREFIX "checkpoint-"
#define SUFFIX ".safetensors"
#define META_MAX 20
#define DIGEST "digest"

/* What a checkpoint says of its training besides the tensors. */
struct meta {
    struct st_meta items[META_MAX];
    char text[META_MAX][64];
    size_t n;
};

static void meta_add(struct meta *m, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void meta_add(struct meta *m, const char *key, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(m->text[m->n], sizeof m->text[0], fmt, args);
    va_end(args);
    m->items[m->n] = (struct st_meta){key, m->text[m->n]};
    m->n++;
}

static void describe(const struct trainer *t, struct meta *m)
{
    const struct position *at = &t->at;
    m->n = 0;
    meta_add(m, "format", "pt");
    meta_add(m, "job", "%.60s", t->job->name);
    meta_add(m, "step", "%" PRId64, at->step);
    meta_add(m, "epoch", "%" PRId64, at->epoch);
    meta_add(m, "batch", "%" PRIu32, at->batch);
    meta_add(m, "batchSize", "%" PRId64, t->job->training.batch_size);
    meta_add(m, "trainSamples", "%" PRIu32, t->data.n_train);
    meta_add(m, "batchesPerEpoch", "%" PRIu32, trainer_batches_per_epoch(t));
    meta_add(m, "seed", "%" PRIu64, t->job->training.seed);
    meta_add(m, "lanes", "%d", t->lanes.total);
    meta_add(m, "optimizer", "%d", (int)t->job->training.optimizer.type);
    meta_add(m, "sumOrder", "%d", SUM_ORDER_VERSION);
    meta_add(m, "epochLoss", "%.17g", at->epoch_totals.loss);
    meta_add(m, "epochSamples", "%" PRId64, at->epoch_totals.samples);
    meta_add(m, "epochCorrect", "%" PRId64, at->epoch_totals.correct);
    meta_add(m, "bestAccuracy", "%.17g", at->best_accuracy);
    meta_add(m, "bestStep", "%" PRId64, at->best_step);
}

static void tensor_name(const struct trainer *t, int slot, const struct param *p, char name[160])
{
    if (slot < 0)
        snprintf(name, 160, "%s", p->name);
    else
        snprintf(name, 160, "optimizer.%s.%s", t->optimizer.slot_names[slot], p->name);
}

/* The slab of slot -1 (weights) or of an optimiser slot. */
static float *slab_of(struct trainer *t, int slot)
{
    return slot < 0 ? t->model.weights : t->optimizer.slots[slot];
}

/* Fills t->snapshot, every tensor behind the other; the floats in it. */
static size_t export_tensors(struct trainer *t)
{
    size_t floats = 0;

    for (int i = 0; i < t->model.n_params; i++)
        floats += param_elements(&t->model.params[i]);
    floats *= (size_t)t->optimizer.n_slots + 1;
    if (!t->snapshot) /* kept: what is freed under MPI's allocator settings may not be used again */
        t->snapshot = xaligned(floats * sizeof(float));
    float *to = t->snapshot;
    for (int slot = -1; slot < t->optimizer.n_slots; slot++) {
        for (int i = 0; i < t->model.n_params; i++) {
            const struct param *p = &t->model.params[i];
            model_export(&t->model, p, to, slab_of(t, slot));
            to += param_elements(p);
        }
    }
    return floats;
}

uint64_t snapshot_digest(struct trainer *t)
{
    size_t floats = export_tensors(t);
    return digest_bytes(t->snapshot, floats * sizeof(float));
}

static int write_tensors(struct trainer *t, const char *path, struct err *err)
{
    size_t n = (size_t)(t->model.n_params * (t->optimizer.n_slots + 1)), used = 0;
    AUTO(auto_free) struct st_tensor *tensors = xcalloc(n, sizeof *tensors);
    AUTO(auto_free) char(*names)[160] = xcalloc(n, sizeof *names);
    struct meta meta;

    describe(t, &meta);
    meta_add(&meta, DIGEST, "%016" PRIx64, snapshot_digest(t));
    const float *from = t->snapshot;
    for (int slot = -1; slot < t->optimizer.n_slots; slot++) {
        for (int i = 0; i < t->model.n_params; i++) {
            const struct param *p = &t->model.params[i];
            struct st_tensor *s = &tensors[used];
            tensor_name(t, slot, p, names[used]);
            s->name = names[used++];
            s->dtype = ST_F32;
            s->n_dims = p->n_dims;
            memcpy(s->dims, p->dims, sizeof s->dims);
            s->data = from;
            s->bytes = param_elements(p) * sizeof(float);
            from += param_elements(p);
        }
    }
    return st_write(path, tensors, n, meta.items, meta.n, err);
}

/* The step of a checkpoint's file name, or -1. */
static int64_t step_of(const char *name)
{
    int64_t step = -1;
    int end = 0;
    if (sscanf(name, PREFIX "%" SCNd64 "%n", &step, &end) != 1 || strcmp(name + end, SUFFIX) != 0)
        return -1;
    return step;
}

static char *checkpoint_path(const char *dir, int64_t step)
{
    return xasprintf("%s/" PREFIX "%08" PRId64 SUFFIX, dir, step);
}

/* Whether name is a checkpoint under its temporary name. */
static bool is_unfinished(const char *name)
{
    return strncmp(name, PREFIX, strlen(PREFIX)) == 0 && strstr(name, SUFFIX ".tmp.");
}

void snapshot_prepare(const char *dir)
{
    DIR *d;

    mkdir(dir, 0777); /* where that is not enough, writing a checkpoint says why */
    d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (is_unfinished(e->d_name))
            unlinkat(dirfd(d), e->d_name, 0);
    }
    if (d)
        closedir(d);
}

/* The largest checkpoint step of dir below `below`, or -1. */
static int64_t newest_step(const char *dir, int64_t below)
{
    int64_t best = -1;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        int64_t step = step_of(e->d_name);
        if (step < below && step > best)
            best = step;
    }
    if (d)
        closedir(d);
    return best;
}

static void drop_old(const char *dir, int64_t step, int64_t keep)
{
    for (int64_t i = 0; i < keep && step >= 0; i++)
        step = newest_step(dir, step);
    while (step >= 0 && (step = newest_step(dir, step)) >= 0) {
        AUTO(auto_free) char *path = checkpoint_path(dir, step);
        unlink(path);
    }
}

static int link_best(const char *dir, const char *path, struct err *err)
{
    AUTO(auto_free) char *best = xasprintf("%s/best" SUFFIX, dir);
    AUTO(auto_free) char *tmp = xasprintf("%s/.best.tmp", dir);
    unlink(tmp);
    if (link(path, tmp) != 0 || rename(tmp, best) != 0)
        return err_set(err, ERR_IO, "%s: link to %s: %s", best, path, strerror(errno));
    return 0;
}

int snapshot_write(struct trainer *t, const char *dir, bool best, char **path, struct err *err)
{
    AUTO(auto_free) char *name = checkpoint_path(dir, t->at.step);
    if (write_tensors(t, name, err) != 0)
        return -1;
    if (best && link_best(dir, name, err) != 0)
        return -1;
    drop_old(dir, t->at.step, t->job->checkpoint.keep);
    *path = STEAL(name);
    return 0;
}

static int load_tensor(struct trainer *t, const struct st_file *f, const char *path, int slot,
                       const struct param *p, struct err *err)
{
    char name[160];
    tensor_name(t, slot, p, name);
    const struct st_tensor *s = st_find(f, name);
    if (!s)
        return err_set(err, ERR_INVALID, "%s: no tensor %s; it is a checkpoint of another %s", path,
                       name, slot < 0 ? "model" : "optimizer");
    bool same = s->dtype == ST_F32 && s->n_dims == p->n_dims &&
                memcmp(s->dims, p->dims, sizeof(int64_t) * (size_t)p->n_dims) == 0;
    if (!same)
        return err_set(err, ERR_INVALID,
                       "%s: %s has another shape than the job's model (%lld outputs there, %lld "
                       "here); it is a checkpoint of another model",
                       path, name, (long long)(s->n_dims ? s->dims[0] : 0), (long long)p->dims[0]);
    model_import(&t->model, p, slab_of(t, slot), s->data);
    return 0;
}

static int load_slots(struct trainer *t, const struct st_file *f, const char *path, int first,
                      int end, struct err *err)
{
    for (int slot = first; slot < end; slot++) {
        for (int i = 0; i < t->model.n_params; i++) {
            if (load_tensor(t, f, path, slot, &t->model.params[i], err) != 0)
                return -1;
        }
    }
    return 0;
}

static int64_t meta_int(const struct st_file *f, const char *key)
{
    const char *v = st_meta_get(f, key);
    return v ? strtoll(v, NULL, 10) : -1;
}

static double meta_double(const struct st_file *f, const char *key)
{
    const char *v = st_meta_get(f, key);
    return v ? strtod(v, NULL) : 0;
}

/* What must not change between a checkpoint and the job that continues it. */
static int check_same_job(const struct trainer *t, const struct st_file *f, const char *path,
                          struct err *err)
{
    struct meta mine;
    static const char *const fixed[] = {"batchSize", "trainSamples", "batchesPerEpoch", "seed",
                                        "lanes",     "optimizer",    "sumOrder"};

    describe(t, &mine);
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
        const char *there = st_meta_get(f, fixed[i]), *here = NULL;
        for (size_t k = 0; k < mine.n; k++)
            here = strcmp(mine.items[k].key, fixed[i]) == 0 ? mine.items[k].value : here;
        if (!there || !here || strcmp(there, here) != 0)
            return err_set(err, ERR_INVALID,
                           "%s: written with %s %s, but the job has %s; a run is resumed with the "
                           "same value",
                           path, fixed[i], there ? there : "unknown", here ? here : "none");
    }
    return 0;
}

static int read_position(const struct trainer *t, const struct st_file *f, const char *path,
                         struct position *at, struct err *err)
{
    const int64_t batches = trainer_batches_per_epoch(t), batch = meta_int(f, "batch");
    const int64_t step = meta_int(f, "step"), epoch = meta_int(f, "epoch");
    const int64_t whole = step - batch; /* steps of the epochs that are done */

    if (batch < 0 || batch >= batches || whole < 0 || whole % batches || whole / batches != epoch)
        return err_set(err, ERR_DAMAGED,
                       "%s: step %" PRId64 " cannot be batch %" PRId64 " of epoch %" PRId64
                       " with %" PRId64 " batches in an epoch",
                       path, step, batch, epoch, batches);
    *at = (struct position){
        .step = step,
        .epoch = epoch,
        .batch = (uint32_t)batch,
        .epoch_totals = {.loss = meta_double(f, "epochLoss"),
                         .samples = meta_int(f, "epochSamples"),
                         .correct = meta_int(f, "epochCorrect")},
        .best_accuracy = meta_double(f, "bestAccuracy"),
        .best_step = meta_int(f, "bestStep"),
    };
    return 0;
}

/* A checkpoint without a digest is of an older engine. */
static int check_digest(const struct st_file *f, const char *path, struct err *err)
{
    const char *want = st_meta_get(f, DIGEST);
    const char *begin = f->n ? f->tensors[0].data : NULL; /* tensors cover the data, in order */
    size_t bytes = 0;
    char found[17];

    for (size_t i = 0; i < f->n; i++)
        bytes += f->tensors[i].bytes;
    snprintf(found, sizeof found, "%016" PRIx64, digest_bytes(begin, bytes));
    if (!want || strcmp(found, want) == 0)
        return 0;
    return err_set(err, ERR_DAMAGED, "%s: its tensors have the digest %s, it was written with %s",
                   path, found, want);
}

/* Nothing of the trainer has changed when it fails with another code than ERR_INVALID. */
static int read_checkpoint(struct trainer *t, const char *path, bool everything, struct err *err)
{
    AUTO(st_close) struct st_file f;
    struct position at = t->at;

    if (st_open(&f, path, err) != 0 || check_digest(&f, path, err) != 0)
        return -1;
    if (everything &&
        (check_same_job(t, &f, path, err) != 0 || read_position(t, &f, path, &at, err) != 0))
        return -1;
    if (load_slots(t, &f, path, -1, everything ? t->optimizer.n_slots : 0, err) != 0)
        return -1;
    t->at = at;
    return 0;
}

/* The verdict of rank root, weights and, with everything, state and position become everybody's. */
static int share(struct trainer *t, int rc, bool everything, int root, struct err *err)
{
    comm_broadcast(t->comm, &rc, sizeof rc, root);
    if (rc != 0) {
        comm_broadcast(t->comm, err, sizeof *err, root);
        return -1;
    }
    for (int slot = -1; slot < (everything ? t->optimizer.n_slots : 0); slot++)
        comm_broadcast(t->comm, slab_of(t, slot), t->model.n_floats * sizeof(float), root);
    if (everything)
        comm_broadcast(t->comm, &t->at, sizeof t->at, root);
    return 0;
}

/* The lowest rank that says yes, or -1. */
static int lowest_rank(struct comm *c, bool yes)
{
    int rank = (int)-comm_max(c, -(yes ? comm_rank(c) : comm_size(c)));
    return rank < comm_size(c) ? rank : -1;
}

/* Reads the checkpoint of this step on the ranks that have it, one after the other, until it is
 * whole. */
static int resume_from(struct trainer *t, const char *dir, int64_t step, bool have, bool if_any,
                       struct err *err)
{
    AUTO(auto_free) char *path = checkpoint_path(dir, step);
    int root, me = comm_rank(t->comm);

    while ((root = lowest_rank(t->comm, have)) >= 0) {
        int rc = root == me ? read_checkpoint(t, path, true, err) : 0;
        if (share(t, rc, true, root, err) == 0) {
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

int snapshot_resume(struct trainer *t, const char *dir, bool if_any, struct err *err)
{
    struct err why = {.code = ERR_NOT_FOUND};
    int64_t step = INT64_MAX;

    for (;;) {
        int64_t mine = newest_step(dir, step);
        step = comm_max(t->comm, mine);
        if (step < 0)
            break;
        if (resume_from(t, dir, step, mine == step, if_any, &why) == 0)
            return 0;
        if (!if_any || why.code == ERR_INVALID) {
            *err = why;
            return -1;
        }
    }
    return if_any ? 0 : err_set(err, ERR_NOT_FOUND, "%s: no checkpoint to resume from", dir);
}

int snapshot_load_weights(struct trainer *t, const char *path, struct err *err)
{
    int rc = comm_rank(t->comm) == 0 ? read_checkpoint(t, path, false, err) : 0;
    return share(t, rc, false, 0, err);
}
