#include "agent/exec.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "agent/exec_argv.h"
#include "agent/mpirun_wrapper.h"
#include "paceline/clock.h"
#include "paceline/file.h"
#include "paceline/mem.h"
#include "wire/channel.h"

enum {
    EXIT_NO_DAEMON = 255, /* as ssh */
    CONNECT_MS = 10000,   /* how long an agent that does not answer is called again */
    AGAIN_MS = 100,
};
#define CONTEXT_MAX ((size_t)8 << 20)

static char *context_path(const char *folder) { return xasprintf("%s/exec.json", folder); }

/* The world message again, and how to reach its agents. */
int exec_write_context(const char *folder, const struct world *world, int port, const char *key,
                       struct err *err)
{
    AUTO(auto_free) char *path = context_path(folder);
    AUTO(auto_json) cJSON *context = cJSON_CreateObject();
    AUTO(buf_release) struct buf text;
    cJSON *hosts;

    cJSON_AddStringToObject(context, "type", "world");
    cJSON_AddNumberToObject(context, "generation", (double)world->generation);
    cJSON_AddNumberToObject(context, "port", port);
    cJSON_AddStringToObject(context, "key", key);
    cJSON_AddItemToObject(context, "job", cJSON_Duplicate(world->job, 1));
    hosts = cJSON_AddArrayToObject(context, "hosts");
    for (const struct world_host *h = world->hosts; h < world->hosts + world->n_hosts; h++) {
        cJSON *host = cJSON_CreateObject();

        cJSON_AddStringToObject(host, "pod", h->pod);
        cJSON_AddStringToObject(host, "host", h->host);
        cJSON_AddStringToObject(host, "address", h->address);
        cJSON_AddItemToArray(hosts, host);
    }
    buf_init(&text, 0);
    json_print(context, 0, &text);
    return file_write_atomic(path, text.data, text.len, err);
}

struct exec {
    struct world world;
    const struct world_host *host;
    cJSON *argv; /* handed over with the message */
    int port;
    struct channel_tls *tls;
    struct channel *channel;
    bool answered; /* the agent has sent something: it is not called again */
    bool ended;
    int code;
    pid_t mpirun;
    int64_t leave_ms; /* mpirun is gone: how long the daemon may take to end; 0: it is there */
};

static void exec_release(struct exec *e)
{
    channel_free(e->channel);
    channel_tls_free(e->tls);
    cJSON_Delete(e->argv);
    world_release(&e->world);
}

static int exec_read_key(struct exec *e, const cJSON *context, struct err *err)
{
    AUTO(buf_release) struct buf key = {0};

    if (buf_read_secret_file(&key, message_text(context, "key"), CHANNEL_KEY_BYTES + 1, err) < 0)
        return -1;
    return channel_tls_new(&e->tls, key.data, key.len, err);
}

static int read_context(struct exec *e, const char *folder, struct err *err)
{
    AUTO(auto_free) char *path = context_path(folder);
    AUTO(auto_json) cJSON *context = NULL;
    AUTO(buf_release) struct buf text = {0};

    if (buf_read_file(&text, path, CONTEXT_MAX, err) < 0 ||
        json_parse(&context, text.data, text.len, path, err) < 0 ||
        world_parse(&e->world, context, err) < 0)
        return -1;
    e->port = (int)message_integer(context, "port");
    return exec_read_key(e, context, err);
}

static int find_host(struct exec *e, const char *address, struct err *err)
{
    for (size_t i = 0; i < e->world.n_hosts; i++)
        if (strcmp(e->world.hosts[i].address, address) == 0) {
            e->host = &e->world.hosts[i];
            return 0;
        }
    return err_set(err, ERR_INVALID, "%.60s is no address of generation %lld", address,
                   e->world.generation);
}

static void send_exec(struct exec *e)
{
    AUTO(auto_json) cJSON *message = cJSON_CreateObject();

    cJSON_AddStringToObject(message, "type", "exec");
    cJSON_AddNumberToObject(message, "generation", (double)e->world.generation);
    cJSON_AddStringToObject(message, "pod", e->host->pod);
    cJSON_AddStringToObject(message, "host", e->host->host);
    cJSON_AddItemToObject(message, "job", cJSON_Duplicate(e->world.job, 1));
    cJSON_AddItemToObject(message, "argv", cJSON_Duplicate(e->argv, 1));
    channel_send(e->channel, message);
}

