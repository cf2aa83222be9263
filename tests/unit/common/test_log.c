// LINK: common/log.c common/text.c
/* Logs, and text from elsewhere in them. */
#include "paceline/log.h"

#include <unistd.h>

#include "paceline/text.h"
#include "tests/test.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

static void test_escape(void)
{
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"", ""},
        {"epoch 3, \\ and \"\"", "epoch 3, \\ and \"\""},
        {"na\303\257ve \342\202\254 \360\237\230\200",
         "na\303\257ve \342\202\254 \360\237\230\200"},
        {"\x1b]0;title\x07", "\\x1b]0;title\\x07"},
        {"a\nerror forged", "a\\x0aerror forged"},
        {"\r\t\x7f\x01", "\\x0d\\x09\\x7f\\x01"},
        {"C1 \302\233"
         "31m",
         "C1 \\xc2\\x9b"
         "31m"},
        {"\302\240", "\302\240"},                          /* the first character after C1 */
        {"\342\200\256txt.exe", "\\xe2\\x80\\xaetxt.exe"}, /* right to left */
        {"\342\200\250", "\\xe2\\x80\\xa8"},               /* a line separator */
        {"\342\201\246\342\201\251", "\\xe2\\x81\\xa6\\xe2\\x81\\xa9"},
        {"\342\200\220", "\342\200\220"}, /* a hyphen, next to them */
        {"\377\376", "\\xff\\xfe"},
        {"\300\233", "\\xc0\\x9b"}, /* longer than needed */
        {"\340\202\233", "\\xe0\\x82\\x9b"},
        {"\360\200\202\233", "\\xf0\\x80\\x82\\x9b"},
        {"\355\240\200", "\\xed\\xa0\\x80"},          /* a surrogate */
        {"\364\220\200\200", "\\xf4\\x90\\x80\\x80"}, /* beyond U+10FFFF */
        {"\342\202", "\\xe2\\x82"},                   /* cut */
        {"\342\202x", "\\xe2\\x82x"},
        {"\303\303\251", "\\xc3\303\251"},
    };
    char out[128];

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *printed = NULL;
        size_t n;
        FILE *stream = open_memstream(&printed, &n);

        text_escape(out, sizeof out, cases[i].text);
        CHECK_STR(out, cases[i].shown);
        text_print(stream, cases[i].text);
        fclose(stream);
        CHECK_STR(printed, cases[i].shown);
        free(printed);
    }
}

static void test_cut(void)
{
    char out[8];

    memset(out, 'x', sizeof out);
    text_escape(out, 6,
                "ab\x1b"
                "cd");
    CHECK_STR(out, "ab");
    text_escape(out, 7,
                "ab\x1b"
                "cd");
    CHECK_STR(out, "ab\\x1b");
    text_escape(out, 4, "a\342\202\254");
    CHECK_STR(out, "a");
    text_escape(out, 5, "a\342\202\254");
    CHECK_STR(out, "a\342\202\254");
    text_escape(out, 1, "a");
    CHECK_STR(out, "");
    CHECK_INT(out[7], 'x');
}

static void test_partial(void)
{
    CHECK_INT(text_is_partial("\342\202", 2), 1);
    CHECK_INT(text_is_partial("\342\202\254", 3), 0);
    CHECK_INT(text_is_partial("\342x", 2), 0);
    CHECK_INT(text_is_partial("\340\200", 2), 0); /* no third byte would make it one */
    CHECK_INT(text_is_partial("\377", 1), 0);
    CHECK_INT(text_is_partial("a", 1), 0);
    CHECK_INT(text_is_partial("", 0), 0);
}

/* The lines that log_at wrote to standard error. */
static const char *logged(const char *message)
{
    static char line[4096];
    FILE *file = tmpfile();
    int saved = dup(STDERR_FILENO);
    size_t n;

    fflush(stderr);
    dup2(fileno(file), STDERR_FILENO);
    log_warn("agent of pod %s: %s", "a-worker-0-0", message);
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    n = fread(line, 1, sizeof line - 1, file);
    line[n] = '\0';
    fclose(file);
    return line;
}

static void test_log(void)
{
    char flood[5000];
    const char *line;

    log_init(LOG_INFO, "job=a/b");
    line = logged("\x1b[2J\nerror 2026 forged\302\233 \377");
    CHECK_CONTAINS(line, "agent of pod a-worker-0-0: \\x1b[2J\\x0aerror 2026 forged\\xc2\\x9b "
                         "\\xff job=a/b\n");
    CHECK(strncmp(line, "warn ", 5) == 0);
    CHECK(strchr(line, '\n') == line + strlen(line) - 1);

    memset(flood, '\x1b', sizeof flood - 1);
    flood[sizeof flood - 1] = '\0';
    line = logged(flood);
    CHECK(strlen(line) < 2200);
    CHECK_CONTAINS(line, "\\x1b\\x1b job=a/b\n");
}

int main(void)
{
    test_escape();
    test_cut();
    test_partial();
    test_log();
    return test_result();
}
