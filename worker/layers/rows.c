#include "worker/layers/rows.h"

const struct pass *rows_of(struct row_pass *r, const struct pass *p, int rows)
{
    const uint32_t n = (uint32_t)rows;
    uint32_t *end = r->ends;

    if (rows == 1)
        return p;
    r->pass = *p;
    r->pass.n = p->n * n;
    r->pass.first = p->first * n;
    r->pass.blocks = r->blocks;
    for (int b = 0; b < p->n_blocks; b++) {
        r->blocks[b] = p->blocks[b];
        r->blocks[b].begin = p->blocks[b].begin * n;
        r->blocks[b].end = end;
        for (uint32_t lane = 0; lane < 1u << p->blocks[b].level; lane++)
            *end++ = p->blocks[b].end[lane] * n;
    }
    return &r->pass;
}