static int exec_on_message(void *arg, const cJSON *message, struct err *err)
{
    struct exec *e = arg;
    const char *type = message_type(message);

    e->answered = true;
    if (strcmp(type, "hello") == 0) {
        send_exec(e);
    } else if (strcmp(type, "refused") == 0) {
        return err_set(err, ERR_FORBIDDEN, "refused: %.300s", message_text(message, "message"));
    } else if (strcmp(type, "log") == 0) {
        fputs(message_text(message, "text"), stderr);
    } else if (strcmp(type, "exit") == 0) {
        e->ended = true;
        e->code = (int)message_integer(message, "code");
    }
    return 0;
}

static int connect_to(struct exec *e, struct err *err)
{
    AUTO(auto_json) cJSON *hello = cJSON_CreateObject();
    int fd = channel_dial(e->host->address, e->port, err);

    if (fd < 0)
        return -1;
    e->channel = channel_connect(e->tls, fd, exec_on_message, e, clock_ms());
    cJSON_AddStringToObject(hello, "type", "hello");
    cJSON_AddNumberToObject(hello, "protocol", 1);
    cJSON_AddStringToObject(hello, "channel", "exec");
    channel_send(e->channel, hello);
    return 0;
}

/* mpirun does not wait for us, and its daemon ends when it does. */
static int check_mpirun(struct exec *e, struct err *err)
{
    if (!e->leave_ms && getppid() != e->mpirun)
        e->leave_ms = clock_ms() + MPIRUN_WRAPPER_LINGER_MS;
    if (e->leave_ms && clock_ms() > e->leave_ms)
        return err_set(err, ERR_CONFLICT, "its daemon did not end with mpirun");
    return 0;
}

/* One connection, until the daemon has ended. */
static int exec_converse(struct exec *e, struct err *err)
{
    if (connect_to(e, err) < 0)
        return -1;
    while (!e->ended) {
        struct pollfd pfd = {.fd = channel_fd(e->channel), .events = channel_wants(e->channel)};
        int64_t wait_ms = channel_next_ms(e->channel) - clock_ms();

        poll(&pfd, 1,
             (int)(wait_ms < 0                 ? 0
                   : wait_ms > CHANNEL_PING_MS ? CHANNEL_PING_MS
                                               : wait_ms));
        if (channel_step(e->channel, pfd.revents, clock_ms(), err) < 0 && !e->ended)
            return -1;
        if (check_mpirun(e, err) < 0)
            return -1;
    }
    return 0;
}

static bool may_pass(const struct err *err)
{
    return err->code == ERR_TRANSIENT || err->code == ERR_SILENT;
}

static int exec_run(struct exec *e, struct err *err)
{
    int64_t give_up_ms = clock_ms() + CONNECT_MS;

    for (;;) {
        struct err why = {0};

        if (exec_converse(e, &why) == 0)
            return 0;
        channel_free(STEAL(e->channel));
        if (e->answered || !may_pass(&why) || clock_ms() > give_up_ms) {
            *err = why;
            return err_wrap(err, "agent of %s (%s)", e->host->pod, e->host->address);
        }
        poll(NULL, 0, AGAIN_MS);
    }
}

static int run_command(struct exec *e, int argc, char **argv, struct err *err)
{
    const char *folder = getenv(EXEC_RUN);

    if (argc < 3 || !folder)
        return err_set(err, ERR_INVALID,
                       "usage: paceline-agent exec HOST COMMAND..., with " EXEC_RUN
                       " as the agent sets it for mpirun");
    if (read_context(e, folder, err) < 0 || find_host(e, argv[1], err) < 0)
        return -1;
    e->argv = exec_argv_words(argc - 2, argv + 2);
    return exec_run(e, err);
}

int agent_exec(int argc, char **argv)
{
    AUTO(exec_release) struct exec e = {.code = EXIT_NO_DAEMON, .mpirun = getppid()};
    struct err err = {0};

    signal(SIGPIPE, SIG_IGN);
    if (run_command(&e, argc, argv, &err) < 0) {
        if (err.code == ERR_SILENT && e.host)
            fprintf(stderr, EXEC_SILENT "%s\n", e.host->pod);
        fprintf(stderr, EXEC_COMPLAINT "%s\n", err.msg);
        return EXIT_NO_DAEMON;
    }
    if (e.code == 0)
        fprintf(stderr, MPIRUN_WRAPPER_ENDED "%s\n", e.host->pod);
    return e.code;
}
