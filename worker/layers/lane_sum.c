/* The lane tree over buffers; see lane_sum.h. */
#include "worker/layers/lane_sum.h"

static bool node(const struct lane_sum *s, uint32_t first, int level, float *dst)
{
    const struct lane_ends *b = s->block;
    uint32_t begin = first ? b->end[first - 1] : 0, half = level ? 1u << (level - 1) : 0;

    if (begin == b->end[first + (1u << level) - 1])
        return false;
    if (level == 0) {
        s->lane(s->arg, b->begin + begin, b->begin + b->end[first], dst);
        return true;
    }
    if (!node(s, first, level - 1, dst))
        return node(s, first + half, level - 1, dst);
    float *right = s->levels + (size_t)(level - 1) * s->level_floats;
    if (node(s, first + half, level - 1, right)) {
        for (int i = 0; i < 2; i++)
            s->kernels->reduce->add(dst + s->at[i], right + s->at[i], s->n[i]);
    }
    return true;
}

bool lane_sum_run(const struct lane_sum *s, float *dst) { return node(s, 0, s->block->level, dst); }
