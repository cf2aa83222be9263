// LINK: operator/core/hash_table.c common/mem.c
#include "operator/core/hash_table.h"

#include "paceline/mem.h"
#include "tests/test.h"
#include "tests/unit/random.h"

/* Objects are numbers; their hashes are chosen by the test, so that they collide as it likes. */
#define NUMBERS 512
static int numbers[NUMBERS];

static bool is_number(const void *object, const void *key)
{
    return *(const int *)object == *(const int *)key;
}

/* Some share a hash, most share low bits, and some want the last slots, so that probes wrap. */
static uint32_t hash_of(int i)
{
    switch (i % 4) {
    case 0:
        return (uint32_t)(i / 32);
    case 1:
        return ~(uint32_t)(i / 64);
    case 2:
        return (uint32_t)i << 16 | 15;
    default:
        return (uint32_t)i * 2654435761u;
    }
}

static void check_all(const struct hash_table *t, const bool *in, const uint32_t *words)
{
    size_t n = 0, slots = 0;

    for (int i = 0; i < NUMBERS; i++) {
        const struct hash_table_slot *slot = hash_table_find(t, hash_of(i), &i);
        if (!slot != !in[i])
            TEST_FAIL("%d is %s", i, slot ? "there" : "not there");
        else if (slot && (slot->object != &numbers[i] || slot->word != words[i]))
            TEST_FAIL("%d has another's slot", i);
        n += in[i];
    }
    for (size_t i = 0; i < t->cap; i++)
        slots += t->slots[i].object != NULL;
    CHECK_INT(t->n, n);
    CHECK_INT(slots, n);
    CHECK(n * 4 <= t->cap * 3);
}

static void test_model(void)
{
    struct hash_table t = {.is = is_number};
    bool in[NUMBERS] = {0};
    uint32_t words[NUMBERS] = {0};

    check_all(&t, in, words);
    for (int step = 0; step < 300000; step++) {
        int range = step < 150000 ? 12 : NUMBERS; /* in one small table, then in a large one */
        int i = (int)random_below((uint32_t)range);
        struct hash_table_slot *slot = hash_table_find(&t, hash_of(i), &i);

        CHECK(!slot == !in[i]);
        if (slot) {
            hash_table_remove(&t, slot);
        } else {
            slot = hash_table_add(&t, hash_of(i), &numbers[i]);
            CHECK_INT(slot->word, 0);
            slot->word = words[i] = random_below(UINT32_MAX);
        }
        in[i] = !in[i];
        if (step % 512 == 0)
            check_all(&t, in, words);
    }
    check_all(&t, in, words);
    hash_table_release(&t);
    CHECK(!hash_table_find(&t, 0, &numbers[0]));
    hash_table_add(&t, 0, &numbers[0]); /* usable again */
    CHECK_INT(t.n, 1);
    hash_table_release(&t);
}

/* A walk by index that removes on the way meets every item. */
static void test_walk(void)
{
    for (int round = 0; round < 2000; round++) {
        struct hash_table t = {.is = is_number};
        bool in[NUMBERS] = {0}, odd[NUMBERS] = {0};
        uint32_t words[NUMBERS] = {0};
        int range = 4 + (int)random_below(44);

        for (int i = 0; i < range; i++) {
            hash_table_add(&t, hash_of(i), &numbers[i]);
            in[i] = true;
            odd[i] = random_below(2);
        }
        for (size_t i = 0; i < t.cap;) {
            const int *number = t.slots[i].object;
            if (!number || !odd[*number]) {
                i++;
                continue;
            }
            in[*number] = false;
            hash_table_remove(&t, &t.slots[i]);
        }
        for (int i = 0; i < range; i++)
            CHECK(in[i] == !odd[i]);
        check_all(&t, in, words);
        hash_table_release(&t);
    }
}

static void test_hash(void)
{
    static unsigned buckets[4096];
    unsigned most = 0;
    char uid[48];

    CHECK(hash_table_hash("j", hash_table_hash("a", 0)) !=
          hash_table_hash("j", hash_table_hash("b", 0)));
    CHECK(hash_table_hash("a", 0) != hash_table_hash("b", 0));
    CHECK(hash_table_hash("", 0) != hash_table_hash("a", 0));
    for (int i = 0; i < 4096; i++) {
        snprintf(uid, sizeof uid, "0b8e5f3a-1d2c-4c5e-9f70-%012d", i);
        unsigned n = ++buckets[hash_table_hash(uid, 0) % 4096];
        most = n > most ? n : most;
    }
    CHECK(most <= 10); /* 4096 balls in as many boxes: 10 in one has a chance of 1 in 2000 */
}

int main(void)
{
    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = i;
    test_model();
    test_walk();
    test_hash();
    return test_result();
}
