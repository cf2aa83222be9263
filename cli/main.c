/* paceline: the dispatcher. */
#include <signal.h>

#include "cli/base/cli.h"
#include "cli/base/terminal.h"
#include "paceline/mem.h"
#include "paceline/nearest.h"
#include "paceline/version.h"

static const struct cli_command {
    const char *name, *arguments, *description;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"init", "DATA", "write a job for a folder of images or arrays", cmd_init},
    {"run", "JOB", "train, with progress, checkpoints and a report", cmd_run},
    {"validate", "JOB", "check a job; memory, promise and ceiling", cmd_validate},
    {"explain", "[FIELD]", "what a field of a job means and allows", cmd_explain},
    {"crd", "", "the CustomResourceDefinition of the TrainingJob", cmd_crd},
    {"models", "[NAME]", "the built-in networks and their layers", cmd_models},
    {"report", "DIR", "write the report of a run, even while it runs", cmd_report},
    {"evaluate", "CHECKPOINT", "run the test set through a checkpoint", cmd_evaluate},
    {"predict", "CHECKPOINT", "ask a checkpoint about images, arrays, texts", cmd_predict},
    {"speedup", "JOB", "throughput by number of workers", cmd_speedup},
    {"estimate", "", "speedup by workers, from two measured times", cmd_estimate},
    {"split", "JOB", "how ModelParallel would split the network", cmd_split},
    {"study", "[STUDY]", "a published study again: runs, tables, plots", cmd_study},
    {"get-model", "JOB", "fetch what a job on a cluster has trained", cmd_get_model},
    {"data", "list|fetch", "public data sets: which there are; get one", cmd_data},
    {"diff", "A B", "the first difference of two checkpoints", cmd_diff},
};

static void cli_print_usage(FILE *out)
{
    fputs("Paceline trains neural networks on clusters of ordinary CPUs.\n\n"
          "usage: paceline COMMAND [arguments]\n\n",
          out);
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        fprintf(out, "  %-9s %-11s %s\n", commands[i].name, commands[i].arguments,
                commands[i].description);
    fputs("\n`paceline COMMAND --help` lists its options, `paceline --version` says the version.\n"
          "examples:\n"
          "  paceline init photos -o job.yaml\n"
          "  paceline validate job.yaml\n"
          "  paceline run job.yaml --workers 2\n"
          "Exit codes: 0 done, 1 unexpected, 2 wrong usage or input, 3 data missing or damaged,\n"
          "4 training diverged, 5 disk full or other I/O, 130 interrupted.\n",
          out);
}

int main(int argc, char **argv)
{
    const char *names[ARRAY_LEN(commands)], *word = argc > 1 ? argv[1] : "", *near;

    terminal_guard();
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of write */
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        names[i] = commands[i].name;
        if (strcmp(word, names[i]) == 0)
            return commands[i].run(argc - 1, argv + 1);
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        cli_print_usage(stdout);
        return EXIT_OK;
    }
    if (strcmp(word, "--version") == 0) {
        puts("paceline " PACELINE_VERSION);
        return EXIT_OK;
    }
    if (argc < 2) {
        cli_print_usage(stderr);
        return EXIT_INVALID;
    }
    near = nearest(word, names, ARRAY_LEN(names));
    fprintf(stderr, "paceline: unknown command \"%s\"%s%s%s; `paceline --help` lists them\n", word,
            near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    return EXIT_INVALID;
}
