/*
 * The memory that status has of each index of a role: completed ones, ones that failed for good,
 * and the incarnation of each. Sets of small integers as sorted, disjoint ranges; text forms
 * "0-3,7" and (incarnations) "3:1,5-7:2".
 */
#ifndef PACELINE_OPERATOR_API_INDEX_MAP_H
#define PACELINE_OPERATOR_API_INDEX_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "paceline/arena.h"
#include "paceline/buf.h"
#include "paceline/err.h"

#define INDEX_MAP_MAX_INDEX 4095
#define INDEX_MAP_MAX_VALUE ((int64_t)1000000000000)

/* Ranges carry a value: 1 for sets, the incarnation above the base for incarnations. */
struct index_map_range {
    int first, last;
    int64_t value; /* > 0 */
};
struct index_map {
    struct index_map_range
        *ranges; /* in the arena of whoever made it; adjacent equal ones merged */
    size_t n;
};

int64_t index_map_get(const struct index_map *l, int index); /* 0: absent */
/* Gives index the value (0 removes it); a new array in the arena, *l is changed. */
void index_map_set(struct index_map *l, int index, int64_t value, struct arena *a);
/* The same for first..last. */
void index_map_set_range(struct index_map *l, int first, int last, int64_t value, struct arena *a);
int index_map_count(const struct index_map *l,
                    int below);                   /* indices below `below` that are present */
int64_t index_map_max(const struct index_map *l); /* largest value; 0 when empty */
int index_map_end(const struct index_map *l);     /* 1 above the largest index present */
bool index_map_equal(const struct index_map *a, const struct index_map *b);
void index_map_copy(struct index_map *out, const struct index_map *in, struct arena *a);

/* From and to one value per index 0..n-1, 0 for absent: many changes at the price of one. */
void index_map_pack(struct index_map *l, const int64_t *values, int n, struct arena *a);
void index_map_unpack(const struct index_map *l, int64_t *values, int n);

/* Text without values ("0-3,7") or with them ("3:1,5-7:2"). Parsing fails (ERR_INVALID) on
 * anything else, on indices above INDEX_MAP_MAX_INDEX, values above INDEX_MAP_MAX_VALUE, and on
 * ranges that overlap or are out of order. */
MUST_CHECK int index_map_parse(struct index_map *out, const char *text, bool values,
                               struct arena *a, struct err *err);
void index_map_encode(const struct index_map *l, bool values, struct buf *out);

#endif
