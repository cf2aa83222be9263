/*
 * A hash table of objects that belong to the caller: open addressing, linear probing, removal by
 * shifting back, so there are no tombstones. The hash has no seed: equal histories give equal
 * orders. It grows and never shrinks: 16 bytes a slot, at most three of four slots taken.
 */
#ifndef PACELINE_OPERATOR_CORE_HASH_TABLE_H
#define PACELINE_OPERATOR_CORE_HASH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash_table_slot {
    void *object; /* NULL: free */
    uint32_t hash;
    uint32_t word; /* the caller's; 0 at first */
};

/* All zero but `is`: empty. */
struct hash_table {
    bool (*is)(const void *object, const void *key);
    struct hash_table_slot *slots;
    size_t n, cap; /* cap 0 or a power of two */
};

/* The hash of a string that goes on where `before` (another hash, or 0) ended. */
uint32_t hash_table_hash(const char *s, uint32_t before);

/* NULL: none. A slot is valid until the table changes. */
struct hash_table_slot *hash_table_find(const struct hash_table *t, uint32_t hash, const void *key);
/* The object must not be there yet. */
struct hash_table_slot *hash_table_add(struct hash_table *t, uint32_t hash, void *object);
/* While walking slots by index, look at the same index again after removing it. */
void hash_table_remove(struct hash_table *t, struct hash_table_slot *slot);
void hash_table_release(struct hash_table *t); /* not the objects */

#endif
