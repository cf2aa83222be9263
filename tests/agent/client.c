/*
 * An operator for tests: `client ADDRESS PORT KEY CHANNEL [--until TEXT]` says hello,
 * sends each line of standard input as a message and prints each message that comes, but for
 * pings. Ends with 0 when a message that holds TEXT came, with 1 and a sentence when the connection
 * ends before. CHANNEL "none" says no hello: the lines are all.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "paceline/clock.h"
#include "paceline/events.h"
#include "paceline/mem.h"
#include "wire/channel.h"

#define ATTEMPTS 400
#define PAUSE_US 50000

struct agent_client {
    struct channel *channel;
    const char *until;
    bool met;
};

static int print(void *arg, const cJSON *message, struct err *err)
{
    struct agent_client *c = arg;
    AUTO(buf_release) struct buf text;

    (void)err;
    buf_init(&text, 0);
    json_print(message, 0, &text);
    puts(text.data);
    fflush(stdout);
    c->met |= c->until && strstr(text.data, c->until);
    return 0;
}

static void send_line(void *arg, const char *line, size_t len)
{
    struct agent_client *c = arg;
    AUTO(auto_json) cJSON *message = cJSON_ParseWithLength(line, len);

    if (message)
        channel_send(c->channel, message);
    else
        fprintf(stderr, "client: no JSON: %s\n", line);
}

static void greet(struct channel *channel, const char *name)
{
    AUTO(auto_json) cJSON *hello = cJSON_CreateObject();

    if (strcmp(name, "none") == 0)
        return;
    cJSON_AddStringToObject(hello, "type", "hello");
    cJSON_AddNumberToObject(hello, "protocol", 1);
    cJSON_AddStringToObject(hello, "channel", name);
    channel_send(channel, hello);
}

static struct channel_tls *load(const char *path, struct err *err)
{
    AUTO(buf_release) struct buf key = {0};
    struct channel_tls *tls = NULL;

    if (buf_read_file(&key, path, CHANNEL_KEY_BYTES + 1, err) < 0 ||
        channel_tls_new(&tls, key.data, key.len, err) < 0)
        return NULL;
    return tls;
}

/* A connected channel, or NULL: the agent may not listen yet. */
static int dial(const char *address, int port, struct err *err)
{
    for (int i = 0;; i++) {
        int fd = channel_dial(address, port, err);
        struct pollfd wait = {.fd = fd, .events = POLLOUT};
        int error = 0;
        socklen_t len = sizeof error;

        if (fd >= 0 && poll(&wait, 1, CHANNEL_CONNECT_MS) == 1 &&
            getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error == 0)
            return fd;
        auto_close(&fd);
        if (i == ATTEMPTS)
            return err_set(err, ERR_TRANSIENT, "nobody listens at %s port %d", address, port);
        usleep(PAUSE_US);
    }
}

static int talk(struct agent_client *c, struct err *err)
{
    static struct lines lines;
    int input = STDIN_FILENO;

    while (!c->met) {
        struct pollfd fds[] = {{.fd = channel_fd(c->channel), .events = channel_wants(c->channel)},
                               {.fd = input, .events = POLLIN}};
        int64_t left = channel_next_ms(c->channel) - clock_ms();
        char bytes[16384];

        if (poll(fds, ARRAY_LEN(fds), left < 0 ? 0 : (int)left) < 0 && errno != EINTR)
            return err_set(err, ERR_IO, "poll: %s", strerror(errno));
        if (fds[1].revents) {
            ssize_t n = read(input, bytes, sizeof bytes);

            if (n <= 0)
                input = -1;
            else if (lines_add(&lines, bytes, (size_t)n, send_line, c, err) < 0)
                return -1;
        }
        if (channel_step(c->channel, fds[0].revents, clock_ms(), err) < 0 && !c->met)
            return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct agent_client c = {.until = argc == 7 ? argv[6] : NULL};
    struct channel_tls *tls;
    struct err err = {0};
    int fd, rc;

    if (argc != 5 && argc != 7) {
        fputs("usage: client ADDRESS PORT KEY CHANNEL [--until TEXT]\n", stderr);
        return EXIT_INVALID;
    }
    signal(SIGPIPE, SIG_IGN);
    tls = load(argv[3], &err);
    fd = tls ? dial(argv[1], (int)strtol(argv[2], NULL, 10), &err) : -1;
    if (fd < 0) {
        fprintf(stderr, "client: %s\n", err.msg);
        return EXIT_INVALID;
    }
    c.channel = channel_connect(tls, fd, print, &c, clock_ms());
    greet(c.channel, argv[4]);
    rc = talk(&c, &err);
    if (rc < 0)
        fprintf(stderr, "client: %s\n", err.msg);
    channel_free(c.channel);
    channel_tls_free(tls);
    return rc < 0 ? 1 : 0;
}
