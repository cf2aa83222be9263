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
#include "paceline/log.h"
#include "paceline/mem.h"

#define READ_MAX 16384
#define NUMBER_SIZE 24
/* In memory a checkpoint costs little; a step that takes minutes is a rank that hangs. */
#define CHECKPOINT_SECONDS "5"
#define STEP_TIMEOUT "300"

struct stream {
    int fd; /* -1: ended */
    line_fn *fn;
    struct lines lines;
};

struct run {
    const struct run_config *config;
    struct world world;
    struct report report;
    char *folder;
    pid_t pid; /* 0: not there, or gone */
    struct stream out, log;
    int64_t deadline_ms; /* of stopping; 0: none */
};

/* One line per epoch for who looks at the pod's log. */
static void say(const struct run *r, enum event_type type, const cJSON *e)
{
    double test = event_number(e, "testAccuracy");

    if (type == EVENT_START) {
        printf("generation %lld: training %s on %zu workers from step %lld\n", r->world.generation,
               event_text(e, "model"), r->world.n_hosts, r->report.step);
    } else if (type == EVENT_EPOCH) {
        printf("epoch %lld: step %lld, loss %.4f, accuracy %.4f",
               (long long)event_integer(e, "epoch"), r->report.step, event_number(e, "loss"),
               event_number(e, "accuracy"));
        if (!isnan(test))
            printf(", test accuracy %.4f", test);
        putchar('\n');
    }
    fflush(stdout);
}

static void take_line(void *arg, const char *line, size_t len)
{
    struct run *r = arg;
    enum event_type type;
    AUTO(auto_json) cJSON *event = event_parse(line, len, &type);
    bool changed;

    if (!event) {
        log_warn("the engine printed a line that is no event: \"%.80s\"", line);
        return;
    }
    changed = report_event(&r->report, type, event);
    say(r, type, event);
    r->config->on_event(r->config->arg, event);
    if (changed)
        r->config->on_change(r->config->arg);
}

static void take_log(void *arg, const char *line, size_t len)
{
    struct run *r = arg;

    report_log(&r->report, line);
    fprintf(stderr, "%.*s\n", (int)len, line);
}

