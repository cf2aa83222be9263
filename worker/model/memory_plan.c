#include "worker/model/memory_plan.h"

#include <stdbool.h>
#include <stdlib.h>

#include "paceline/mem.h"

#define ALIGN 16 /* floats: a vector, and a line of the cache */

static size_t memory_plan_rounded(size_t floats) { return (floats + ALIGN - 1) / ALIGN * ALIGN; }

static int memory_plan_compare(size_t a, size_t b) { return (a > b) - (a < b); }

struct memory_entry {
    struct memory_need *need;
};

/* The largest first, and of equals the one that is listed first. */
static int memory_plan_by_size(const void *a, const void *b)
{
    const struct memory_need *x = ((const struct memory_entry *)a)->need;
    const struct memory_need *y = ((const struct memory_entry *)b)->need;

    return x->floats == y->floats ? (x > y) - (x < y) : memory_plan_compare(y->floats, x->floats);
}

static bool memory_plan_meet(const struct memory_need *a, const struct memory_need *b)
{
    return a->from <= b->to && b->from <= a->to;
}

/* Puts `need` between those that are placed, which are in the order of their places; returns where
 * in that order it belongs. */
static int memory_plan_place(struct memory_need *need, const struct memory_entry *placed, int n)
{
    int index = 0;

    need->at = 0;
    for (int i = 0; i < n; i++) {
        const struct memory_need *other = placed[i].need;

        if (!memory_plan_meet(need, other))
            continue;
        if (need->at + memory_plan_rounded(need->floats) <= other->at)
            break;
        if (other->at + memory_plan_rounded(other->floats) > need->at)
            need->at = other->at + memory_plan_rounded(other->floats);
    }
    while (index < n && placed[index].need->at <= need->at)
        index++;
    return index;
}

size_t memory_plan(struct memory_need *needs, int n)
{
    AUTO(auto_free) struct memory_entry *order = xcalloc((size_t)n, sizeof *order);
    AUTO(auto_free) struct memory_entry *placed = xcalloc((size_t)n, sizeof *placed);
    size_t floats = 0;

    for (int i = 0; i < n; i++)
        order[i].need = &needs[i];
    qsort(order, (size_t)n, sizeof *order, memory_plan_by_size);
    for (int i = 0; i < n; i++) {
        struct memory_need *need = order[i].need;
        const int index = memory_plan_place(need, placed, i);
        const size_t end = need->at + memory_plan_rounded(need->floats);

        memmove(placed + index + 1, placed + index, (size_t)(i - index) * sizeof *placed);
        placed[index].need = need;
        floats = end > floats ? end : floats;
    }
    return floats;
}
