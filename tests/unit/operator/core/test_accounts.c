// LINK: operator/core/accounts.c operator/core/limit.c operator/core/hash_table.c common/mem.c
#include "operator/core/accounts.h"

#include "tests/test.h"

static void test_names_pay_for_themselves(void)
{
    struct accounts a;

    accounts_init(&a, 100, 500);
    CHECK_INT(accounts_wait_ms(&a, "a", 1000), 0);
    accounts_spend(&a, "a", 400, 1000);
    CHECK_INT(accounts_wait_ms(&a, "a", 1000), 0);
    accounts_spend(&a, "a", 200, 1000);
    CHECK_INT(accounts_wait_ms(&a, "a", 1000), 1010); /* 100 below none, and one to go */
    CHECK_INT(accounts_wait_ms(&a, "ab", 1000), 0);
    accounts_spend(&a, "ab", 501, 1500);
    CHECK_INT(accounts_wait_ms(&a, "a", 1500), 510);
    CHECK_INT(accounts_wait_ms(&a, "ab", 1500), 20);
    CHECK_INT(accounts_wait_ms(&a, "a", 2010), 0);
    accounts_release(&a);
}

/* Whatever somebody has done, it is over after twice the burst. */
static void test_debt_is_bounded(void)
{
    struct accounts a;

    accounts_init(&a, 100, 500);
    for (int i = 0; i < 100; i++)
        accounts_spend(&a, "a", 400, 1000);
    CHECK_INT(accounts_wait_ms(&a, "a", 1000), 5010);
    accounts_release(&a);
}

/* Of a hundred thousand names that spend a millisecond each, ten have not paid at a time. */
static void test_accounts_are_dropped_when_they_are_paid(void)
{
    struct accounts a;
    size_t most = 0;

    accounts_init(&a, 100, 500);
    accounts_spend(&a, "debtor", 1000, 0);
    for (int i = 0; i < 100000; i++) {
        char name[16];

        snprintf(name, sizeof name, "%d", i);
        accounts_spend(&a, name, 1, i);
        most = a.table.n > most ? a.table.n : most;
        if (i == 4000) /* one that has not paid yet is there still */
            CHECK_INT(accounts_wait_ms(&a, "debtor", i), 1010);
    }
    CHECK_INT(most, 64);
    CHECK_INT(a.table.cap, 128);
    accounts_release(&a);
}

static void spend_each(struct accounts *a, int first, int n, int64_t now_ms)
{
    for (int i = first; i < first + n; i++) {
        char name[16];

        snprintf(name, sizeof name, "%d", i);
        accounts_spend(a, name, 200, now_ms);
    }
}

/* While debts are not paid their accounts are kept; then they go all at once. */
static void test_debts_are_kept(void)
{
    struct accounts a;

    accounts_init(&a, 100, 500);
    for (int round = 0; round < 3; round++)
        spend_each(&a, 0, 1000, 1);
    CHECK_INT(a.table.n, 1000);
    CHECK_INT(a.sweep_at, 1024); /* few sweeps, as each walks them all */
    CHECK_INT(accounts_wait_ms(&a, "0", 1), 1010);
    CHECK_INT(accounts_wait_ms(&a, "999", 1), 1010);
    spend_each(&a, 1000, 25, 10000);
    CHECK_INT(a.table.n, 25);
    accounts_release(&a);
}

int main(void)
{
    test_names_pay_for_themselves();
    test_debt_is_bounded();
    test_accounts_are_dropped_when_they_are_paid();
    test_debts_are_kept();
    return test_result();
}
