/*
 * What status remembers of each index of a role: which completed, which failed for good, and the
 * incarnation of each. Sets of small integers as sorted, disjoint ranges; text forms
 * "0-3,7" and (incarnations) "3:1,5-7:2".
 */
#ifndef PACELINE_OPERATOR_API_LEDGER_H
#define PACELINE_OPERATOR_API_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "paceline/arena.h"
#include "paceline/buf.h"
#include "paceline/err.h"

#define LEDGER_MAX_INDEX 4095
#define LEDGER_MAX_VALUE ((int64_t)1000000000000)

/* Ranges carry a value: 1 for sets, the incarnation above the base for incarnations. */
struct ledger_range {
    int first, last;
    int64_t value; /* > 0 */
};
struct ledger {
    struct ledger_range *ranges; /* in the arena of whoever made it; adjacent equal ones merged */
    size_t n;
};

int64_t ledger_get(const struct ledger *l, int index); /* 0: absent */
/* Gives index the value (0 removes it); a new array in the arena, *l is changed. */
void ledger_set(struct ledger *l, int index, int64_t value, struct arena *a);
/* The same for first..last. */
void ledger_set_range(struct ledger *l, int first, int last, int64_t value, struct arena *a);
int ledger_count(const struct ledger *l, int below); /* indices below `below` that are present */
int64_t ledger_max(const struct ledger *l);          /* largest value; 0 when empty */
int ledger_end(const struct ledger *l);              /* 1 above the largest index present */
bool ledger_equal(const struct ledger *a, const struct ledger *b);
void ledger_copy(struct ledger *out, const struct ledger *in, struct arena *a);

/* From and to one value per index 0..n-1, 0 for absent: many changes at the price of one. */
void ledger_pack(struct ledger *l, const int64_t *values, int n, struct arena *a);
void ledger_unpack(const struct ledger *l, int64_t *values, int n);

/* Text without values ("0-3,7") or with them ("3:1,5-7:2"). Parsing fails (ERR_INVALID) on
 * anything else, on indices above LEDGER_MAX_INDEX, values above LEDGER_MAX_VALUE, and on ranges
 * that overlap or are out of order. */
MUST_CHECK int ledger_parse(struct ledger *out, const char *text, bool values, struct arena *a,
                            struct err *err);
void ledger_encode(const struct ledger *l, bool values, struct buf *out);

#endif
