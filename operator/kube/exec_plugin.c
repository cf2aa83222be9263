#include "operator/kube/exec_plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "operator/kube/secret.h"
#include "paceline/buf.h"
#include "paceline/mem.h"

#define MAX_COMPLAINT ((size_t)2048) /* of standard error, for the message */
#define REAP_MS 10

struct exec_run {
    const struct exec_config *exec; /* the caller's, which outlives us */
    pid_t pid;                      /* 0: reaped */
    struct plugin_stream {
        char *data; /* NUL-terminated, of a fixed size: growing would leave copies of tokens */
        int fd;     /* -1: ended */
        size_t len, max;
        bool rolling; /* what does not fit pushes out the beginning */
    } out, complaint;
    int64_t ends_ms, timeout_ms;
};

static void open_stream(struct plugin_stream *s, int fd, size_t max, bool rolling)
{
    *s = (struct plugin_stream){
        .fd = fd, .data = xcalloc(1, max + 1), .max = max, .rolling = rolling};
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
}

static void close_stream(struct plugin_stream *s)
{
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}

static void free_stream(struct plugin_stream *s)
{
    close_stream(s);
    explicit_bzero(s->data, s->max);
    free(s->data);
}

void exec_run_free(struct exec_run *run)
{
    if (!run)
        return;
    if (run->pid) {
        kill(-run->pid, SIGKILL);
        kill(run->pid, SIGKILL);
        while (waitpid(run->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    free_stream(&run->out);
    free_stream(&run->complaint);
    free(run);
}

/* Our environment with exec->env and the info over it; free the array and its last entry. */
static char **environment(const struct exec_config *exec, char *info)
{
    size_t n = 0, ours = 0;
    char **env;

    while (environ[ours])
        ours++;
    env = xcalloc(ours + exec->n_env + 2, sizeof *env);
    env[n++] = info;
    for (size_t i = 0; i < exec->n_env; i++)
        env[n++] = exec->env[i];
    for (size_t i = 0; i < ours; i++) {
        size_t name = strcspn(environ[i], "=") + 1, j = 0;

        while (j < n && strncmp(env[j], environ[i], name) != 0)
            j++;
        if (j == n)
            env[n++] = environ[i];
    }
    return env;
}

static void auto_actions(posix_spawn_file_actions_t *a) { posix_spawn_file_actions_destroy(a); }
static void auto_attr(posix_spawnattr_t *a) { posix_spawnattr_destroy(a); }

/* Signals that we block or ignore must not stay so for the plugin. */
static void plain_signals(posix_spawnattr_t *attr)
{
    sigset_t none, all;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(attr, &none);
    posix_spawnattr_setsigdefault(attr, &all);
    posix_spawnattr_setpgroup(attr, 0);
    posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                       POSIX_SPAWN_SETPGROUP);
}

static int exec_plugin_spawn(struct exec_run *run, int out, int complaint, char *const *argv,
                             char *const *env)
{
    AUTO(auto_actions) posix_spawn_file_actions_t actions;
    AUTO(auto_attr) posix_spawnattr_t attr;

    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    plain_signals(&attr);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, 1);
    posix_spawn_file_actions_adddup2(&actions, complaint, 2);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    return posix_spawnp(&run->pid, argv[0], &actions, &attr, argv, env);
}

static int start_failed(const struct exec_config *exec, int cause, struct err *err)
{
    const char *hint = exec->install_hint;

    return err_set(err, ERR_INVALID, "exec plugin %s could not be started: %s%s%.200s",
                   exec->command, strerror(cause), hint ? "; " : "", hint ? hint : "");
}

int exec_start(struct exec_run **out, const struct exec_config *exec, const char *ca,
               int64_t now_ms, int64_t timeout_ms, struct err *err)
{
    AUTO(auto_free) char *json = exec_info(exec, ca);
    AUTO(auto_free) char *info = xasprintf("KUBERNETES_EXEC_INFO=%s", json);
    AUTO(auto_free) char **env = environment(exec, info);
    AUTO(auto_free) char **argv = xcalloc(exec->n_args + 2, sizeof *argv);
    int output[2], complaint[2], cause;
    struct exec_run *run;

    if (pipe2(output, O_CLOEXEC))
        return start_failed(exec, errno, err);
    if (pipe2(complaint, O_CLOEXEC)) {
        cause = errno;
        close(output[0]);
        close(output[1]);
        return start_failed(exec, cause, err);
    }
    argv[0] = exec->command;
    for (size_t i = 0; i < exec->n_args; i++)
        argv[i + 1] = exec->args[i];
    run = xcalloc(1, sizeof *run);
    *run =
        (struct exec_run){.exec = exec, .ends_ms = now_ms + timeout_ms, .timeout_ms = timeout_ms};
    cause = exec_plugin_spawn(run, output[1], complaint[1], argv, env);
    close(output[1]);
    close(complaint[1]);
    open_stream(&run->out, output[0], EXEC_MAX_OUTPUT, false);
    open_stream(&run->complaint, complaint[0], MAX_COMPLAINT, true);
    if (cause) {
        run->pid = 0;
        exec_run_free(run);
        return start_failed(exec, cause, err);
    }
    *out = run;
    return 0;
}

int exec_run_fds(const struct exec_run *run, int fds[2])
{
    int n = 0;

    if (run->out.fd >= 0)
        fds[n++] = run->out.fd;
    if (run->complaint.fd >= 0)
        fds[n++] = run->complaint.fd;
    return n;
}

int64_t exec_run_next_ms(const struct exec_run *run, int64_t now_ms)
{
    int64_t left = run->ends_ms > now_ms ? run->ends_ms - now_ms : 0;

    return run->out.fd < 0 && left > REAP_MS ? REAP_MS : left;
}

static bool exec_plugin_take(struct plugin_stream *s, const char *bytes, size_t n)
{
    size_t room = s->max - s->len;
    bool fits = n <= room;

    if (!fits && s->rolling) { /* n is at most the half of max */
        memmove(s->data, s->data + (n - room), s->len - (n - room));
        s->len -= n - room;
        room = n;
        fits = true;
    }
    n = fits ? n : room;
    memcpy(s->data + s->len, bytes, n);
    s->len += n;
    return fits;
}

/* False: there is more than fits. */
static bool drain(struct plugin_stream *s)
{
    char chunk[1024];
    bool fits = true;

    /* A limit, for a program that prints without end must not hold us up. */
    for (int i = 0; i < 64 && s->fd >= 0 && fits; i++) {
        ssize_t n = read(s->fd, chunk, sizeof chunk);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (n > 0)
            fits = exec_plugin_take(s, chunk, (size_t)n);
        else
            close_stream(s);
    }
    explicit_bzero(chunk, sizeof chunk);
    return fits;
}

/* The last line that is not empty, without control characters. */
static const char *exec_plugin_last_line(struct plugin_stream *s)
{
    char *line;

    for (size_t i = 0; i < s->len; i++)
        if ((unsigned char)s->data[i] < ' ' && s->data[i] != '\n')
            s->data[i] = ' ';
    while (s->len && s->data[s->len - 1] == '\n')
        s->data[--s->len] = '\0';
    line = strrchr(s->data, '\n');
    return line ? line + 1 : s->data;
}

static int exec_plugin_fail(struct exec_run *run, int status, struct err *err)
{
    const char *line = exec_plugin_last_line(&run->complaint);
    const char *colon = *line ? ": " : "";

    if (WIFSIGNALED(status))
        return err_set(err, ERR_TRANSIENT, "exec plugin %s was ended by signal %d%s%.200s",
                       run->exec->command, WTERMSIG(status), colon, line);
    if (WEXITSTATUS(status) == 127 && run->exec->install_hint)
        return start_failed(run->exec, ENOENT, err);
    return err_set(err, ERR_TRANSIENT, "exec plugin %s failed with exit code %d%s%.200s",
                   run->exec->command, WEXITSTATUS(status), colon, line);
}

int exec_run_step(struct exec_run *run, int64_t now_ms, struct exec_credential *out,
                  struct err *err)
{
    int status;
    pid_t ended;

    (void)drain(&run->complaint);
    if (!drain(&run->out))
        return err_set(err, ERR_INVALID, "exec plugin %s printed more than %zu bytes",
                       run->exec->command, EXEC_MAX_OUTPUT);
    if (run->out.fd < 0) {
        do
            ended = waitpid(run->pid, &status, WNOHANG);
        while (ended < 0 && errno == EINTR);
        if (ended) {
            run->pid = 0;
            if (ended < 0)
                status = 0; /* somebody ignores SIGCHLD: its output must speak for itself */
            (void)drain(&run->complaint);
            if (status)
                return exec_plugin_fail(run, status, err);
            if (exec_credential_parse(out, run->out.data, run->out.len, run->exec->api_version,
                                      err))
                return err_wrap(err, "exec plugin %s", run->exec->command);
            return 1;
        }
    }
    if (now_ms >= run->ends_ms)
        return err_set(err, ERR_TRANSIENT, "exec plugin %s gave no answer within %lld ms",
                       run->exec->command, (long long)run->timeout_ms);
    return 0;
}
