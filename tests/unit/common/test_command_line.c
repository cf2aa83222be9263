// LINK: common
#include "paceline/command_line.h"

#include <string.h>

#include "paceline/mem.h"
#include "tests/test.h"

enum paint { RED, GREEN, BLUE };

struct values {
    bool flag;
    const char *text, *name, *word;
    struct word_list list, operands;
    int64_t count, free_count, wait;
    double rate;
    enum paint color;
};

static const char *const colors[] = {"red", "green", "blue", NULL};
static const char *const one[] = {"none", NULL};

#define INTO(f) .offset = offsetof(struct values, f)
static const struct option_row rows[] = {
    {"flag", OPTION_FLAG, INTO(flag), .letter = 'f', .help = "a flag"},
    {"text", OPTION_TEXT, INTO(text), .letter = 't', .value = "FILE", .help = "a text"},
    {"set", OPTION_LIST, INTO(list)},
    {"count", OPTION_COUNT, INTO(count), .min = 2, .max = 10, .value = "N", .help = "a count"},
    {"free-count", OPTION_COUNT, INTO(free_count)},
    {"rate", OPTION_NUMBER, INTO(rate), .max = 100},
    {"wait", OPTION_DURATION, INTO(wait)},
    {"name", OPTION_NAME, INTO(name)},
    {"color", OPTION_CHOICE, INTO(color), .choices = colors},
    {"word", OPTION_TEXT, INTO(word), .choices = one},
};

static const char *field_like(const char *word) { return strcmp(word, "epochs") ? NULL : "e.x"; }

static int values_check(const void *values, struct err *err)
{
    const struct values *v = values;

    return v->count == 7 ? err_set(err, ERR_INVALID, "--count is unlucky") : 0;
}

static const struct command_line all = {
    .program = "program",
    .rows = rows,
    .n_rows = ARRAY_LEN(rows),
    .operands = offsetof(struct values, operands),
    .max_operands = 2,
    .before = "usage: program\n",
    .after = "examples:\n",
    .version = "program 1",
    .field_like = field_like,
    .check = values_check,
};

/* Parses words that are separated by single spaces. */
static int read_words(const struct command_line *line, struct values *v, const char *words,
                      struct buf *answer, struct err *err)
{
    static char text[512];
    char *argv[32] = {"program"};
    int argc = 1;

    *v = (struct values){.color = GREEN, .text = "default"};
    snprintf(text, sizeof text, "%s", words);
    for (char *at = text, *word; (word = strsep(&at, " ")) && *words;)
        argv[argc++] = word;
    argv[argc] = NULL;
    buf_init(answer, 0);
    *err = (struct err){0};
    return command_line_read(line, v, argc, argv, answer, err);
}

static void values_release(struct values *v)
{
    word_list_release(&v->list);
    word_list_release(&v->operands);
}

static void test_kinds(void)
{
    AUTO(values_release) struct values v;
    AUTO(buf_release) struct buf answer;
    struct err err;

    CHECK_INT(read_words(&all, &v,
                         "--flag --text=a=b --set a=1 --set= --count 2 --free-count 0 --rate 0.5 "
                         "--wait 1m30s --name=a.b-c --color",
                         &answer, &err),
              -1);
    CHECK_STR(err.msg, "--color needs a value");
    values_release(&v);
    buf_release(&answer);
    CHECK_INT(read_words(&all, &v,
                         "--flag --text=a=b --set a=1 --set= --count 2 --rate 0.5 --wait 1m30s "
                         "--name=a.b-c --color blue",
                         &answer, &err),
              0);
    CHECK(v.flag);
    CHECK_STR(v.text, "a=b");
    CHECK_INT(v.list.n, 2);
    CHECK_STR(v.list.items[0], "a=1");
    CHECK_STR(v.list.items[1], "");
    CHECK(!v.list.items[2]);
    CHECK_INT(v.count, 2);
    CHECK(v.rate == 0.5);
    CHECK_INT(v.wait, 90000);
    CHECK_STR(v.name, "a.b-c");
    CHECK_INT(v.color, BLUE);
    CHECK_INT(v.operands.n, 0);
}

