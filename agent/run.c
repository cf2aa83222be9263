#include "agent/run.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "agent/exec.h"
#include "agent/mpi_folder.h"
#include "agent/mpi_pod.h"
#include "agent/mpirun.h"
#include "paceline/clock.h"
#include "paceline/file.h"
#include "paceline/log.h"
#include "paceline/losses.h"
#include "paceline/mem.h"
#include "paceline/subreaper.h"
#include "wire/frame.h"

#define READ_MAX 16384
#define NUMBER_SIZE 24
#define LAST_WORDS_MS 2000 /* of mpirun, when a pod is lost */
/* In memory a checkpoint costs little; a step that takes minutes is a rank that hangs. */
#define CHECKPOINT_SECONDS "5"
#define STEP_TIMEOUT "300"

struct engine_stream {
    int fd; /* -1: ended */
    line_fn *fn;
    struct lines lines;
};

struct engine_run {
    const struct run_config *config;
    struct world world;
    struct engine_report report;
    char *folder;
    pid_t pid; /* 0: not there, or gone */
    struct engine_stream out, log;
    int64_t deadline_ms; /* then it is killed; 0: never */
    const char *overdue; /* why */
    int64_t now_ms;
    struct lingering linger; /* of mpirun */
};

static const char *run_plural(long long n) { return n == 1 ? "" : "s"; }

/* The metrics that it has: of training, then of the test set what the run is judged by. */
static void print_epoch(const struct engine_run *r, const cJSON *e)
{
    static const enum metric judges[] = {METRIC_ACCURACY, METRIC_PERPLEXITY, METRIC_R2, METRIC_F1};

    printf("epoch %lld: step %lld", (long long)event_integer(e, "epoch"), r->report.step);
    for (int m = 0; m < N_METRICS; m++)
        if (!isnan(event_number(e, metric_defs[m].name)))
            printf(", %s %.4f", metric_defs[m].name, event_number(e, metric_defs[m].name));
    for (size_t i = 0; i < ARRAY_LEN(judges); i++) {
        const double test = event_number(e, metric_key("test", judges[i]).s);

        if (!isnan(test))
            printf(", test %s %.4f", metric_defs[judges[i]].name, test);
    }
    putchar('\n');
}

/* One line per epoch for who looks at the pod's log, and what asynchronous servers did. */
static void run_say(const struct engine_run *r, enum event_type type, const cJSON *e)
{
    long long workers = event_integer(e, "workers"), servers = event_integer(e, "servers");
    long long pushed = event_integer(e, "pushed");

    if (type == EVENT_START) {
        printf("generation %lld: training %s on %lld worker%s", r->world.generation,
               event_text(e, "model"), workers, run_plural(workers));
        if (servers > 0)
            printf(" and %lld server%s", servers, run_plural(servers));
        printf(" from step %lld\n", r->report.step);
    } else if (type == EVENT_EPOCH) {
        print_epoch(r, e);
    } else if (type == EVENT_SWITCH) {
        printf("switched strategy after epoch %lld (%s)%s\n", (long long)event_integer(e, "epoch"),
               event_text(e, "reason"),
               event_true(e, "relaunch") ? "; the engine is launched again" : "");
    } else if (type == EVENT_DONE && pushed >= 0) {
        printf("done: %lld gradients pushed, %lld applied\n", pushed,
               (long long)event_integer(e, "applied"));
    }
    fflush(stdout);
}

static void run_take_line(void *arg, const char *line, size_t len)
{
    struct engine_run *r = arg;
    enum event_type type;
    AUTO(auto_json) cJSON *event = event_parse(line, len, &type);
    bool changed;

    if (!event) {
        log_warn("the engine printed a line that is no event: \"%.80s\"", line);
        return;
    }
    changed = report_event(&r->report, type, event);
    run_say(r, type, event);
    r->config->on_event(r->config->arg, event);
    if (changed)
        r->config->on_change(r->config->arg);
}

/* The earliest one counts. */
static void set_deadline(struct engine_run *r, int64_t ms, const char *why)
{
    if (r->deadline_ms && r->deadline_ms <= ms)
        return;
    r->deadline_ms = ms;
    r->overdue = why;
}

/* A pod that is lost ends the world. mpirun knows it too, but may wait for its other daemons, and
 * where it is this pod that was cut off they never answer. */
static void run_take_log(void *arg, const char *line, size_t len)
{
    struct engine_run *r = arg;

    if (report_log(&r->report, line))
        set_deadline(r, r->now_ms + LAST_WORDS_MS, r->report.complaint);
    fprintf(stderr, "%.*s\n", (int)len, line);
}

/* Whether something was read. A log may have lines of any length. */
static bool run_take_output(struct engine_run *r, struct engine_stream *s)
{
    char bytes[READ_MAX];
    ssize_t n = s->fd < 0 ? 0 : read(s->fd, bytes, sizeof bytes);
    struct err err;

    if (s == &r->log && n > 0 && s->lines.len + (size_t)n > EVENT_LINE_MAX)
        lines_end(&s->lines, s->fn, r);
    if (n > 0 && lines_add(&s->lines, bytes, (size_t)n, s->fn, r, &err) == 0)
        return true;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n > 0)
        run_kill(r, "the engine printed a line without an end");
    auto_close(&s->fd);
    s->fd = -1;
    return false;
}

