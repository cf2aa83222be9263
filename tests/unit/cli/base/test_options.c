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

#define ALLOWED "set workers steps out resume json"
#define ARGS_MAX 10

static bool parse_allowed(struct options *o, int *code, const char *const *args,
                          const char *allowed)
{
    static char *argv[ARGS_MAX];
    int argc = 0;

    argv[argc++] = "run";
    for (; *args; args++)
        argv[argc++] = (char *)*args;
    argv[argc] = NULL;
    problem[0] = '\0';
    return options_parse(o, argc, argv, allowed, "usage: paceline run JOB.yaml [options]\n", code);
}

static bool parse(struct options *o, int *code, const char *const *args)
{
    return parse_allowed(o, code, args, ALLOWED);
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

    CHECK(parse_allowed(&o, &code, args, "operands steps"));
    CHECK_STR(o.operand, "a");
    CHECK_INT(o.operands.n, 3);
    CHECK_STR(o.operands.items[0], "a");
    CHECK_STR(o.operands.items[1], "b");
    CHECK_STR(o.operands.items[2], "--c");
    CHECK_INT(o.steps, 3);
    CHECK(!parse_allowed(&alone, &code, args, "steps"));
    CHECK_STR(problem, "one argument too many: b");
    CHECK_INT(code, EXIT_INVALID);
}

static void test_numbers_of_operands(void)
{
    static const struct {
        const char *allowed, *args[3], *problem;
    } cases[] = {
        {"maybe-operand json", {NULL}, ""},
        {"maybe-operand json", {"a", NULL}, ""},
        {"maybe-operand json", {"a", "b", NULL}, "one argument too many: b"},
        {"no-operand json", {NULL}, ""},
        {"no-operand json", {"a", NULL}, "one argument too many: a"},
        {"operands", {"a", "b", NULL}, ""},
        {"operands", {NULL}, "JOB.yaml is missing"},
        {"json", {"--markdown", NULL}, "unknown option --markdown"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(options_release) struct options o;
        int code;

        CHECK_INT(parse_allowed(&o, &code, cases[i].args, cases[i].allowed), !*cases[i].problem);
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
    test_end_of_options();
    test_operands();
    test_numbers_of_operands();
    test_refused();
    return test_result();
}
