#include "operator/core/accounts.h"

#include <string.h>

#include "paceline/mem.h"

#define SWEEP_MIN 64

struct account {
    struct limit limit;
    char name[];
};

static bool is_account(const void *object, const void *name)
{
    return strcmp(((const struct account *)object)->name, name) == 0;
}

void accounts_init(struct accounts *a, double per_second, double burst)
{
    *a = (struct accounts){.table = {.is = is_account},
                           .per_second = per_second,
                           .burst = burst,
                           .sweep_at = SWEEP_MIN};
}

void accounts_release(struct accounts *a)
{
    for (size_t i = 0; i < a->table.cap; i++)
        free(a->table.slots[i].object);
    hash_table_release(&a->table);
}

/* Drops the accounts that are full again: they say no more than none. The next sweep comes when
 * there are twice as many as are left now, so a new account costs constant time on average. */
static void accounts_sweep(struct accounts *a, int64_t now_ms)
{
    for (size_t i = 0; i < a->table.cap;) {
        struct account *account = a->table.slots[i].object;

        if (account && limit_is_full(&account->limit, now_ms)) {
            hash_table_remove(&a->table, &a->table.slots[i]);
            free(account);
        } else {
            i++;
        }
    }
    a->sweep_at = a->table.n * 2 > SWEEP_MIN ? a->table.n * 2 : SWEEP_MIN;
}

static struct account *account_new(struct accounts *a, const char *name, uint32_t hash,
                                   int64_t now_ms)
{
    size_t bytes = strlen(name) + 1;
    struct account *account;

    if (a->table.n >= a->sweep_at)
        accounts_sweep(a, now_ms);
    account = xmalloc(sizeof *account + bytes);
    memcpy(account->name, name, bytes);
    limit_init(&account->limit, a->per_second, a->burst, now_ms);
    hash_table_add(&a->table, hash, account);
    return account;
}

void accounts_spend(struct accounts *a, const char *name, double tokens, int64_t now_ms)
{
    uint32_t hash = hash_table_hash(name, 0);
    const struct hash_table_slot *slot = hash_table_find(&a->table, hash, name);
    struct account *account = slot ? slot->object : account_new(a, name, hash, now_ms);

    limit_spend(&account->limit, tokens, now_ms);
    if (account->limit.tokens < -a->burst)
        account->limit.tokens = -a->burst;
}

int64_t accounts_wait_ms(const struct accounts *a, const char *name, int64_t now_ms)
{
    const struct hash_table_slot *slot = hash_table_find(&a->table, hash_table_hash(name, 0), name);

    return slot ? limit_next_ms(&((const struct account *)slot->object)->limit, now_ms) : 0;
}
