#include "cli/cluster/kubectl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "paceline/clock.h"
#include "paceline/json.h"
#include "paceline/mem.h"
#include "paceline/spawn.h"

#define ARGUMENTS_MAX 32
#define COMPLAINT_MAX ((size_t)64 << 10)

void kubectl_init(struct kubectl *k, const char *context, const char *namespace_)
{
    sigset_t caught;

    sigemptyset(&caught);
    sigaddset(&caught, SIGINT);
    sigaddset(&caught, SIGTERM);
    sigaddset(&caught, SIGHUP);
    sigprocmask(SIG_BLOCK, &caught, NULL);
    *k = (struct kubectl){.context = context,
                          .namespace_ = namespace_,
                          .signals = signalfd(-1, &caught, SFD_CLOEXEC | SFD_NONBLOCK)};
}

void kubectl_release(struct kubectl *k)
{
    auto_close(&k->signals);
    k->signals = -1;
}

/* Whether a signal came, which is then forgotten. */
static bool kubectl_take_signal(const struct kubectl *k)
{
    struct signalfd_siginfo info;

    return read(k->signals, &info, sizeof info) == sizeof info;
}

static int interrupted(struct err *err) { return err_set(err, ERR_INTERRUPTED, "interrupted"); }

int kubectl_pause(const struct kubectl *k, int64_t ms, struct err *err)
{
    for (int64_t end = clock_ms() + ms, left = ms; left > 0; left = end - clock_ms()) {
        struct pollfd fd = {.fd = k->signals, .events = POLLIN};

        if (poll(&fd, 1, (int)left) > 0 && kubectl_take_signal(k))
            return interrupted(err);
    }
    return 0;
}

struct kubectl_command {
    const char *argv[ARGUMENTS_MAX];
    size_t n;
};

static void kubectl_add(struct kubectl_command *c, const char *word)
{
    if (c->n < ARGUMENTS_MAX - 1)
        c->argv[c->n++] = word;
}

/* Before the arguments: after "--" they would be another program's. */
static void kubectl_build(struct kubectl_command *c, const struct kubectl *k,
                          const char *const *arguments)
{
    const char *const where[][2] = {{"--context", k->context}, {"--namespace", k->namespace_}};

    *c = (struct kubectl_command){0};
    kubectl_add(c, "kubectl");
    for (size_t i = 0; i < ARRAY_LEN(where); i++)
        if (where[i][1]) {
            kubectl_add(c, where[i][0]);
            kubectl_add(c, where[i][1]);
        }
    while (*arguments)
        kubectl_add(c, *arguments++);
}

