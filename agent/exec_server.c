#include "agent/exec_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/exec_argv.h"
#include "agent/mpi_folder.h"
#include "agent/mpi_pod.h"
#include "paceline/mem.h"

enum { LOG_MAX = 64 << 10, CHUNK = 4096 };

struct exec_server {
    struct supervisor *supervisor;
    const char *pod, *scratch;
    bool foreign;
    struct daemon *daemons;
};

/* One daemon, until its process has ended. It is started when those before it are gone: they would
 * hold its ports. */
struct daemon {
    struct exec_server *execs;
    struct daemon *next;
    struct channel *channel; /* NULL: ended, nobody listens */
    long long generation;
    cJSON *message; /* what to start; NULL: it runs */
    char *folder;
    pid_t pid;
    int output;
    size_t logged; /* bytes */
};

struct exec_server *exec_server_new(struct supervisor *supervisor, const char *pod,
                                    const char *scratch, bool foreign)
{
    struct exec_server *r = xcalloc(1, sizeof *r);

    *r = (struct exec_server){
        .supervisor = supervisor, .pod = pod, .scratch = scratch, .foreign = foreign};
    return r;
}

/* Takes it out of the list, if it is there. */
static void daemon_free(struct daemon *d)
{
    struct daemon **at = &d->execs->daemons;

    while (*at && *at != d)
        at = &(*at)->next;
    if (*at)
        *at = d->next;
    cJSON_Delete(d->message);
    if (d->folder)
        mpi_folder_remove(d->folder);
    free(d->folder);
    auto_close(&d->output);
    free(d);
}

void exec_server_free(struct exec_server *r)
{
    while (r->daemons) {
        supervisor_kill(r->supervisor, r->daemons->pid, SIGKILL);
        daemon_free(r->daemons);
    }
    free(r);
}

static void send_log(struct daemon *d, const char *text)
{
    AUTO(auto_json) cJSON *message = cJSON_CreateObject();

    cJSON_AddStringToObject(message, "type", "log");
    cJSON_AddStringToObject(message, "text", text);
    channel_send(d->channel, message);
}

/* JSON is UTF-8, and the output may be cut anywhere: ASCII goes on. */
static void printable(char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((text[i] < ' ' || text[i] > '~') && text[i] != '\n' && text[i] != '\t')
            text[i] = '?';
}

/* Passes on what the pipe holds; what is beyond LOG_MAX is read and dropped. */
static void read_output(struct daemon *d)
{
    char text[CHUNK + 1];
    ssize_t n;

    while (d->output >= 0 && (n = read(d->output, text, CHUNK)) >= 0) {
        size_t room = LOG_MAX - d->logged, len = (size_t)n < room ? (size_t)n : room;

        if (n == 0) {
            close(d->output);
            d->output = -1;
        } else if (d->channel && len > 0) {
            text[len] = '\0';
            printable(text, len);
            send_log(d, text);
            d->logged += len;
        }
    }
}

static void send_exit(struct daemon *d, int code)
{
    AUTO(auto_json) cJSON *message = cJSON_CreateObject();

    cJSON_AddStringToObject(message, "type", "exit");
    cJSON_AddNumberToObject(message, "code", code);
    channel_send(d->channel, message);
}

static void start_next(struct exec_server *r);

static void on_exit_code(void *arg, int code)
{
    struct daemon *d = arg;
    struct exec_server *r = d->execs;

    read_output(d);
    if (d->channel)
        send_exit(d, code);
    daemon_free(d);
    start_next(r);
}

/* One that runs is freed when it is gone. */
static void exec_server_drop(struct daemon *d)
{
    d->channel = NULL;
    if (d->message)
        daemon_free(d);
    else
        supervisor_kill(d->execs->supervisor, d->pid, SIGKILL);
}

void exec_server_end(struct exec_server *r, const struct channel *c)
{
    for (struct daemon *d = r->daemons, *next; d; d = next) {
        next = d->next;
        if (d->channel == c)
            exec_server_drop(d);
    }
}

void exec_server_fence(struct exec_server *r, long long generation)
{
    for (struct daemon *d = r->daemons, *next; d; d = next) {
        next = d->next;
        if (d->generation < generation && d->channel) {
            channel_refuse(d->channel, "generation %lld has come", generation);
            exec_server_drop(d);
        }
    }
}

