// LINK: common/err.c common/text.c common/mem.c worker/data/format/csv.c
#include "worker/data/format/csv.h"

#include <string.h>

#include "paceline/mem.h"
#include "tests/test.h"

static struct err err;

static int open_text(struct csv *c, const char *text)
{
    return csv_open(c, (const uint8_t *)text, strlen(text), "t.csv", &err);
}

/* The fields of all rows: "a|b/c|d/", and "!" for a row that is refused. */
static const char *all_rows(const char *text)
{
    static char out[256];
    AUTO(csv_release) struct csv c;
    size_t n = 0;
    int rc;

    out[0] = '\0';
    if (open_text(&c, text))
        return err.msg;
    while ((rc = csv_next(&c, &err)) != 0) {
        for (size_t i = 0; i < c.n_columns && rc > 0; i++)
            n += (size_t)snprintf(out + n, sizeof out - n, "%s%s", i ? "|" : "", c.fields[i]);
        n += (size_t)snprintf(out + n, sizeof out - n, "%s", rc > 0 ? "/" : "!");
    }
    return out;
}

static void test_rows(void)
{
    static const struct {
        const char *text, *rows;
    } cases[] = {
        {"a,b\n1,2\n3,4\n", "1|2/3|4/"},
        {"a,b\n1,2", "1|2/"},
        {"a,b\r\n1,2\r\n\r\n\n3,\r\n", "1|2/3|/"},
        {"\xef\xbb\xbf"
         "a;b\n1,5;2\n",
         "1,5|2/"},
        {"a\tb\n1\t\n", "1|/"},
        {"\"a;a\",b\n1;2,3\n", "1;2|3/"},
        {"a,b\n\"x, \"\"y\"\"\",\"two\nlines\"\n\"\",7\n", "x, \"y\"|two\nlines/|7/"},
        {"a,b\n1,2,3\n4\n5,6\n", "!!5|6/"},
        {"a,b\n\"1\"x,2\n3,4\n", "!3|4/"},
        {"a,b\n\"1,2\n3,4\n", "!"},
        {"a,b\n1,in\"side\n", "1|in\"side/"},
        {"name\nx\n\ny\n", "x/y/"},
        {"a,b\n", ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_STR(all_rows(cases[i].text), cases[i].rows);
}

static void test_names_and_lines(void)
{
    AUTO(csv_release) struct csv c;

    CHECK(open_text(&c, "\nlength,\"wid\nth\", kind\n1,2,3\n\n\"a\nb\",5,6\n7\n8,9,10\n") == 0);
    CHECK_INT(c.n_columns, 3);
    CHECK_STR(c.columns[0], "length");
    CHECK_STR(c.columns[1], "wid\nth");
    CHECK_STR(c.columns[2], " kind");
    CHECK(csv_next(&c, &err) == 1 && c.line == 4);
    CHECK(csv_next(&c, &err) == 1 && c.line == 6);
    CHECK_STR(c.fields[0], "a\nb");
    CHECK(csv_next(&c, &err) == -1);
    CHECK_STR(err.msg, "t.csv:8: found 1 field; the header has 3 columns");
    CHECK(csv_next(&c, &err) == 1 && c.line == 9);
    CHECK(csv_next(&c, &err) == 0 && csv_next(&c, &err) == 0);
}

static void test_refused(void)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "t.csv: an empty file; needed: a row of column names"},
        {"\n\r\n", "t.csv: an empty file; needed: a row of column names"},
        {"1,2.5\n3,4\n",
         "t.csv:1: found a row of numbers; needed: the names of the columns, as the first row"},
        {"a,\"b\n1,2\n", "t.csv:1: a quote that does not begin or end a field; needed: \"...\", "
                         "with each quote in it written twice"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_STR(all_rows(cases[i].text), cases[i].message);
    struct csv c;
    CHECK(csv_open(&c, (const uint8_t *)"a,\0\n", 4, "t.csv", &err) == -1);
    CHECK_STR(err.msg, "t.csv:1: found a byte 0; allowed: text");
    CHECK(c.columns == NULL);
}

/* What has no end is refused after a bounded number of bytes, and the row after its line is next.
 */
static void test_long_row(void)
{
    const size_t long_row = CSV_MAX_ROW + 10, len = 4 + long_row + 1 + 4;
    AUTO(auto_free) char *text = xmalloc(len);
    AUTO(csv_release) struct csv c;

    memset(text, 'x', len);
    memcpy(text, "a,b\n", 4);
    text[4] = '"';
    memcpy(text + 4 + long_row, "\n3,4\n", 5);
    CHECK(csv_open(&c, (const uint8_t *)text, len, "t.csv", &err) == 0);
    CHECK(csv_next(&c, &err) == -1);
    CHECK_STR(err.msg, "t.csv:2: a row of more than 16777216 bytes");
    CHECK(csv_next(&c, &err) == 1 && c.line == 3);
    CHECK_STR(c.fields[1], "4");
}

static void test_numbers(void)
{
    static const char *const none[] = {"",    " ",   "x",   "1x",    "0x10", "nan",
                                       "inf", "1,5", "1 2", "1e999", "--1",  "1.2.3",
                                       "e",   "+",   "-",   "1\t2"};
    static const struct {
        const char *text;
        double value;
    } some[] = {{"0", 0}, {" -1.5 ", -1.5}, {"+2e3", 2000}, {".5", 0.5}, {"7.", 7}, {"1E-2", 0.01}};
    double value;

    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        CHECK(!csv_number(none[i], &value));
    for (size_t i = 0; i < ARRAY_LEN(some); i++)
        CHECK(csv_number(some[i].text, &value) && value == some[i].value);
    char longer[100];
    memset(longer, '1', 65);
    longer[65] = '\0';
    CHECK(!csv_number(longer, &value));
}

int main(void)
{
    test_rows();
    test_names_and_lines();
    test_refused();
    test_long_row();
    test_numbers();
    return test_result();
}