/* Everything is gone, so what the pipes hold is all. */
static void run_on_end(void *arg, int code)
{
    struct engine_run *r = arg;

    r->pid = 0;
    while (run_take_output(r, &r->out) || run_take_output(r, &r->log))
        continue;
    lines_end(&r->out.lines, r->out.fn, r);
    lines_end(&r->log.lines, r->log.fn, r);
    report_end(&r->report, code);
    mpi_folder_remove(r->folder);
    r->config->on_change(r->config->arg);
}

/* The worker's command line, the same for every rank. */
struct engine_argv {
    const char *argv[20];
    char workers[NUMBER_SIZE];
    char *spec;
    char *durable; /* where the job's own checkpoints go, too; or NULL */
};

/* The arguments with which a run is started. */
struct engine_launch {
    const char *const *argv;
    struct env env;
    struct engine_argv engine;
    struct mpirun_command mpirun;
    struct mpi_pod pod;
    char *hostfile;
};

static void launch_release(struct engine_launch *l)
{
    env_release(&l->env);
    free(l->engine.spec);
    free(l->engine.durable);
    mpirun_command_release(&l->mpirun);
    free(l->hostfile);
}

/* The job's folder of its volume; NULL: it has none, or this pod has not. */
static char *durable_folder(const struct engine_run *r)
{
    const cJSON *spec = cJSON_GetObjectItemCaseSensitive(r->world.job, "spec");
    const cJSON *output = cJSON_GetObjectItemCaseSensitive(spec, "output");
    const cJSON *metadata = cJSON_GetObjectItemCaseSensitive(r->world.job, "metadata");

    if (!cJSON_GetObjectItemCaseSensitive(output, "volume"))
        return NULL;
    if (access(r->config->output, F_OK) == 0)
        return xasprintf("%s/%s", r->config->output, message_text(metadata, "name"));
    log_warn("this pod has no %s: the job's volume is not used", r->config->output);
    return NULL;
}

static void make_engine(struct engine_argv *e, const struct engine_run *r)
{
    const char *const words[] = {
        r->config->worker,
        "run",
        "--spec",
        e->spec = xasprintf("%s/job.yaml", r->folder),
        "--out",
        r->config->state,
        "--workers",
        e->workers,
        "--mirror",
        "--resume-if-any",
        "--checkpoint-seconds",
        CHECKPOINT_SECONDS,
        "--step-timeout",
        STEP_TIMEOUT,
        "--time-transfer",
        "--durable",
        e->durable = durable_folder(r),
        NULL,
    };
    const size_t n = ARRAY_LEN(words);

    snprintf(e->workers, sizeof e->workers, "%zu", r->world.n_hosts);
    memcpy(e->argv, words, sizeof words);
    if (!e->durable)
        e->argv[n - 3] = NULL;
}

/* mpirun with so many ranks per host; another program's has our wrapper. */
static int make_mpirun(struct engine_launch *l, const struct engine_run *r,
                       const char *const *program, int ranks, struct err *err)
{
    bool foreign = r->config->program != NULL;
    AUTO(buf_release) struct buf text;

    buf_init(&text, 0);
    mpirun_hostfile(&r->world, ranks, &text);
    l->hostfile = xasprintf("%s/hosts", r->folder);
    if (mpirun_check(&r->world, err) < 0 ||
        mpi_pod_init(&l->pod, r->world.hosts[0].address, r->folder, foreign, err) < 0 ||
        file_write_atomic(l->hostfile, text.data, text.len, err) < 0 ||
        exec_write_context(r->folder, &r->world, r->config->port, r->config->key, err) < 0)
        return -1;
    mpirun_environment(&l->env, &l->pod.names, environ);
    mpirun_command(&l->mpirun, foreign ? l->pod.agent : NULL, l->hostfile,
                   r->world.n_hosts * (size_t)ranks, program);
    l->argv = l->mpirun.argv;
    return 0;
}

static void run_make_environment(const struct engine_run *r, struct env *env)
{
    AUTO(auto_free) char *stop = xasprintf("%s/stop", r->folder);

    env_init(env, environ);
    env_set_mpi(env, 1, 0);
    env_set(env, "PACELINE_STOP_FILE", stop, true);
}

static void mark_environment(const struct engine_run *r, struct env *env)
{
    AUTO(auto_free) char *id = xasprintf("%lld-%d", r->world.generation, (int)getpid());
    AUTO(auto_free) char *run_launch = xasprintf("%lld", (long long)clock_realtime_ns());

    env_set(env, "PACELINE_RUN_ID", id, true);
    env_set(env, "PACELINE_START_NS", run_launch, true);
}