/* A file that the child reads from its begin; no pipe that could fill up. */
static int input_file(const char *input)
{
    size_t n = input ? strlen(input) : 0;
    int fd = input ? memfd_create("input", MFD_CLOEXEC) : open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (fd >= 0 && n && (write(fd, input, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET) != 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* *fd is -1 after its end. */
static void kubectl_take_output(int *fd, struct buf *to)
{
    char bytes[65536];
    ssize_t n = read(*fd, bytes, sizeof bytes);

    if (n > 0) {
        buf_add(to, bytes, (size_t)n);
    } else if (n == 0 || errno != EINTR) {
        close(*fd);
        *fd = -1;
    }
}

/* Until both streams have ended. Whether that came by itself. */
static bool kubectl_serve(const struct kubectl *k, int fds[2], struct buf *const to[2],
                          struct err *err)
{
    while (fds[0] >= 0 || fds[1] >= 0) {
        struct pollfd polls[] = {{.fd = fds[0], .events = POLLIN},
                                 {.fd = fds[1], .events = POLLIN},
                                 {.fd = k->signals, .events = POLLIN}};

        if (poll(polls, ARRAY_LEN(polls), -1) < 0)
            continue;
        if (polls[2].revents && kubectl_take_signal(k)) {
            interrupted(err);
            return false;
        }
        for (int i = 0; i < 2; i++)
            if (polls[i].revents)
                kubectl_take_output(&fds[i], to[i]);
        if (to[0]->overflowed) {
            err_set(err, ERR_INVALID, "kubectl printed more than %zu bytes", to[0]->max);
            return false;
        }
    }
    return true;
}

static const char pod_mark[] = "command terminated with exit code ";

/* The last line that says something, without what stands at its begin. */
static void kubectl_last_line(const char *text, char *out, size_t size)
{
    static const char *const heads[] = {"error: ", "Error: "};

    *out = '\0';
    while (*text) {
        size_t n = strcspn(text, "\n");

        if (n > 0 && strncmp(text, pod_mark, strlen(pod_mark)) != 0)
            snprintf(out, size, "%.*s", (int)n, text);
        text += n + (text[n] == '\n');
    }
    for (size_t i = 0; i < ARRAY_LEN(heads); i++)
        if (strncmp(out, heads[i], strlen(heads[i])) == 0)
            memmove(out, out + strlen(heads[i]), strlen(out + strlen(heads[i])) + 1);
}

static int complain(const char *said, int status, struct err *err)
{
    static const struct {
        const char *mark;
        enum err_code code;
    } kinds[] = {
        {"(NotFound)", ERR_NOT_FOUND},  {"(AlreadyExists)", ERR_CONFLICT},
        {"(Forbidden)", ERR_FORBIDDEN}, {"is invalid", ERR_INVALID},
        {pod_mark, ERR_GONE},
    };
    char line[400];
    enum err_code code = ERR_TRANSIENT;

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strstr(said, kinds[i].mark))
            code = kinds[i].code;
    kubectl_last_line(said, line, sizeof line);
    if (!*line && WIFSIGNALED(status))
        snprintf(line, sizeof line, "kubectl was ended by signal %d", WTERMSIG(status));
    else if (!*line)
        snprintf(line, sizeof line, "kubectl ended with exit code %d and gave no reason",
                 WEXITSTATUS(status));
    return err_set(err, code, "%s", line);
}

static int kubectl_spawn(const struct kubectl *k, const char *const *arguments, const char *input,
                         int streams[2], pid_t *pid, struct err *err)
{
    AUTO(auto_close) int in = input_file(input);
    AUTO(spawn_close_pipe) int out[2] = {-1, -1};
    AUTO(spawn_close_pipe) int log[2] = {-1, -1};
    struct kubectl_command c;
    struct spawn process = {.argv = c.argv, .death_signal = SIGKILL};

    kubectl_build(&c, k, arguments);
    if (in < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(log, O_CLOEXEC) < 0)
        return err_set(err, ERR_IO, "cannot open a pipe to kubectl: %s", strerror(errno));
    memcpy(process.fds, (const int[]){in, out[1], log[1]}, sizeof process.fds);
    if (spawn_process(pid, &process, err) < 0)
        return err_set(err, ERR_INVALID,
                       "%s; install kubectl, which knows how to reach your cluster", err->msg);
    streams[0] = out[0];
    streams[1] = log[0];
    out[0] = log[0] = -1;
    return 0;
}

int kubectl_run(const struct kubectl *k, const char *const *arguments, const char *input,
                struct buf *out, struct err *err)
{
    AUTO(buf_release) struct buf said;
    AUTO(spawn_close_pipe) int streams[2] = {-1, -1};
    pid_t pid = 0;
    int status = 0;
    bool served;

    buf_init(&said, COMPLAINT_MAX);
    if (kubectl_spawn(k, arguments, input, streams, &pid, err) < 0)
        return -1;
    served = kubectl_serve(k, streams, (struct buf *const[]){out, &said}, err);
    if (!served)
        kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!served)
        return -1;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : complain(said.data, status, err);
}

int kubectl_json(const struct kubectl *k, const char *const *arguments, cJSON **out,
                 struct err *err)
{
    AUTO(buf_release) struct buf text;

    buf_init(&text, KUBECTL_OUTPUT_MAX);
    if (kubectl_run(k, arguments, NULL, &text, err) < 0)
        return -1;
    return json_parse(out, text.data, text.len, "kubectl's output", err);
}
