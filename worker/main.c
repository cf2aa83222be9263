/*
 * paceline-worker: the training engine. `paceline`, mpirun, srun or an agent starts it. Rank 0
 * prints events on standard output (docs/reference/events.md has them); logs go to standard error.
 * Exit codes: include/paceline/err.h.
 */
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "paceline/file.h"
#include "paceline/log.h"
#include "paceline/mem.h"
#include "paceline/version.h"
#include "worker/commands.h"
#include "worker/predict.h"
#include "worker/strategy/strategy.h"
#include "worker/train/data_check.h"
#include "worker/train/telemetry/events.h"

#define ROOT_ABORT_SECONDS 5

#define INTO(f) .offset = offsetof(struct worker_options, f)
static const struct option_row rows[] = {
    {"spec", OPTION_TEXT, INTO(spec)},
    {"out", OPTION_TEXT, INTO(out)},
    {"checkpoint", OPTION_TEXT, INTO(checkpoint)},
    {"limit", OPTION_COUNT, INTO(limit), .max = INT_MAX},
    {"top", OPTION_COUNT, INTO(top), .max = INT_MAX},
    {"batch", OPTION_COUNT, INTO(batch), .max = INT_MAX},
    {"steps", OPTION_COUNT, INTO(steps), .max = INT_MAX},
    {"layers", OPTION_FLAG, INTO(layers)},
    {"describe", OPTION_FLAG, INTO(describe)},
    {"durable", OPTION_TEXT, INTO(durable), "DIR",
     "rank 0 copies the checkpoints that the job asks for to this folder"},
    {"resume", OPTION_FLAG, INTO(resume),
     .help = "go on from the newest checkpoint, which must be there and whole"},
    {"resume-if-any", OPTION_FLAG, INTO(resume_if_any),
     .help = "the same where there is one; a damaged one is skipped"},
    {"mirror", OPTION_FLAG, INTO(mirror),
     .help = "a rank of another host writes every checkpoint too, into its DIR"},
    {"workers", OPTION_COUNT, INTO(workers), "N", "fail unless the world has N ranks",
     .max = INT_MAX},
    {"checkpoint-seconds", OPTION_COUNT, INTO(checkpoint_seconds), "N",
     "checkpoint.everySeconds for jobs that set none", .max = INT_MAX},
    {"step-timeout", OPTION_COUNT, INTO(step_timeout), "N",
     "a rank whose step takes longer ends the world (default 0: never)", .max = INT_MAX},
    {"time-transfer", OPTION_FLAG, INTO(time_transfer),
     .help = "time a transfer of the parameters before the first step"},
};

static int worker_options_check(const void *values, struct err *err)
{
    const struct worker_options *o = values;

    return o->spec ? 0 : err_set(err, ERR_INVALID, "--spec JOB is missing");
}

/* Of every command; predict has operands too. */
static const struct command_line any_command = {
    .program = "paceline-worker",
    .rows = rows,
    .n_rows = ARRAY_LEN(rows),
    .operands = offsetof(struct worker_options, inputs),
    .check = worker_options_check,
    .version = "paceline-worker " PACELINE_VERSION,
    .before =
        "usage: paceline-worker run --spec JOB --out DIR [options]\n"
        "       paceline-worker evaluate --spec JOB --checkpoint FILE\n"
        "       paceline-worker predict --spec JOB --checkpoint FILE [--limit N] [--top N] "
        "INPUT...\n"
        "       paceline-worker bench --spec JOB [--batch N] [--steps N] [--layers] [--describe]\n"
        "       paceline-worker calibrate --spec JOB [--steps N]\n"
        "One rank of the engine: `paceline` and mpirun start it. Rank 0 prints events, one JSON "
        "object\nper line. Options of run:\n",
    .after = "  --version, --help\n"
             "examples:\n"
             "  paceline-worker run --spec job.yaml --out runs/one\n"
             "  mpirun -np 2 paceline-worker run --spec job.yaml --out runs/two --resume-if-any\n",
};

static struct comm *world; /* for the abort hook only */

static void abort_world(int exit_code) { comm_abort(world, exit_code); }

/* Loading the data takes as long as starting MPI: both at once. */
struct loading {
    const struct job *job;
    struct datasets data;
    struct err err;
    int rc;
    bool reads; /* this rank does, for its host's others */
    pthread_t thread;
    bool threaded;
};

static void *load_main(void *arg)
{
    struct loading *l = arg;
    const char *run_id = getenv("PACELINE_RUN_ID");
    const char *rank = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
    const char *size = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    if (!run_id)
        run_id = getenv("PMIX_NAMESPACE");
    bool shared = run_id && rank && size;
    const int local_rank = shared ? (int)strtol(rank, NULL, 10) : 0;
    double start = trainer_seconds();
    l->reads = local_rank == 0;
    l->rc = datasets_load(&l->data, l->job, shared ? run_id : "", local_rank,
                          shared ? (int)strtol(size, NULL, 10) : 1, &l->err);
    l->data.read_seconds = trainer_seconds() - start;
    return NULL;
}

static void loading_start(struct loading *l, const struct job *job)
{
    l->job = job;
    l->threaded = pthread_create(&l->thread, NULL, load_main, l) == 0;
    if (!l->threaded)
        load_main(l);
}

static const struct worker_command {
    const char *name;
    worker_command_fn *run;
    bool predicts; /* without data: worker_predict */
} commands[] = {
    {"run", .run = worker_run},
    {"evaluate", .run = worker_evaluate},
    {"predict", .predicts = true},
    {"bench", .run = worker_bench},
    {"calibrate", .run = worker_calibrate},
};

