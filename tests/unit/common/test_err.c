// LINK: common/err.c common/text.c common/mem.c
/* Errors, exit codes and the allocation helpers. */
#include "paceline/err.h"

#include <stdint.h>

#include "paceline/mem.h"
#include "tests/test.h"

static void test_messages(void)
{
    struct err err = {0};
    char longer[1000];

    CHECK_INT(err_set(&err, ERR_NOT_FOUND, "open %s: %d", "a", 7), -1);
    CHECK_INT(err.code, ERR_NOT_FOUND);
    CHECK_STR(err.msg, "open a: 7");
    CHECK_INT(err_wrap(&err, "job %s", "b"), -1);
    CHECK_INT(err.code, ERR_NOT_FOUND);
    CHECK_STR(err.msg, "job b: open a: 7");
    err_set(&err, ERR_IO, "again: %s", err.msg);
    CHECK_STR(err.msg, "again: job b: open a: 7");

    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    err_set(&err, ERR_IO, "%s", longer);
    CHECK_INT(strlen(err.msg), sizeof err.msg - 1);
    err_wrap(&err, "context");
    CHECK_INT(strlen(err.msg), sizeof err.msg - 1);
    CHECK(strncmp(err.msg, "context: xxx", 12) == 0);
    CHECK_STR(err.msg + sizeof err.msg - 5, "x...");
}

/* Names of files and words of data are of any bytes; a message stays one printable line. */
static void test_one_line(void)
{
    struct err err = {0};

    err_set(&err, ERR_IO, "%s: bad", "a\nok\x1b[2J\xff\xc3\xa9");
    CHECK_STR(err.msg, "a\\x0aok\\x1b[2J\\xff\xc3\xa9: bad");
    err_wrap(&err, "folder %s", "\r\xc2\x9b");
    CHECK_STR(err.msg, "folder \\x0d\\xc2\\x9b: a\\x0aok\\x1b[2J\\xff\xc3\xa9: bad");
}

static void test_exit_codes(void)
{
    static const struct {
        enum err_code code;
        int exit;
    } cases[] = {
        {ERR_NONE, 0},     {ERR_INVALID, 2},   {ERR_NOT_FOUND, 3},
        {ERR_IO, 5},       {ERR_DIVERGED, 4},  {ERR_INTERRUPTED, 130},
        {ERR_CONFLICT, 1}, {ERR_TRANSIENT, 1}, {ERR_SILENT, 1},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_INT(err_exit_code(cases[i].code), cases[i].exit);
}

static void test_memory(void)
{
    static const size_t sizes[] = {0,      1,      63,     64,      65,
                                   100000, 100000, 100000, 4 << 20, (4 << 20) + 1};

    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        AUTO(auto_free) unsigned char *p = xaligned(sizes[i]);
        size_t set = 0;

        CHECK_INT((uintptr_t)p % 64, 0);
        for (size_t k = 0; k < sizes[i]; k++)
            set += p[k] != 0;
        CHECK_INT(set, 0);
        memset(p, 0xff, sizes[i]); /* so that reused memory is dirty */
    }

    AUTO(auto_free) char *a = xasprintf("%s-%d", "x", 3);
    AUTO(auto_free) char *b = STEAL(a);

    CHECK(a == NULL);
    CHECK_STR(b, "x-3");
}

int main(void)
{
    test_messages();
    test_one_line();
    test_exit_codes();
    test_memory();
    return test_result();
}
