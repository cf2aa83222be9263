// LINK: common/arena.c common/mem.c common/err.c common/text.c
/* Arena: zeroed, aligned, disjoint; texts; released whole (LeakSanitizer watches). */
#include "paceline/arena.h"

#include <stdint.h>

#include "paceline/mem.h"
#include "tests/test.h"

static void test_blocks(void)
{
    AUTO(arena_release) struct arena a = {0};
    unsigned char *parts[200];
    size_t sizes[200];

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        sizes[i] = i % 50 == 49 ? 5000 : i;
        parts[i] = arena_alloc(&a, sizes[i]);
        CHECK_INT((uintptr_t)parts[i] % _Alignof(max_align_t), 0);
        for (size_t k = 0; k < sizes[i]; k++)
            if (parts[i][k])
                TEST_FAIL("part %zu: byte %zu is not 0", i, k);
        memset(parts[i], (int)(i + 1), sizes[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        for (size_t k = 0; k < sizes[i]; k++)
            if (parts[i][k] != (unsigned char)(i + 1))
                TEST_FAIL("part %zu: byte %zu was overwritten", i, k);
}

static void test_text(void)
{
    struct arena a = {0};
    char source[] = "four", *copy = arena_strdup(&a, source);

    source[0] = 'p';
    CHECK_STR(copy, "four");
    CHECK(arena_strdup(&a, NULL) == NULL);
    CHECK_STR(arena_strdup(&a, ""), "");
    CHECK_STR(arena_printf(&a, "%s-%d", "worker", 3), "worker-3");
    CHECK_INT(strlen(arena_printf(&a, "%3000d", 1)), 3000);
    arena_release(&a);
    CHECK(a.head == NULL);
    arena_release(&a);
    CHECK_STR(arena_strdup(&a, "again"), "again");
    arena_release(&a);
}

int main(void)
{
    test_blocks();
    test_text();
    return test_result();
}
