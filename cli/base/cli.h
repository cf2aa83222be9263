/*
 * The `paceline` commands. Each takes its own argv (argv[0] is the command's name), prints its
 * result to stdout and its problems to stderr, and returns an exit code of err.h.
 */
#ifndef PACELINE_CLI_H
#define PACELINE_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "paceline/command_line.h"
#include "paceline/spec.h"

int cmd_init(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_validate(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_crd(int argc, char **argv);
int cmd_models(int argc, char **argv);
int cmd_evaluate(int argc, char **argv);
int cmd_predict(int argc, char **argv);
int cmd_speedup(int argc, char **argv);
int cmd_estimate(int argc, char **argv);
int cmd_split(int argc, char **argv);
int cmd_study(int argc, char **argv);
int cmd_get_model(int argc, char **argv);
int cmd_data(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_report(int argc, char **argv);

/*
 * Loads path (- is standard input) with the overrides; on failure lists every problem, returns NULL
 * and says why in *exit_code. The caller owns the job (job_free) and the problems.
 */
struct job *cli_read_job(const char *path, const struct word_list *sets, struct problems *problems,
                         int *exit_code);

/*
 * Loads a job that one machine can run, with the overrides. Prints every problem to stderr and
 * returns NULL when there are any, or when the job is one of any image, with the exit code in
 * *exit_code: EXIT_DATA when the file cannot be read, else EXIT_INVALID. The caller owns the job
 * (job_free).
 */
struct job *cli_load_job(const char *path, const struct word_list *sets, int *exit_code);

/*
 * The samples' shape from the data's headers; as published for a named set that is not here, with a
 * note. n: how many samples there are to train with, and to test with.
 */
MUST_CHECK int cli_data_shape(const struct job *job, struct shape *shape, uint32_t n[2],
                              struct problems *notes, struct err *err);

/* Prints the value to stdout, indented. */
void cli_print_json(const cJSON *value);

/* Prints "paceline COMMAND: message" and the hint to use --help; returns EXIT_INVALID. */
int cli_usage_error(const char *command, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* A number of seconds above 0; false after the problem was printed. value may be NULL: missing. */
bool cli_parse_seconds(double *out, const char *command, const char *option, const char *value);

#endif