static const struct worker_command *find_command(const char *name)
{
    for (size_t i = 0; name && i < ARRAY_LEN(commands); i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    return NULL;
}

static int refuse_command(const void *values, struct err *err)
{
    const struct worker_options *o = values;

    if (o->inputs.n == 0)
        return err_set(err, ERR_INVALID, "the command is missing");
    return err_set(err, ERR_INVALID, "unknown command \"%s\"", o->inputs.items[0]);
}

/* command: NULL when the first word is none. False when the program ends here. */
static bool parse_options(const struct worker_command *command, struct worker_options *o, int argc,
                          char **argv, int *exit_code)
{
    struct command_line line = any_command;

    if (!command || command->predicts)
        line.max_operands = SIZE_MAX;
    if (!command)
        line.check = refuse_command;
    else if (command->predicts)
        line.operand = "INPUT";
    return command_line_parse(&line, o, argc - !!command, argv + !!command, exit_code);
}

/* A launcher that MPI does not recognise starts worlds of one rank: trying again may help. */
static int check_size(struct comm *comm, long workers, struct err *err)
{
    char host[COMM_HOST_MAX];

    if (!workers || workers == comm_size(comm))
        return 0;
    comm_host(host);
    return err_set(err, ERR_TRANSIENT,
                   "rank %d on %s: the world has %d ranks, not the %ld of --workers",
                   comm_rank(comm), host, comm_size(comm), workers);
}

/* All ranks must compute alike: the same job, the same sum order. */
static int worker_check_world(struct comm *comm, const struct job *job,
                              const struct worker_options *o, struct err *err)
{
    struct buf json;
    uint32_t order = SUM_ORDER_VERSION;

    if (comm_verdict(comm, check_size(comm, o->workers, err), err) != 0)
        return -1;
    buf_init(&json, 0);
    job_to_json(job, &json);
    int rc = comm_agree(comm, "sum-order version", &order, sizeof order, err);
    if (rc == 0)
        rc = comm_agree(comm, "job", json.data, json.len, err);
    buf_release(&json);
    if (rc == 0)
        rc = strategy_check(job, comm_size(comm), err);
    return rc;
}

static int worker_work(const struct worker_command *command, const struct worker_options *o,
                       struct comm *comm, struct job *job, struct loading *loading, struct err *err)
{
    const char *why;
    const struct kernels *kernels = kernels_select(&why);
    if (!kernels)
        return err_set(err, ERR_INVALID, "%s", why);
    if (worker_check_world(comm, job, o, err) != 0)
        return -1;
    if (command->predicts)
        return comm_verdict(comm, worker_predict(job, comm, kernels, o, err), err);
    if (loading->threaded)
        pthread_join(loading->thread, NULL);
    loading->threaded = false;
    if (loading->rc != 0)
        *err = loading->err;
    if (comm_verdict(comm, loading->rc, err) != 0 ||
        data_check(comm, job, &loading->data, loading->reads, err) != 0)
        return -1;
    struct trainer *t = xcalloc(1, sizeof *t);
    const struct strategy *const strategies[] = {strategy_of(job, comm_size(comm)),
                                                 strategy_after(job)};
    int rc = trainer_init(t, job, comm, kernels, strategies, &loading->data, err);
    rc = comm_verdict(comm, rc, err);
    if (rc == 0)
        rc = command->run(t, o, err);
    if (rc != 0)
        return rc; /* to end all ranks: releasing is collective, and threads still read ahead */
    trainer_release(t);
    free(t);
    return 0;
}

/* Ends this rank, and with it the world. */
static void worker_say_cut_short(const char *sentence)
{
    if (comm_launched_rank() == 0)
        event_error(EXIT_DATA, sentence);
    else
        log_error("%s", sentence);
}

static void print_problems(const struct problems *problems)
{
    AUTO(auto_free)
    char *first = xasprintf("%s%s", problems->n ? problems->items[0] : "the job could not be read",
                            problems->n > 1 ? " (and more)" : "");
    for (size_t i = 1; i < problems->n; i++)
        log_error("%s", problems->items[i]);
    event_error(EXIT_INVALID, first);
}

int main(int argc, char **argv)
{
    struct worker_options o = {.limit = -1, .top = PREDICT_TOP};
    struct problems problems = {0};
    struct loading loading = {.rc = 0};
    struct err err = {0};
    const struct worker_command *command = find_command(argc > 1 ? argv[1] : NULL);
    int code;

    if (!parse_options(command, &o, argc, argv, &code)) {
        word_list_release(&o.inputs);
        return code;
    }
    usage_read("", o.idle);
    log_init(LOG_INFO, "");
    mem_abort_hook = abort_world;
    kernels_thread_init();
    file_map_guard(worker_say_cut_short);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error like a full disk */
    AUTO(auto_job) struct job *job = job_load(o.spec, NULL, 0, &problems);
    if (!job) {
        print_problems(&problems);
        problems_release(&problems);
        return EXIT_INVALID;
    }
    problems_release(&problems);
    worker_adjust_job(job, &o, argv[1]);
    if (!command->predicts)
        loading_start(&loading, job);
    bool tells = command->run == worker_run && comm_launched_rank() == 0;
    if (tells)
        event_stage("ranks");
    world = comm_init(&argc, &argv);
    if (tells)
        event_stage("data");
    int rc = worker_work(command, &o, world, job, &loading, &err);
    if (loading.threaded)
        pthread_join(loading.thread, NULL);
    datasets_release(&loading.data);
    if (rc != 0) {
        code = err_exit_code(err.code);
        if (comm_rank(world) == 0)
            event_error(code, err.msg);
        else
            sleep(ROOT_ABORT_SECONDS); /* rank 0 failed alike and ends all: one abort is enough */
        comm_abort(world, code);
    }
    comm_finalize(world);
    word_list_release(&o.inputs);
    return EXIT_OK;
}