static int run_spawn(struct engine_run *r, const char *const *argv, const struct env *env,
                     struct err *err)
{
    AUTO(auto_close) int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    AUTO(spawn_close_pipe) int out[2] = {-1, -1};
    AUTO(spawn_close_pipe) int log[2] = {-1, -1};
    struct spawn process = {.argv = argv, .environment = env->items, .death_signal = SIGKILL};
    bool foreign = r->config->program != NULL;

    if (null < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(log, O_CLOEXEC) < 0)
        return err_set(err, ERR_IO, "cannot open a pipe to the engine: %s", strerror(errno));
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    fcntl(log[0], F_SETFL, O_NONBLOCK);
    memcpy(process.fds, (const int[]){null, foreign ? STDOUT_FILENO : out[1], log[1]},
           sizeof process.fds);
    r->pid = supervisor_start(r->config->supervisor, &process, run_on_end, r, err);
    if (r->pid < 0) {
        r->pid = 0;
        return -1;
    }
    r->out.fd = out[0];
    r->log.fd = log[0];
    out[0] = log[0] = -1;
    return 0;
}

static int make_launch(struct engine_launch *l, const struct engine_run *r, struct err *err)
{
    if (r->config->program)
        return make_mpirun(l, r, r->config->program, r->config->ranks, err);
    make_engine(&l->engine, r);
    if (r->world.n_hosts > 1)
        return make_mpirun(l, r, l->engine.argv, 1, err);
    l->argv = l->engine.argv;
    run_make_environment(r, &l->env);
    return 0;
}

static int run_launch(struct engine_run *r, struct err *err)
{
    AUTO(launch_release) struct engine_launch launch = {0};

    if (mpi_folder_make(&r->folder, r->config->scratch, r->world.generation, r->world.job, err) <
            0 ||
        make_launch(&launch, r, err) < 0)
        return -1;
    mark_environment(r, &launch.env);
    return run_spawn(r, launch.argv, &launch.env, err);
}

struct engine_run *run_start(const struct run_config *config, struct world *world)
{
    struct engine_run *r = xcalloc(1, sizeof *r);
    struct err err;

    r->config = config;
    r->world = *world;
    *world = (struct world){0};
    r->out = (struct engine_stream){.fd = -1, .fn = run_take_line};
    r->log = (struct engine_stream){.fd = -1, .fn = run_take_log};
    report_init(&r->report, &r->world, config->program != NULL);
    if (run_launch(r, &err) < 0) {
        report_fail(&r->report, EXIT_UNEXPECTED, err.msg);
        if (r->folder)
            mpi_folder_remove(r->folder);
    }
    return r;
}

void run_free(struct engine_run *r)
{
    if (!r)
        return;
    auto_close(&r->out.fd);
    auto_close(&r->log.fd);
    if (r->folder)
        mpi_folder_remove(r->folder);
    free(r->folder);
    report_release(&r->report);
    world_release(&r->world);
    free(r);
}

const struct engine_report *run_report(const struct engine_run *r) { return &r->report; }
const struct world *run_world(const struct engine_run *r) { return &r->world; }

/* Rank 0 of the engine sees the file. */
static void ask_engine(struct engine_run *r)
{
    AUTO(auto_free) char *path = xasprintf("%s/stop", r->folder);
    AUTO(auto_close) int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    if (fd >= 0)
        return;
    log_error("cannot create %s: %s", path, strerror(errno));
    run_kill(r, "the engine could not be asked to stop");
}

void run_stop(struct engine_run *r, int64_t now_ms)
{
    if (!r->pid || !report_stop(&r->report))
        return;
    set_deadline(r, now_ms + r->config->grace_ms, "it did not stop within its grace period");
    if (r->config->program)
        supervisor_kill(r->config->supervisor, r->pid, SIGUSR1);
    else
        ask_engine(r);
    r->config->on_change(r->config->arg);
}

void run_kill(struct engine_run *r, const char *why)
{
    if (!r->pid || r->report.killed)
        return;
    r->report.killed = why;
    supervisor_kill(r->config->supervisor, r->pid, SIGKILL);
}

void run_wait(const struct engine_run *r, struct pollset *w)
{
    pollset_add(w, r->out.fd, POLLIN);
    pollset_add(w, r->log.fd, POLLIN);
    if (!r->pid || r->report.killed)
        return;
    pollset_until(w, r->now_ms + LINGER_LOOK_MS);
    if (r->deadline_ms)
        pollset_until(w, r->deadline_ms);
}

void run_step(struct engine_run *r, const struct pollset *w, int64_t now_ms)
{
    struct engine_stream *const streams[] = {&r->out, &r->log};

    r->now_ms = now_ms;
    for (size_t i = 0; i < ARRAY_LEN(streams); i++)
        if (pollset_came(w, streams[i]->fd))
            run_take_output(r, streams[i]);
    if (r->deadline_ms && now_ms >= r->deadline_ms)
        run_kill(r, r->overdue);
    if (r->pid && subreaper_linger(&r->linger, r->pid, now_ms))
        run_kill(r, "every rank has ended, but mpirun had not");
}
