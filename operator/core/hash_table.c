#include "operator/core/hash_table.h"

#include <stdlib.h>

#include "paceline/mem.h"

#define FIRST_SLOTS 16

uint32_t hash_table_hash(const char *s, uint32_t before)
{
    uint32_t h = before ^ 2166136261u; /* FNV-1a */

    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 16777619u;
    /* Its low bits are poor and masks take low bits: finish as MurmurHash3 does. */
    h = (h ^ (h >> 16)) * 0x85ebca6bu;
    h = (h ^ (h >> 13)) * 0xc2b2ae35u;
    return h ^ (h >> 16);
}

struct hash_table_slot *hash_table_find(const struct hash_table *t, uint32_t hash, const void *key)
{
    if (t->cap == 0)
        return NULL;
    size_t mask = t->cap - 1;
    for (size_t i = hash & mask; t->slots[i].object; i = (i + 1) & mask)
        if (t->slots[i].hash == hash && t->is(t->slots[i].object, key))
            return &t->slots[i];
    return NULL;
}

static struct hash_table_slot *table_place(struct hash_table *t, struct hash_table_slot slot)
{
    size_t mask = t->cap - 1, i = slot.hash & mask;

    while (t->slots[i].object)
        i = (i + 1) & mask;
    t->slots[i] = slot;
    return &t->slots[i];
}

static void table_grow(struct hash_table *t)
{
    struct hash_table_slot *old = t->slots;
    size_t old_cap = t->cap;

    t->cap = old_cap ? old_cap * 2 : FIRST_SLOTS;
    t->slots = xcalloc(t->cap, sizeof *t->slots);
    for (size_t i = 0; i < old_cap; i++)
        if (old[i].object)
            table_place(t, old[i]);
    free(old);
}

struct hash_table_slot *hash_table_add(struct hash_table *t, uint32_t hash, void *object)
{
    if ((t->n + 1) * 4 > t->cap * 3)
        table_grow(t);
    t->n++;
    return table_place(t, (struct hash_table_slot){.object = object, .hash = hash});
}

void hash_table_remove(struct hash_table *t, struct hash_table_slot *slot)
{
    size_t mask = t->cap - 1, hole = (size_t)(slot - t->slots);

    /* Whoever was pushed past the hole moves into it: a probe must not meet a gap on its way. */
    for (size_t i = (hole + 1) & mask; t->slots[i].object; i = (i + 1) & mask) {
        size_t home = t->slots[i].hash & mask;
        if (((i - home) & mask) < ((i - hole) & mask))
            continue;
        t->slots[hole] = t->slots[i];
        hole = i;
    }
    t->slots[hole] = (struct hash_table_slot){0};
    t->n--;
}

void hash_table_release(struct hash_table *t)
{
    free(t->slots);
    t->slots = NULL;
    t->n = t->cap = 0;
}
