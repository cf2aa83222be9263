#include "cli/run/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "paceline/clock.h"
#include "paceline/env.h"
#include "paceline/mem.h"
#include "paceline/spawn.h"
#include "paceline/subreaper.h"

#define GRACE_MS 5000
#define ASKED_MS 30000
#define DRAIN_MS 300 /* for output that is under way when the process has ended */
#define COUNT_TEXT 24

/* Variables of our own environment win. */
static void launch_make_environment(struct env *e, const struct launch *l)
{
    char text[64];

    env_init(e, environ);
    env_set_mpi(e, l->ranks, l->threads);
    snprintf(text, sizeof text, "%lld", (long long)l->started_ns);
    env_set(e, "PACELINE_START_NS", text, true);
    snprintf(text, sizeof text, "%llx-%x", (unsigned long long)l->started_ns, (unsigned)getpid());
    env_set(e, "PACELINE_RUN_ID", text, true);
    if (l->stop_file)
        env_set(e, "PACELINE_STOP_FILE", l->stop_file, true);
}

int launch_find_worker(char *path, size_t size, struct err *err)
{
    const char *given = getenv("PACELINE_WORKER");
    ssize_t n = readlink("/proc/self/exe", path, size - 1);
    char *slash;

    path[n > 0 ? n : 0] = '\0';
    slash = strrchr(path, '/');
    if (given && *given)
        snprintf(path, size, "%s", given);
    else if (slash)
        snprintf(slash + 1, size - (size_t)(slash + 1 - path), "paceline-worker");
    if (access(path, X_OK) < 0)
        return err_set(err, ERR_NOT_FOUND,
                       "cannot start the engine: %.300s: %s; build it, or name it in "
                       "PACELINE_WORKER",
                       path, strerror(errno));
    return 0;
}

struct launch_command {
    char worker[4096];
    char ranks[COUNT_TEXT];
    const char **argv;
};

static void launch_command_release(struct launch_command *c) { free(c->argv); }

static int build_command(struct launch_command *c, const struct launch *l, struct err *err)
{
    const char *const mpirun[] = {"mpirun",    "-np",  c->ranks,
                                  "--bind-to", "none", "--oversubscribe"};
    size_t n = 0, given = 0;

    while (l->arguments[given])
        given++;
    c->argv = xcalloc(ARRAY_LEN(mpirun) + given + 2, sizeof *c->argv);
    if (launch_find_worker(c->worker, sizeof c->worker, err) < 0)
        return -1;
    snprintf(c->ranks, sizeof c->ranks, "%d", l->ranks);
    for (size_t i = 0; i < ARRAY_LEN(mpirun) && l->ranks > 1; i++)
        c->argv[n++] = mpirun[i];
    c->argv[n++] = c->worker;
    memcpy(c->argv + n, l->arguments, given * sizeof *l->arguments);
    return 0;
}

struct launch_stream {
    int fd; /* -1 once ended */
    line_fn *fn;
    void *arg;
    struct lines lines;
};

struct engine {
    const struct launch *launch;
    pid_t pid;                      /* leader of its process group; 0 once it was waited for */
    int status;                     /* from waitpid */
    struct launch_stream stream[2]; /* its output, its log */
    int64_t deadline_ms; /* then the group is killed, or waiting for output ends; 0: none */
    bool asked, stopping;
    struct lingering linger; /* of mpirun */
};

static int launch_start(struct engine *e, struct err *err)
{
    AUTO(launch_command_release) struct launch_command c = {0};
    AUTO(env_release) struct env env;
    AUTO(auto_close) int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    AUTO(spawn_close_pipe) int out[2] = {-1, -1};
    AUTO(spawn_close_pipe) int log[2] = {-1, -1};
    bool many = e->launch->ranks > 1;
    /* mpirun ends its ranks; a single worker has no other ranks. A service manager sends these to
     * all of them, and mpirun would kill the ranks before they have saved anything. */
    static const int managers[] = {SIGTERM, SIGHUP, 0};
    struct spawn process = {.death_signal = many ? SIGINT : SIGKILL,
                            .blocked = many ? managers : NULL};

    launch_make_environment(&env, e->launch);
    if (build_command(&c, e->launch, err) < 0)
        return -1;
    if (null < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(log, O_CLOEXEC) < 0)
        return err_set(err, ERR_IO, "cannot open a pipe to the engine: %s", strerror(errno));
    process.argv = c.argv;
    process.environment = env.items;
    memcpy(process.fds, (const int[]){null, out[1], log[1]}, sizeof process.fds);
    if (spawn_process(&e->pid, &process, err) < 0)
        return many ? err_set(err, ERR_NOT_FOUND,
                              "%s; install Open MPI (apt-get install openmpi-bin)", err->msg)
                    : -1;
    e->stream[0].fd = out[0];
    e->stream[1].fd = log[0];
    out[0] = log[0] = -1;
    return 0;
}

static void launch_reap(struct engine *e)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != e->pid)
            continue;
        e->pid = 0;
        e->status = status;
        e->deadline_ms = clock_ms() + DRAIN_MS;
    }
}

