// LINK: operator/api/index_map.c common
/* Sets of indices as ranges, against a plain array; their text forms; what is refused. */
#include "operator/api/index_map.h"

#include "paceline/mem.h"
#include "tests/test.h"

#define N 64

static uint32_t random_state = 1;

static int draw(int n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (int)((random_state >> 8) % (uint32_t)n);
}

static void check_same(const struct index_map *l, const int64_t *plain, struct arena *a)
{
    AUTO(buf_release) struct buf text;
    struct index_map again = {0}, packed = {0};
    int64_t dense[N], max = 0, got;
    int present = 0, end = 0;
    struct err err;

    for (int i = 0; i < N; i++) {
        got = index_map_get(l, i);
        CHECK_INT(got, plain[i]);
        CHECK_INT(index_map_count(l, i), present);
        present += plain[i] != 0;
        end = plain[i] ? i + 1 : end;
        max = plain[i] > max ? plain[i] : max;
    }
    CHECK_INT(index_map_count(l, N), present);
    CHECK_INT(index_map_max(l), max);
    CHECK_INT(index_map_end(l), end);
    for (size_t i = 1; i < l->n; i++) {
        const struct index_map_range *r = &l->ranges[i], *before = r - 1;

        CHECK(before->last < r->first);
        CHECK(before->last + 1 < r->first || before->value != r->value);
    }
    buf_init(&text, 0);
    index_map_encode(l, true, &text);
    CHECK_INT(index_map_parse(&again, text.len ? text.data : "", true, a, &err), 0);
    CHECK(index_map_equal(l, &again));
    index_map_unpack(l, dense, N);
    CHECK_BYTES(dense, plain, sizeof dense);
    index_map_pack(&packed, plain, N, a);
    CHECK(index_map_equal(l, &packed));
    index_map_copy(&again, l, a);
    CHECK(index_map_equal(l, &again));
}

static void test_against_array(void)
{
    for (int round = 0; round < 50; round++) {
        AUTO(arena_release) struct arena a = {0};
        struct index_map l = {0};
        int64_t plain[N] = {0};

        for (int step = 0; step < 60; step++) {
            int first = draw(N), last = draw(3) ? first : first + draw(N - first);
            int64_t value = draw(4);

            if (first == last)
                index_map_set(&l, first, value, &a);
            else
                index_map_set_range(&l, first, last, value, &a);
            for (int i = first; i <= last; i++)
                plain[i] = value;
            check_same(&l, plain, &a);
        }
    }
}

static void check_text(const char *text, bool values, const char *want)
{
    AUTO(arena_release) struct arena a = {0};
    AUTO(buf_release) struct buf out;
    struct index_map l = {0};
    struct err err;

    buf_init(&out, 0);
    CHECK_INT(index_map_parse(&l, text, values, &a, &err), 0);
    index_map_encode(&l, values, &out);
    CHECK_STR(out.len ? out.data : "", want);
}

static void check_refused(const char *text, bool values)
{
    AUTO(arena_release) struct arena a = {0};
    struct index_map l = {.n = 77};
    struct err err = {0};

    CHECK_INT(index_map_parse(&l, text, values, &a, &err), -1);
    CHECK_INT(err.code, ERR_INVALID);
    CHECK_INT(l.n, 77);
    if (test_failed)
        fprintf(stderr, "  \"%.40s\"\n", text);
}

static void test_text(void)
{
    check_text("", false, "");
    check_text("0-3,7", false, "0-3,7");
    check_text("0,1,2,5-5,4095", false, "0-2,5,4095");
    check_text("3:1,5-7:2", true, "3:1,5-7:2");
    check_text("3:1,4:1,5:2", true, "3-4:1,5:2");
    check_text("1:1000000000000", true, "1:1000000000000");
    check_text("007", false, "7");
}

static void test_refused(void)
{
    static const char *const sets[] = {
        ",",
        "1,",
        ",1",
        "-",
        "-1",
        "1-",
        "3-1",
        "1-3,2",
        "1,1",
        "2,1",
        "4096",
        "0-4096",
        " 1",
        "1 ",
        "a",
        "1;2",
        "1-2-3",
        "1:1",
        "99999999999999999999",
        "1--2",
        "+1",
    };
    static const char *const maps[] = {
        "1",
        ":",
        "1:",
        "1:0",
        "1:-1",
        "1:a",
        "1-2",
        "1:1,",
        "1:1:1",
        "1:1-2",
        "2:1,1:1",
        ":1",
        "1:1000000000001",
    };
    AUTO(buf_release) struct buf many;

    for (size_t i = 0; i < ARRAY_LEN(sets); i++)
        check_refused(sets[i], false);
    for (size_t i = 0; i < ARRAY_LEN(maps); i++)
        check_refused(maps[i], true);
    buf_init(&many, 0);
    for (int i = 0; i < 5000; i++)
        buf_puts(&many, "1,");
    check_refused(many.data, false);
}

static void test_equal(void)
{
    AUTO(arena_release) struct arena a = {0};
    struct index_map l = {0}, m = {0};

    CHECK(index_map_equal(&l, &m));
    index_map_set_range(&l, 2, 5, 3, &a);
    CHECK(!index_map_equal(&l, &m));
    index_map_set_range(&m, 2, 4, 3, &a);
    CHECK(!index_map_equal(&l, &m));
    index_map_set_range(&m, 2, 5, 2, &a);
    CHECK(!index_map_equal(&l, &m));
    index_map_set_range(&m, 2, 5, 0, &a);
    index_map_set_range(&m, 1, 5, 3, &a);
    CHECK(!index_map_equal(&l, &m));
    index_map_set(&m, 1, 0, &a);
    CHECK(index_map_equal(&l, &m));
}

int main(void)
{
    test_against_array();
    test_text();
    test_refused();
    test_equal();
    return test_result();
}
