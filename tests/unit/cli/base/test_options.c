// LINK: common cli/base/options.c
#include "cli/base/options.h"

#include <stdarg.h>

#include "paceline/mem.h"
#include "tests/test.h"

static char problem[256];

/* A stand-in for cli.c, which knows every command. */
int cli_usage_error(const char *command, const char *fmt, ...)
{
    va_list args;

    (void)command;
    va_start(args, fmt);
    vsnprintf(problem, sizeof problem, fmt, args);
    va_end(args);
    return EXIT_INVALID;
}

#define ARGS_MAX 10

static const struct option_row rows[] = {
    SET_OPTION("override a field"), TEXT_OPTION("workers", workers, "N", "how many"),
    OPTION_SECTION("More:"),        COUNT_OPTION("steps", steps, "N", "how long,\nor how far"),
    OUT_OPTION("DIR", "where"),     FLAG_OPTION("resume", resume, "go on"),
    JSON_OPTION("as JSON"),
};

static bool parse_as(struct options *o, int *code, const char *const *args, size_t max,
                     const char *first)
{
    const struct command_line line = {COMMAND_OPTIONS(rows), COMMAND_OPERANDS(max, first),
                                      .before = "usage: paceline run JOB.yaml [options]\n"};
    static char *argv[ARGS_MAX];
    int argc = 0;

    argv[argc++] = "run";
    for (; *args; args++)
        argv[argc++] = (char *)*args;
    argv[argc] = NULL;
    problem[0] = '\0';
    return options_parse(o, argc, argv, &line, code);
}

static bool parse(struct options *o, int *code, const char *const *args)
{
    return parse_as(o, code, args, 1, "JOB.yaml");
}

/* Every row is in --help: an option cannot be left out of it. */
static void test_help(void)
{
    static const char want[] = "  --set PATH=VALUE  override a field\n"
                               "  --workers N       how many\n"
                               "More:\n"
                               "  --steps N         how long,\n"
                               "                    or how far\n"
                               "  -o, --out DIR     where\n"
                               "  --resume          go on\n"
                               "  --json            as JSON\n";
    const struct command_line line = {COMMAND_OPTIONS(rows)};
    AUTO(buf_release) struct buf text;

    buf_init(&text, 0);
    command_line_help(&line, &text);
    CHECK_STR(text.data, want);
}

static void test_good(void)
{
    AUTO(options_release) struct options o;
    int code = -1;

    CHECK(parse(&o, &code,
                (const char *const[]){"--set", "a=1", "job.yaml", "--set=b=2", "--steps=20",
                                      "--resume", "-o", "--odd", NULL}));
    CHECK_INT(code, EXIT_OK);
    CHECK_STR(o.operand, "job.yaml");
    CHECK_STR(o.out, "--odd");
    CHECK_INT(o.steps, 20);
    CHECK(o.resume && !o.json && !o.workers);
    options_set(&o, "threads=%d", 2);
    CHECK_INT(o.sets.n, 3);
    CHECK_STR(o.sets.items[0], "a=1");
    CHECK_STR(o.sets.items[1], "b=2");
    CHECK_STR(o.sets.items[2], "threads=2");
}

static void test_end_of_options(void)
{
    AUTO(options_release) struct options o;
    int code;

    CHECK(parse(&o, &code, (const char *const[]){"--json", "--", "--help", NULL}));
    CHECK_STR(o.operand, "--help");
}

/* Options may stand between the operands. */
static void test_operands(void)
{
    AUTO(options_release) struct options o, alone;
    const char *const args[] = {"a", "--steps", "3", "b", "--", "--c", NULL};
    int code;

    CHECK(parse_as(&o, &code, args, SIZE_MAX, "FILE"));
    CHECK_STR(o.operand, "a");
    CHECK_INT(o.operands.n, 3);
    CHECK_STR(o.operands.items[0], "a");
    CHECK_STR(o.operands.items[1], "b");
    CHECK_STR(o.operands.items[2], "--c");
    CHECK_INT(o.steps, 3);
    CHECK(!parse_as(&alone, &code, args, 1, "FILE"));
    CHECK_STR(problem, "one argument too many: b");
    CHECK_INT(code, EXIT_INVALID);
}

static void test_numbers_of_operands(void)
{
    static const struct {
        size_t max;
        const char *first, *args[3], *problem;
    } cases[] = {
        {1, NULL, {NULL}, ""},
        {1, NULL, {"a", NULL}, ""},
        {1, NULL, {"a", "b", NULL}, "one argument too many: b"},
        {0, NULL, {NULL}, ""},
        {0, NULL, {"a", NULL}, "one argument too many: a"},
        {SIZE_MAX, "JOB.yaml", {"a", "b", NULL}, ""},
        {SIZE_MAX, "JOB.yaml", {NULL}, "JOB.yaml is missing"},
        {1, NULL, {"--markdown", NULL}, "unknown option --markdown"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(options_release) struct options o;
        int code;

        CHECK_INT(parse_as(&o, &code, cases[i].args, cases[i].max, cases[i].first),
                  !*cases[i].problem);
        CHECK_STR(problem, cases[i].problem);
    }
}

static void test_refused(void)
{
    static const struct {
        const char *args[3], *problem;
    } cases[] = {
        {{NULL}, "JOB.yaml is missing"},
        {{"a", "b", NULL}, "one argument too many: b"},
        {{"--limit", "3", NULL},
         "unknown option --limit; did you mean --set dataset.limit=...?"}, /* of another command */
        {{"--", "a", NULL}, ""},
        {{"--se", "a=1", NULL}, "unknown option --se; did you mean --set?"},
        {{"-n", "a", NULL}, "unknown option -n"}, /* of another command */
        {{"-oa", NULL}, "unknown option -oa"},
        {{"-", NULL}, ""},
        {{"--resume=1", NULL}, "--resume takes no value"},
        {{"--out", NULL}, "--out needs a value"},
        {{"--steps=", NULL}, "--steps is \"\"; it takes a whole number from 1"},
        {{"--steps=-1", NULL}, "--steps is \"-1\"; it takes a whole number from 1"},
        {{"--steps=1e3", NULL}, "--steps is \"1e3\"; it takes a whole number from 1"},
        {{"--steps=99999999999999999999", NULL},
         "--steps is \"99999999999999999999\"; it takes a whole number from 1"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(options_release) struct options o;
        bool good = !*cases[i].problem;
        int code = -1;

        CHECK_INT(parse(&o, &code, cases[i].args), good);
        CHECK_INT(code, good ? EXIT_OK : EXIT_INVALID);
        CHECK_STR(problem, cases[i].problem);
    }
}

int main(void)
{
    test_good();
    test_help();
    test_end_of_options();
    test_operands();
    test_numbers_of_operands();
    test_refused();
    return test_result();
}
