#include "cli/base/cli.h"

#include <math.h>
#include <stdarg.h>
#include <unistd.h>

#include "paceline/json.h"
#include "paceline/mem.h"
#include "paceline/yaml.h"

static struct job *read_stdin(const struct word_list *sets, struct problems *problems,
                              int *exit_code)
{
    AUTO(buf_release) struct buf text;
    struct job *job;
    char part[4096];
    size_t n;

    buf_init(&text, YAML_MAX_BYTES + 1);
    while ((n = fread(part, 1, sizeof part, stdin)))
        buf_add(&text, part, n);
    job = job_parse(text.data, text.len, "standard input", sets->items, sets->n, problems);
    *exit_code = job ? EXIT_OK : EXIT_INVALID;
    return job;
}

struct job *cli_read_job(const char *path, const struct word_list *sets, struct problems *problems,
                         int *exit_code)
{
    struct job *job;

    if (strcmp(path, "-") == 0)
        job = read_stdin(sets, problems, exit_code);
    else
        job = job_load(path, sets->items, sets->n, problems);
    if (job)
        job_make_absolute(job);
    if (strcmp(path, "-") != 0)
        *exit_code = job ? EXIT_OK : access(path, R_OK) ? EXIT_DATA : EXIT_INVALID;
    return job;
}

struct job *cli_load_job(const char *path, const struct word_list *sets, int *exit_code)
{
    AUTO(problems_release) struct problems problems = {0};
    struct job *job = cli_read_job(path, sets, &problems, exit_code);

    for (size_t i = 0; i < problems.n; i++)
        fprintf(stderr, "%s\n", problems.items[i]);
    if (job && !job_builtin(job)) {
        fprintf(stderr,
                "%s: spec.model: found nothing; needed: a network, for only a cluster runs jobs of "
                "any image\n",
                path);
        *exit_code = EXIT_INVALID;
        job_free(STEAL(job));
    }
    return job;
}

void cli_print_json(const cJSON *value)
{
    AUTO(buf_release) struct buf text;

    buf_init(&text, 0);
    json_print(value, 2, &text);
    puts(text.data);
}

bool cli_parse_seconds(double *out, const char *command, const char *option, const char *value)
{
    char *end = NULL;

    *out = value ? strtod(value, &end) : 0;
    if (value && end != value && *end == '\0' && isfinite(*out) && *out > 0 && *out < 1e9)
        return true;
    if (value)
        cli_usage_error(command, "--%s is \"%s\"; it takes seconds, more than 0", option, value);
    else
        cli_usage_error(command, "--%s is missing; it takes seconds", option);
    return false;
}

int cli_usage_error(const char *command, const char *fmt, ...)
{
    va_list args;

    fprintf(stderr, "paceline %s: ", command);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fprintf(stderr, "; `paceline %s --help` says more\n", command);
    return EXIT_INVALID;
}