/* The address at which the chief has reached us. */
static int own_address(const struct channel *c, char *text, socklen_t size, struct err *err)
{
    struct sockaddr_storage at = {0};
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    socklen_t len = sizeof at;

    if (getsockname(channel_fd(c), (struct sockaddr *)&at, &len) < 0)
        return err_set(err, ERR_IO, "cannot find our own address: %s", strerror(errno));
    memcpy(&v4, &at, sizeof v4);
    memcpy(&v6, &at, sizeof v6);
    if (at.ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
        memcpy(&v4.sin_addr, v6.sin6_addr.s6_addr + 12, sizeof v4.sin_addr);
    else if (at.ss_family != AF_INET)
        return err_set(err, ERR_INVALID, "training in several pods needs IPv4 addresses");
    inet_ntop(AF_INET, &v4.sin_addr, text, size);
    return 0;
}

static int exec_server_spawn(struct daemon *d, const struct exec_argv *argv, struct err *err)
{
    AUTO(spawn_close_pipe) int out[2] = {-1, -1};
    AUTO(auto_close) int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    AUTO(env_release) struct env env = {0};
    char address[INET_ADDRSTRLEN];
    struct mpi_pod pod;
    struct spawn process = {.argv = argv->items, .death_signal = SIGKILL};

    if (own_address(d->channel, address, sizeof address, err) < 0 ||
        mpi_pod_init(&pod, address, d->folder, d->execs->foreign, err) < 0)
        return -1;
    if (null < 0 || pipe2(out, O_CLOEXEC) < 0 || fcntl(out[0], F_SETFL, O_NONBLOCK) < 0)
        return err_set(err, ERR_IO, "cannot open a pipe to the daemon: %s", strerror(errno));
    mpirun_environment(&env, &pod.names, environ);
    process.environment = env.items;
    process.fds[0] = null;
    process.fds[1] = process.fds[2] = out[1];
    d->pid = supervisor_start(d->execs->supervisor, &process, on_exit_code, d, err);
    if (d->pid < 0)
        return -1;
    d->output = out[0];
    out[0] = -1;
    return 0;
}

/* Fails with the sentence that the chief reads. */
static int exec_server_check(const struct daemon *d, const cJSON *message, struct err *err)
{
    const struct exec_server *r = d->execs;

    if (strcmp(message_text(message, "pod"), r->pod) != 0)
        return err_set(err, ERR_INVALID, "this is pod %s, not %.260s", r->pod,
                       message_text(message, "pod"));
    for (const struct daemon *other = r->daemons; other; other = other->next)
        if (other->channel == d->channel || other->generation == d->generation)
            return err_set(err, ERR_CONFLICT, "generation %lld has its daemon here already",
                           d->generation);
    if (!cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(message, "job")))
        return err_set(err, ERR_INVALID, "job: an object is missing");
    return 0;
}

static int exec_server_start_daemon(struct daemon *d, const cJSON *message, struct err *err)
{
    const cJSON *job = cJSON_GetObjectItemCaseSensitive(message, "job");
    struct exec_argv argv;

    if (exec_argv_check(&argv, cJSON_GetObjectItemCaseSensitive(message, "argv"), err) < 0 ||
        mpi_folder_make(&d->folder, d->execs->scratch, d->generation, job, err) < 0)
        return -1;
    return exec_server_spawn(d, &argv, err);
}

/* Starts the one that waits when it is alone. */
static void start_next(struct exec_server *r)
{
    struct daemon *d = r->daemons;
    AUTO(auto_json) cJSON *message = NULL;
    AUTO(auto_json) cJSON *answer = NULL;
    struct err err;

    if (!d || d->next || !d->message)
        return;
    message = STEAL(d->message);
    if (exec_server_start_daemon(d, message, &err) < 0) {
        channel_refuse(d->channel, "%s", err.msg);
        daemon_free(d);
        return;
    }
    answer = cJSON_CreateObject();
    cJSON_AddStringToObject(answer, "type", "started");
    channel_send(d->channel, answer);
}

void exec_server_start(struct exec_server *r, struct channel *c, const cJSON *message)
{
    struct daemon *d = xcalloc(1, sizeof *d);
    struct err err;

    *d = (struct daemon){.execs = r,
                         .channel = c,
                         .generation = message_integer(message, "generation"),
                         .output = -1};
    exec_server_fence(r, d->generation);
    if (exec_server_check(d, message, &err) < 0) {
        channel_refuse(c, "%s", err.msg);
        daemon_free(d);
        return;
    }
    d->message = cJSON_Duplicate(message, 1);
    d->next = r->daemons;
    r->daemons = d;
    start_next(r);
}

void exec_server_wait(const struct exec_server *r, struct pollset *w)
{
    for (const struct daemon *d = r->daemons; d; d = d->next)
        pollset_add(w, d->output, POLLIN);
}

void exec_server_step(struct exec_server *r, const struct pollset *w)
{
    for (struct daemon *d = r->daemons; d; d = d->next)
        if (d->output >= 0 && pollset_came(w, d->output))
            read_output(d);
}