static void launch_stop(struct engine *e)
{
    const bool kills = e->asked || e->stopping;

    const int ends = e->launch->ranks > 1 ? SIGINT : SIGTERM; /* mpirun has SIGTERM blocked */

    if (e->pid > 0)
        kill(-e->pid, kills ? SIGKILL : ends);
    if (!kills)
        e->deadline_ms = clock_ms() + GRACE_MS;
    e->stopping = true;
}

static void launch_take_signal(struct engine *e, int signals, struct launch_end *end)
{
    const struct launch *l = e->launch;
    struct signalfd_siginfo info;

    if (read(signals, &info, sizeof info) != sizeof info)
        return;
    if (info.ssi_signo == SIGCHLD) {
        launch_reap(e);
        return;
    }
    end->interrupted = true;
    if (e->asked ? info.ssi_signo == SIGINT : !l->on_stop || !l->on_stop(l->arg)) {
        launch_stop(e);
        return;
    }
    e->asked = true;
    /* Nobody may be there to press Ctrl-C. A terminal that closes sends SIGHUP twice. */
    if (info.ssi_signo != SIGINT && e->pid > 0 && !e->deadline_ms)
        e->deadline_ms = clock_ms() + ASKED_MS;
}

static int launch_take_output(struct launch_stream *s, struct err *err)
{
    char bytes[16384];
    ssize_t n = read(s->fd, bytes, sizeof bytes);

    if (n > 0)
        return lines_add(&s->lines, bytes, (size_t)n, s->fn, s->arg, err);
    if (n < 0 && errno == EINTR)
        return 0;
    close(s->fd);
    s->fd = -1;
    return 0;
}

static void close_streams(struct engine *e)
{
    for (int i = 0; i < 2; i++) {
        auto_close(&e->stream[i].fd);
        e->stream[i].fd = -1;
    }
}

/* Until the engine has ended and its streams too. */
static int launch_serve(struct engine *e, int signals, struct launch_end *end, struct err *err)
{
    int result = 0;

    while (e->pid > 0 || e->stream[0].fd >= 0 || e->stream[1].fd >= 0) {
        struct pollfd fds[] = {{.fd = e->stream[0].fd, .events = POLLIN},
                               {.fd = e->stream[1].fd, .events = POLLIN},
                               {.fd = signals, .events = POLLIN}};
        int64_t left = e->deadline_ms ? e->deadline_ms - clock_ms() : LINGER_LOOK_MS;

        if (e->pid > 0 && e->launch->ranks > 1 && !end->lingered &&
            subreaper_linger(&e->linger, e->pid, clock_ms())) {
            end->lingered = true;
            kill(-e->pid, SIGKILL);
        }
        if (e->deadline_ms && left <= 0) {
            if (e->pid == 0)
                break;
            kill(-e->pid, SIGKILL);
            e->deadline_ms = 0;
        }
        if (poll(fds, ARRAY_LEN(fds), (int)left) < 0 && errno != EINTR)
            break;
        if (fds[2].revents)
            launch_take_signal(e, signals, end);
        for (int i = 0; i < 2; i++) {
            if (fds[i].revents && result == 0 && launch_take_output(&e->stream[i], err) < 0) {
                result = err_wrap(err, "the engine floods its output");
                close_streams(e);
                e->stopping = true;
                launch_stop(e);
            }
        }
    }
    return result;
}

static void launch_release_engine(struct engine *e)
{
    close_streams(e);
    for (int i = 0; i < 2; i++)
        lines_end(&e->stream[i].lines, e->stream[i].fn, e->stream[i].arg);
    free(e);
}

/* mpirun reports a rank that a signal ended as 128 + signal. */
static void launch_read_status(struct launch_end *end, int status, int ranks)
{
    end->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    end->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (ranks > 1 && end->exit_code > 128 && end->exit_code != EXIT_INTERRUPTED) {
        end->signal = end->exit_code - 128;
        end->exit_code = -1;
    }
}

/* A signal that is blocked is kept even if it is ignored, and nohup asks to ignore SIGHUP. */
static bool is_ignored(int signal)
{
    struct sigaction now;

    return sigaction(signal, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

int launch_run(const struct launch *l, struct launch_end *end, struct err *err)
{
    struct engine *e = xcalloc(1, sizeof *e);
    sigset_t caught, before;
    int signals, result;

    *end = (struct launch_end){0};
    e->launch = l;
    e->stream[0] = (struct launch_stream){.fd = -1, .fn = l->on_line, .arg = l->arg};
    e->stream[1] = (struct launch_stream){.fd = -1, .fn = l->on_log, .arg = l->arg};
    sigemptyset(&caught);
    sigaddset(&caught, SIGINT);
    sigaddset(&caught, SIGTERM);
    if (!is_ignored(SIGHUP))
        sigaddset(&caught, SIGHUP);
    sigaddset(&caught, SIGCHLD);
    sigprocmask(SIG_BLOCK, &caught, &before);
    signals = signalfd(-1, &caught, SFD_CLOEXEC);
    subreaper_adopt();
    result = launch_start(e, err);
    if (result == 0) {
        result = launch_serve(e, signals, end, err);
        subreaper_kill();
        launch_read_status(end, e->status, l->ranks);
    }
    launch_release_engine(e);
    auto_close(&signals);
    if (!end->interrupted) /* else nothing may stop us from saying what remains */
        sigprocmask(SIG_SETMASK, &before, NULL);
    return result;
}
