/* paceline-agent: process 1 of a job's pods (serve), and mpirun's way into other pods (exec). */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "agent/agent.h"
#include "agent/exec.h"
#include "agent/finished_model.h"
#include "agent/install.h"
#include "agent/mpirun_wrapper.h"
#include "paceline/command_line.h"
#include "paceline/log.h"
#include "paceline/mem.h"
#include "paceline/version.h"

#define GRACE_SECONDS 30
#define KILL_SECONDS 5 /* of the grace period are left for killing and leaving */

struct serve_words {
    struct agent_options options;
    struct word_list program;
};

#define INTO(f) .offset = offsetof(struct serve_words, options.f)
static const struct option_row rows[] = {
    {"listen", OPTION_TEXT, INTO(listen), "ADDRESS:PORT", "where to listen (:7420)"},
    {"key", OPTION_TEXT, INTO(key), "FILE", "the job's key (/etc/paceline-key/key)"},
    {"state", OPTION_TEXT, INTO(state), "DIR", "the run folder (/dev/shm/paceline)"},
    {"output", OPTION_TEXT, INTO(output), "DIR", "where spec.output.volume is (/output)"},
    {"scratch", OPTION_TEXT, INTO(scratch), "DIR", "files of a run (/tmp/paceline)"},
    {"pod", OPTION_TEXT, INTO(pod), "NAME", "this pod (PACELINE_POD, else the host name)"},
    {"worker", OPTION_TEXT, INTO(worker), "PROGRAM",
     "the engine (paceline-worker beside this program)"},
    {"termination-log", OPTION_TEXT, INTO(termination_log), "FILE", "(/dev/termination-log)"},
};

static const struct command_line line = {
    .program = "paceline-agent serve",
    .rows = rows,
    .n_rows = ARRAY_LEN(rows),
    .operands = offsetof(struct serve_words, program),
    .max_operands = SIZE_MAX,
    .after_dashes = true,
    .before =
        "usage: paceline-agent serve [options] [-- PROGRAM ARGUMENT...]\n"
        "       paceline-agent exec HOST COMMAND...\n"
        "       paceline-agent mpirun ARGUMENT...\n"
        "       paceline-agent model [--state DIR] [--fetched]\n"
        "       paceline-agent install DIR\n"
        "Process 1 of the pods of a job with spec.model, or with spec.mpi, whose MPI program is "
        "then\nPROGRAM; exec and mpirun are for itself; model writes what was trained to "
        "standard output,\nor says that somebody has it; install puts an agent that runs in any "
        "image into DIR.\nOptions of serve:\n",
    .after = "PACELINE_GRACE_SECONDS (30): from SIGTERM to SIGKILL.\n"
             "PACELINE_KEEP_SECONDS (0): how long the model is kept after the training.\n"
             "PACELINE_RANKS (1): of PROGRAM in each pod.\n"
             "examples:\n"
             "  paceline-agent serve --state /tmp/run --listen 127.0.0.1:7420\n"
             "  paceline-agent install /paceline\n",
};

static void agent_main_print_usage(FILE *out)
{
    AUTO(buf_release) struct buf text;

    buf_init(&text, 0);
    command_line_help(&line, &text);
    fputs(text.data, out);
}

static int64_t agent_main_number_of(const char *name, long otherwise)
{
    const char *text = getenv(name);
    long number = text ? strtol(text, NULL, 10) : otherwise;

    return number < 0 ? 0 : number > INT_MAX ? INT_MAX : number;
}

/* The rest of the grace period when killing has to begin. */
static int64_t grace_ms(void)
{
    int64_t seconds = agent_main_number_of("PACELINE_GRACE_SECONDS", GRACE_SECONDS);

    return 1000 * (seconds > KILL_SECONDS ? seconds - KILL_SECONDS : 1);
}

/* The engine beside this program, or else the one in PATH. */
static void find_worker(char *path, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", path, size - 1);
    char *slash;

    path[n > 0 ? n : 0] = '\0';
    slash = strrchr(path, '/');
    if (slash)
        snprintf(slash + 1, size - (size_t)(slash + 1 - path), "paceline-worker");
    if (access(path, X_OK) < 0)
        snprintf(path, size, "paceline-worker");
}

static int agent_main_serve(int argc, char **argv)
{
    char host[HOST_NAME_MAX + 1] = "", worker[PATH_MAX], context[128];
    struct serve_words s = {0};
    struct agent_options *o = &s.options;
    struct err err;
    int code;

    *o = (struct agent_options){
        .listen = ":7420",
        .key = "/etc/paceline-key/key",
        .state = "/dev/shm/paceline",
        .scratch = "/tmp/paceline",
        .output = "/output",
        .termination_log = "/dev/termination-log",
        .pod = getenv("PACELINE_POD"),
        .worker = worker,
        .grace_ms = grace_ms(),
        .keep_ms = 1000 * agent_main_number_of("PACELINE_KEEP_SECONDS", 0),
        .ranks = (int)agent_main_number_of("PACELINE_RANKS", 1),
    };
    find_worker(worker, sizeof worker);
    gethostname(host, sizeof host - 1);
    if (!o->pod || !*o->pod)
        o->pod = host;
    if (command_line_parse(&line, &s, argc, argv, &code)) {
        o->program = (const char *const *)s.program.items;
        snprintf(context, sizeof context, "pod=%s", o->pod);
        log_init(LOG_INFO, context);
        code = agent_serve(o, &err);
        if (code < 0) {
            log_error("%s", err.msg);
            code = err_exit_code(err.code);
        }
    }
    word_list_release(&s.program);
    return code;
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";

    /* An image that is not ours may configure an OpenSSL that is not ours. */
    OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
    if (strcmp(word, "serve") == 0)
        return agent_main_serve(argc - 1, argv + 1);
    if (strcmp(word, "exec") == 0)
        return agent_exec(argc - 1, argv + 1);
    if (strcmp(word, "mpirun") == 0)
        return mpirun_wrapper(argv + 1);
    if (strcmp(word, "install") == 0)
        return agent_install(argc - 1, argv + 1);
    if (strcmp(word, "model") == 0)
        return agent_model(argc - 1, argv + 1);
    if (strcmp(word, "--version") == 0) {
        puts("paceline-agent " PACELINE_VERSION);
        return EXIT_OK;
    }
    agent_main_print_usage(strcmp(word, "--help") == 0 ? stdout : stderr);
    return strcmp(word, "--help") == 0 ? EXIT_OK : EXIT_INVALID;
}
