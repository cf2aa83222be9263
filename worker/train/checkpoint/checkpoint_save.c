/* Saving; see checkpoint.h. st_write (worker/checkpoint/safetensors.h) renames the file when it is
 * whole. */
#include <inttypes.h>

#include "paceline/digest.h"
#include "paceline/mem.h"
#include "worker/checkpoint/checkpoints.h"
#include "worker/checkpoint/config.h"
#include "worker/checkpoint/safetensors.h"
#include "worker/train/checkpoint/checkpoint.h"
#include "worker/train/checkpoint/checkpoint_meta.h"
#include "worker/train/checkpoint/checkpoint_tensors.h"

/* A digest that is made while tensors are loaded, in their order. */
struct checkpoint_sum {
    struct digest digest;
    size_t left;   /* tensors */
    char text[17]; /* after the last of them */
};

static void sum_init(struct checkpoint_sum *sum, struct checkpoint_tensor *list, size_t n)
{
    size_t bytes = 0;

    for (size_t i = 0; i < n; i++) {
        bytes += checkpoint_tensor_bytes(&list[i]);
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
    struct checkpoint_tensor *s = arg;
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
        sum_add(s->sum, values, checkpoint_tensor_bytes(s));
    s->loaded = true;
    return values;
}

uint64_t checkpoint_digest(struct trainer *t)
{
    size_t n;
    AUTO(auto_free) struct checkpoint_tensor *list = checkpoint_tensors(t, CHECKPOINT_ALL, &n);
    struct checkpoint_sum sum;

    sum_init(&sum, list, n);
    for (size_t i = 0; i < n; i++)
        load_tensor(&list[i]);
    return digest_end(&sum.digest);
}

static int write_tensors(struct trainer *t, const char *path, struct err *err)
{
    size_t n;
    AUTO(auto_free) struct checkpoint_tensor *list = checkpoint_tensors(t, CHECKPOINT_ALL, &n);
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
    meta.items[meta.n++] = (struct st_meta){CHECKPOINT_DIGEST, sum.text};
    for (size_t i = 0; i < n; i++) {
        tensors[i] = (struct st_tensor){.name = list[i].name,
                                        .dtype = ST_F32,
                                        .n_dims = list[i].n_dims,
                                        .bytes = checkpoint_tensor_bytes(&list[i]),
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
    AUTO(auto_free) struct checkpoint_tensor *list = checkpoint_tensors(t, CHECKPOINT_ALL, &n);

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
