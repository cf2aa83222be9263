#include "worker/train/checkpoint/checkpoint_tensors.h"

#include "paceline/mem.h"

float *checkpoint_slab_of(struct trainer *t, int slot)
{
    return slot < 0 ? t->model.weights : t->optimizer.slots[slot];
}

/* States of recurrent layers are where a training stands, and no part of its weights. */
static void list_parameters(struct checkpoint_tensor **end, struct trainer *t, int slot,
                            bool states)
{
    for (int i = 0; i < t->model.n_params; i++) {
        const struct param *p = &t->model.params[i];
        struct checkpoint_tensor *s = *end;

        if (p->kind == PARAM_STATE && !states)
            continue;
        (*end)++;
        *s = (struct checkpoint_tensor){
            .t = t, .slot = slot, .param = p, .n_dims = p->n_dims, .dims = p->dims};
        if (slot < 0)
            snprintf(s->name, sizeof s->name, "%s", p->name);
        else
            snprintf(s->name, sizeof s->name, "optimizer.%s.%s", t->optimizer.slot_names[slot],
                     p->name);
    }
}

/* n values: one for each channel, or for each pixel. */
static void list_statistic(struct checkpoint_tensor **end, struct trainer *t, const char *name,
                           float *values, size_t n)
{
    const struct shape shape = t->normalizer.shape;
    const bool plane = t->normalizer.by == NORMALIZE_PIXEL && shape.h * shape.w > 1;
    struct checkpoint_tensor *s = *end;

    if (!n)
        return;
    *s = (struct checkpoint_tensor){.t = t,
                                    .statistic = values,
                                    .n_dims = plane ? 3 : 1,
                                    .dims = s->own_dims,
                                    .own_dims = {plane ? shape.c : (int)n, shape.h, shape.w}};
    snprintf(s->name, sizeof s->name, "%s", name);
    (*end)++;
}

struct checkpoint_tensor *checkpoint_tensors(struct trainer *t, enum checkpoint_extent extent,
                                             size_t *n)
{
    const struct normalizer *norm = &t->normalizer;
    const int slots = extent == CHECKPOINT_ALL ? t->optimizer.n_slots : 0;
    struct checkpoint_tensor *list =
        xcalloc((size_t)(t->model.n_params * (slots + 1) + 2), sizeof *list);
    struct checkpoint_tensor *end = list;

    list_parameters(&end, t, -1, extent == CHECKPOINT_ALL);
    if (extent != CHECKPOINT_WEIGHTS) {
        list_statistic(&end, t, "normalize.mean", norm->mean, norm->n_mean);
        list_statistic(&end, t, "normalize.std", norm->std, norm->n_std);
    }
    for (int slot = 0; slot < slots; slot++)
        list_parameters(&end, t, slot, true);
    *n = (size_t)(end - list);
    return list;
}

size_t checkpoint_tensor_bytes(const struct checkpoint_tensor *s)
{
    size_t n = sizeof(float);

    for (int i = 0; i < s->n_dims; i++)
        n *= (size_t)s->dims[i];
    return n;
}
