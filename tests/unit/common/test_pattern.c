// LINK: common
/* Patterns of fields: the quick way says what regexec says. */
#include "common/pattern.h"

#include <regex.h>
#include <stdlib.h>

#include "common/spec_table.h"
#include "tests/test.h"

static bool by_regexec(const char *pattern, const char *text)
{
    regex_t re;
    bool fits;

    CHECK_INT(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB), 0);
    fits = regexec(&re, text, 0, NULL, 0) == 0;
    regfree(&re);
    return fits;
}

static void check_same(const char *pattern, const char *text)
{
    bool got = pattern_matches(pattern, text);

    if (got != by_regexec(pattern, text))
        TEST_FAIL("pattern %s, text \"%s\": got %d", pattern, text, got);
    test_checked++;
}

/* Every pattern of the table, against texts that fit, nearly fit, or do not. */
static void test_fields(void)
{
    static const char letters[] = "aZ09-_./@ \x7f\xc3\xa9\n";
    int n = 0;

    for (size_t i = 0; i < n_spec_fields; i++) {
        const char *pattern = spec_fields[i].pattern;

        if (!pattern)
            continue;
        n++;
        for (int k = 0; k < 200; k++) {
            char text[80];
            int length = rand() % 70;

            for (int c = 0; c < length; c++) /* mostly letters, or hardly one would fit */
                text[c] = rand() % 8 ? 'a' : letters[rand() % (int)(sizeof letters - 1)];
            text[length] = '\0';
            check_same(pattern, text);
        }
        check_same(pattern, "");
        check_same(pattern, "a");
    }
    CHECK(n > 5);
}

static void test_simple(void)
{
    static const char *const texts[] = {"",  "a",  "ab", "abb", "abbb", "b", "a-", "a]",
                                        "^", "a^", "aB", "A",   "ab\n", "[", "a[", "abbbb"};
    static const char *const patterns[] = {"^[a][b]{0,2}$",         "^[ab][b-]{0,3}$",
                                           "^[A-Za-z][]a]{0,2}$",   "^[^a][b]{0,2}$",
                                           "^[a][[:alpha:]]{0,2}$", "^[a][^b]{0,2}$"};

    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++)
        for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
            check_same(patterns[p], texts[t]);
    CHECK(!pattern_matches("^[a", "a")); /* no pattern */
}

int main(void)
{
    test_fields();
    test_simple();
    return test_result();
}