static void test_defaults_and_order(void)
{
    AUTO(values_release) struct values v;
    AUTO(buf_release) struct buf answer;
    struct err err;

    CHECK_INT(read_words(&all, &v, "", &answer, &err), 0);
    CHECK_STR(v.text, "default");
    CHECK_INT(v.color, GREEN);
    CHECK(!v.flag);
    buf_release(&answer);
    /* The last of two counts, a value may look like an option, options may follow operands. */
    CHECK_INT(read_words(&all, &v,
                         "- --count 10 -t --flag --count 3 --free-count 9223372036854775807 "
                         "--word none -- --flag",
                         &answer, &err),
              0);
    CHECK_INT(v.count, 3);
    CHECK_STR(v.text, "--flag");
    CHECK(!v.flag);
    CHECK(v.free_count == INT64_MAX);
    CHECK_STR(v.word, "none");
    CHECK_INT(v.operands.n, 2);
    CHECK_STR(v.operands.items[0], "-");
    CHECK_STR(v.operands.items[1], "--flag");
}

static void test_mistakes(void)
{
    static const char whole[] = "; it takes a whole number from 2 to 10";
    static const char color[] = "; it takes red, green or blue", rate[] =
                                                                     "; it takes a number from "
                                                                     "0 to 100";
    static const char wait[] = "; it takes a time such as 15s, 500ms or 1m30s, up to 24h";
    static const char name[] = "; it takes a name of lower-case letters, digits and dashes";
    static const struct {
        const char *words, *said, *allowed;
    } cases[] = {
        {"--flag=1", "--flag takes no value", ""},
        {"-f=1", "--flag takes no value", ""},
        {"--text", "--text needs a value", ""},
        {"-t", "--text needs a value", ""},
        {"--text=", "--text is empty", ""},
        {"--txt a", "unknown option --txt; did you mean --text?", ""},
        {"--tex=a", "unknown option --tex; did you mean --text?", ""}, /* no abbreviation */
        {"-text", "unknown option -text; did you mean --text?", ""},
        {"-ta", "unknown option -ta", ""},
        {"-x", "unknown option -x", ""},
        {"---", "unknown option ---", ""},
        {"--=a", "unknown option --", ""},
        {"--frobnicate", "unknown option --frobnicate", ""},
        {"--epochs=3", "unknown option --epochs; did you mean --set e.x=...?", ""},
        {"--count 1", "--count is \"1\"", whole},
        {"--count 11", "--count is \"11\"", whole},
        {"--count -3", "--count is \"-3\"", whole},
        {"--count +3", "--count is \"+3\"", whole},
        {"--count=", "--count is \"\"", whole},
        {"--count 3x", "--count is \"3x\"", whole},
        {"--count 3.0", "--count is \"3.0\"", whole},
        {"--count 7", "--count is unlucky", ""},
        {"--free-count -1", "--free-count is \"-1\"; it takes a whole number from 0", ""},
        {"--free-count 9223372036854775808",
         "--free-count is \"9223372036854775808\"; it takes a whole number from 0", ""},
        {"--rate=", "--rate is \"\"", rate},
        {"--rate nan", "--rate is \"nan\"", rate},
        {"--rate -1", "--rate is \"-1\"", rate},
        {"--rate 100.1", "--rate is \"100.1\"", rate},
        {"--rate 1x", "--rate is \"1x\"", rate},
        {"--wait=", "--wait is \"\"", wait},
        {"--wait 15", "--wait is \"15\"", wait},
        {"--wait 0s", "--wait is \"0s\"", wait},
        {"--wait 1s1m", "--wait is \"1s1m\"", wait},
        {"--wait 1s1s", "--wait is \"1s1s\"", wait},
        {"--wait 24h1ms", "--wait is \"24h1ms\"", wait},
        {"--wait 1sm", "--wait is \"1sm\"", wait},
        {"--wait 18446744073709552s", "--wait is \"18446744073709552s\"", wait},
        {"--name=", "--name is \"\"", name},
        {"--name A", "--name is \"A\"", name},
        {"--name -a", "--name is \"-a\"", name},
        {"--name a.", "--name is \"a.\"", name},
        {"--name a/b", "--name is \"a/b\"", name},
        {"--color pink", "--color is \"pink\"", color},
        {"--color=", "--color is \"\"", color},
        {"--word all", "--word is \"all\"; it takes none", ""},
        {"a b c", "one argument too many: c", ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(values_release) struct values v;
        AUTO(buf_release) struct buf answer;
        AUTO(auto_free) char *want = xasprintf("%s%s", cases[i].said, cases[i].allowed);
        struct err err;

        CHECK_INT(read_words(&all, &v, cases[i].words, &answer, &err), -1);
        CHECK_STR(err.msg, want);
        CHECK_INT(err.code, ERR_INVALID);
        CHECK_INT(answer.len, 0);
    }
}

/* A command with an operand that must be there. */
static void test_command(void)
{
    static const struct {
        const char *words, *problem;
    } cases[] = {
        {"a", NULL},
        {"a --count 3", NULL},
        {"", "JOB is missing"},
        {"a b", "one argument too many: b"},
        {"a --flag", "unknown option --flag"},
        {"a -f", "unknown option -f"},
        {"a --coun 3", "unknown option --coun; did you mean --count?"},
        {"a --epochs 3", "unknown option --epochs"}, /* without --set there is no field to set */
        {"a --version", "unknown option --version"},
    };
    const struct option_row few[] = {{.help = "numbers:"}, rows[3], rows[8]};
    struct command_line line = all;

    line.rows = few;
    line.n_rows = ARRAY_LEN(few);
    line.max_operands = 1;
    line.operand = "JOB [options]";
    line.version = NULL;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(values_release) struct values v;
        AUTO(buf_release) struct buf answer;
        struct err err;

        CHECK_INT(read_words(&line, &v, cases[i].words, &answer, &err), cases[i].problem ? -1 : 0);
        CHECK_STR(err.msg, cases[i].problem ? cases[i].problem : "");
    }
}