/* Whether something was read. */
static bool take_output(struct run *r, struct stream *s)
{
    char bytes[READ_MAX];
    ssize_t n = s->fd < 0 ? 0 : read(s->fd, bytes, sizeof bytes);
    struct err err;

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
static void on_end(void *arg, int code)
{
    struct run *r = arg;

    r->pid = 0;
    while (take_output(r, &r->out) || take_output(r, &r->log))
        continue;
    lines_end(&r->out.lines, r->out.fn, r);
    lines_end(&r->log.lines, r->log.fn, r);
    report_end(&r->report, code);
    mpi_folder_remove(r->folder);
    r->config->on_change(r->config->arg);
}

/* The worker's command line, the same for every rank. */
struct program {
    const char *argv[16];
    char workers[NUMBER_SIZE];
};

static void make_program(struct program *p, const struct run *r, const char *spec)
{
    const char *const words[] = {
        r->config->worker,
        "run",
        "--spec",
        spec,
        "--out",
        r->config->state,
        "--workers",
        p->workers,
        "--mirror",
        "--resume-if-any",
        "--checkpoint-seconds",
        CHECKPOINT_SECONDS,
        "--step-timeout",
        STEP_TIMEOUT,
        NULL,
    };

    snprintf(p->workers, sizeof p->workers, "%zu", r->world.n_hosts);
    memcpy(p->argv, words, sizeof words);
}

static int make_mpirun(struct run *r, const struct program *program, struct mpirun_command *command,
                       struct env *env, char *hostfile, struct err *err)
{
    AUTO(buf_release) struct buf text;
    struct mpi_pod pod;

    buf_init(&text, 0);
    mpirun_hostfile(&r->world, &text);
    if (mpi_pod_init(&pod, r->world.hosts[0].address, r->folder, err) < 0 ||
        file_write_atomic(hostfile, text.data, text.len, err) < 0 ||
        exec_write_context(r->folder, &r->world, r->config->port, r->config->key,
                           r->config->certificate, err) < 0)
        return -1;
    mpirun_environment(env, &pod.names, environ);
    mpirun_command(command, hostfile, r->world.n_hosts, program->argv);
    return 0;
}

static void make_environment(const struct run *r, struct env *env)
{
    AUTO(auto_free) char *stop = xasprintf("%s/stop", r->folder);

    env_init(env, environ);
    env_set_mpi(env, 1, 0);
    env_set(env, "PACELINE_STOP_FILE", stop, true);
}

static void mark_environment(const struct run *r, struct env *env)
{
    AUTO(auto_free) char *id = xasprintf("%lld-%d", r->world.generation, (int)getpid());
    AUTO(auto_free) char *start = xasprintf("%lld", (long long)clock_realtime_ns());

    env_set(env, "PACELINE_RUN_ID", id, true);
    env_set(env, "PACELINE_START_NS", start, true);
}

static int spawn(struct run *r, const char *const *argv, const struct env *env, struct err *err)
{
    AUTO(auto_close) int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    AUTO(process_close_pipe) int out[2] = {-1, -1};
    AUTO(process_close_pipe) int log[2] = {-1, -1};
    struct process process = {.argv = argv, .environment = env->items, .death_signal = SIGKILL};

    if (null < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(log, O_CLOEXEC) < 0)
        return err_set(err, ERR_IO, "cannot open a pipe to the engine: %s", strerror(errno));
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    fcntl(log[0], F_SETFL, O_NONBLOCK);
    memcpy(process.fds, (const int[]){null, out[1], log[1]}, sizeof process.fds);
    r->pid = procs_start(r->config->procs, &process, on_end, r, err);
    if (r->pid < 0) {
        r->pid = 0;
        return -1;
    }
    r->out.fd = out[0];
    r->log.fd = log[0];
    out[0] = log[0] = -1;
    return 0;
}

static int start(struct run *r, struct err *err)
{
    AUTO(env_release) struct env env = {0};
    AUTO(auto_free) char *spec = NULL, *hostfile = NULL;
    struct program program;
    struct mpirun_command mpirun;
    const char *const *argv = program.argv;

    if (mpi_folder_make(&r->folder, r->config->scratch, r->world.generation, r->world.job, err) < 0)
        return -1;
    spec = xasprintf("%s/job.yaml", r->folder);
    make_program(&program, r, spec);
    if (r->world.n_hosts > 1) {
        hostfile = xasprintf("%s/hosts", r->folder);
        if (make_mpirun(r, &program, &mpirun, &env, hostfile, err) < 0)
            return -1;
        argv = mpirun.argv;
    } else {
        make_environment(r, &env);
    }
    mark_environment(r, &env);
    return spawn(r, argv, &env, err);
}

struct run *run_start(const struct run_config *config, struct world *world)
{
    struct run *r = xcalloc(1, sizeof *r);
    struct err err;

    r->config = config;
    r->world = *world;
    *world = (struct world){0};
    r->out = (struct stream){.fd = -1, .fn = take_line};
    r->log = (struct stream){.fd = -1, .fn = take_log};
    report_init(&r->report, &r->world);
    if (start(r, &err) < 0) {
        report_fail(&r->report, EXIT_UNEXPECTED, err.msg);
        if (r->folder)
            mpi_folder_remove(r->folder);
    }
    return r;
}

void run_free(struct run *r)
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

const struct report *run_report(const struct run *r) { return &r->report; }
const struct world *run_world(const struct run *r) { return &r->world; }

void run_stop(struct run *r, int64_t now_ms)
{
    AUTO(auto_free) char *path = xasprintf("%s/stop", r->folder ? r->folder : "");
    AUTO(auto_close) int fd = -1;

    if (!r->pid || !report_stop(&r->report))
        return;
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    r->deadline_ms = now_ms + r->config->grace_ms;
    if (fd < 0) {
        log_error("cannot create %s: %s", path, strerror(errno));
        run_kill(r, "the engine could not be asked to stop");
    }
    r->config->on_change(r->config->arg);
}

void run_kill(struct run *r, const char *why)
{
    if (!r->pid || r->report.killed)
        return;
    r->report.killed = why;
    procs_kill(r->config->procs, r->pid, SIGKILL);
}

void run_wait(const struct run *r, struct waits *w)
{
    waits_add(w, r->out.fd, POLLIN);
    waits_add(w, r->log.fd, POLLIN);
    if (r->pid && r->deadline_ms && !r->report.killed)
        waits_until(w, r->deadline_ms);
}

void run_step(struct run *r, const struct waits *w, int64_t now_ms)
{
    struct stream *const streams[] = {&r->out, &r->log};

    for (size_t i = 0; i < ARRAY_LEN(streams); i++)
        if (waits_came(w, streams[i]->fd))
            take_output(r, streams[i]);
    if (r->deadline_ms && now_ms >= r->deadline_ms)
        run_kill(r, "the engine did not stop within its grace period");
}
