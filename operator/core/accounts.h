/*
 * Accounts of what each of many names has spent: a token bucket per name. An account exists only
 * while something of it is spent, so the number of accounts is bounded by the rate of spending and
 * not by the number of names. Time is an argument.
 */
#ifndef PACELINE_OPERATOR_CORE_ACCOUNTS_H
#define PACELINE_OPERATOR_CORE_ACCOUNTS_H

#include "operator/core/hash_table.h"
#include "operator/core/limit.h"

struct accounts {
    struct hash_table table;
    double per_second, burst; /* of each account */
    size_t sweep_at;          /* accounts, before those that are full again are dropped */
};

void accounts_init(struct accounts *a, double per_second, double burst);
void accounts_release(struct accounts *a);
/* Takes tokens from the account of this name. The debt is at most one burst, so the account has
 * tokens again within a bounded time. */
void accounts_spend(struct accounts *a, const char *name, double tokens, int64_t now_ms);
/* Milliseconds until the account has a token; 0: it has one now. */
int64_t accounts_wait_ms(const struct accounts *a, const char *name, int64_t now_ms);

#endif