static void test_operands_after_dashes(void)
{
    static const struct {
        const char *words, *problem;
    } cases[] = {
        {"--count 3", NULL},
        {"--count 3 -- --count x", NULL},
        {"a -- b", "one argument too many: a"},
        {"--count 3 --", "nothing follows --"},
    };
    struct command_line line = all;

    line.after_dashes = true;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(values_release) struct values v;
        AUTO(buf_release) struct buf answer;
        struct err err;

        CHECK_INT(read_words(&line, &v, cases[i].words, &answer, &err), cases[i].problem ? -1 : 0);
        CHECK_STR(err.msg, cases[i].problem ? cases[i].problem : "");
        if (i == 1)
            CHECK_INT(v.operands.n, 2);
    }
    line.after_dashes = false;
    line.max_operands = 0;
    {
        AUTO(values_release) struct values v;
        AUTO(buf_release) struct buf answer;
        struct err err;

        CHECK_INT(read_words(&line, &v, "-- a", &answer, &err), -1);
        CHECK_STR(err.msg, "one argument too many: a");
        buf_release(&answer);
        CHECK_INT(read_words(&line, &v, "--flag --", &answer, &err), 0);
    }
}

static void test_answers(void)
{
    static const struct {
        const char *words, *answer;
    } cases[] = {
        {"--version", "program 1\n"},
        {"a --count 3 --help --frobnicate", NULL},
        {"-h", NULL},
    };
    static const char help[] = "usage: program\n"
                               "  -f, --flag       a flag\n"
                               "  -t, --text FILE  a text\n"
                               "  --count N        a count\n"
                               "examples:\n";

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(values_release) struct values v;
        AUTO(buf_release) struct buf answer;
        struct err err;

        CHECK_INT(read_words(&all, &v, cases[i].words, &answer, &err), 1);
        CHECK_STR(answer.data, cases[i].answer ? cases[i].answer : help);
    }
}

int main(void)
{
    test_kinds();
    test_defaults_and_order();
    test_mistakes();
    test_command();
    test_operands_after_dashes();
    test_answers();
    return test_result();
}
