#include "operator/web/web.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <libwebsockets.h>

#include "operator/web/page.h"
#include "operator/web/slot.h"
#include "paceline/log.h"
#include "paceline/mem.h"

enum {
    HEADER_BYTES = 4096,   /* of a request; a longer one is refused */
    RESPONSE_HEAD = 1024,  /* of an answer */
    CHUNK_BYTES = 4096,    /* per write */
    BODY_BYTES = 64 << 10, /* of an answer; /metrics has 10 KiB */
};

struct web {
    pthread_t thread;
    struct slot slot; /* control thread to web thread */
    atomic_bool stop;
    /* Between web_start and web_stop the web thread's alone. */
    struct lws_context *context;
    struct lws_vhost *vhost;
    int listen_fd;          /* -1: none */
    bool listen_fd_adopted; /* libwebsockets closes it */
    int port;
    struct snapshot *newest;
    struct lws *connections[WEB_CONNECTIONS]; /* the oldest first */
    size_t n_connections;
    char *version;
    int64_t start_ms;
};

/* One answer. libwebsockets zeroes it; body is made by the request. */
struct web_session {
    struct buf body; /* LWS_PRE bytes that libwebsockets may write to, then the text */
    size_t sent;
};

static int64_t mono_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static struct metrics_process process_now(const struct web *w)
{
    struct metrics_process p = {.start_seconds = (double)w->start_ms / 1e3, .version = w->version};
    AUTO(auto_fclose) FILE *f = fopen("/proc/self/statm", "re");
    unsigned long long pages = 0;
    struct timespec cpu;

    if (f && fscanf(f, "%*u %llu", &pages) == 1) /* NOLINT: the kernel writes small numbers */
        p.resident_bytes = pages * (unsigned long long)sysconf(_SC_PAGESIZE);
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu) == 0)
        p.cpu_seconds = (double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9;
    return p;
}

static void web_forget(struct web *w, const struct lws *wsi)
{
    for (size_t i = 0; i < w->n_connections; i++) {
        if (w->connections[i] != wsi)
            continue;
        w->n_connections--;
        memmove(&w->connections[i], &w->connections[i + 1],
                (w->n_connections - i) * sizeof(struct lws *));
        return;
    }
}

/*
 * Our own accept, because libwebsockets' has no limit that lets a new connection win. The oldest
 * is closed in the next turn of the service loop, which then finds the socket readable again.
 */
static void accept_connections(struct web *w)
{
    while (w->n_connections < WEB_CONNECTIONS) {
        int fd = accept4(w->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        struct lws *wsi;

        if (fd < 0 && errno == EMFILE)
            break;
        if (fd < 0)
            return;
        wsi = lws_adopt_socket_vhost(w->vhost, fd); /* closes fd when it fails */
        if (!wsi)
            continue;
        w->connections[w->n_connections++] = wsi;
        /* Apart from libwebsockets' own time-outs, which start again with every step. */
        lws_set_timer_usecs(wsi, (lws_usec_t)WEB_DEADLINE_MS * LWS_US_PER_MS);
    }
    if (w->n_connections > 0)
        lws_set_timeout(w->connections[0], PENDING_TIMEOUT_KILLED_BY_PARENT, LWS_TO_KILL_ASYNC);
}

static int send_head(struct lws *wsi, const struct web_page *page, size_t length)
{
    unsigned char head[LWS_PRE + RESPONSE_HEAD];
    unsigned char *start = head + LWS_PRE, *p = start, *end = head + sizeof head - 1;

    if (lws_add_http_common_headers(wsi, (unsigned int)page->status, page->content_type, length, &p,
                                    end))
        return -1;
    if (page->status == 405 &&
        lws_add_http_header_by_token(wsi, WSI_TOKEN_HTTP_ALLOW, (const unsigned char *)"GET", 3, &p,
                                     end))
        return -1;
    return lws_finalize_write_http_header(wsi, start, &p, end) ? -1 : 0;
}

static int on_request(struct web *w, struct lws *wsi, struct web_session *session, const char *path)
{
    static const char pre[LWS_PRE];
    bool is_get = lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI) > 0;
    struct metrics_process process = process_now(w);
    struct snapshot *news = slot_take(&w->slot);
    struct web_page page;

    if (news) {
        free(w->newest);
        w->newest = news;
    }
    buf_release(&session->body);
    buf_init(&session->body, BODY_BYTES);
    buf_add(&session->body, pre, sizeof pre);
    session->sent = LWS_PRE;
    page = page_make(path, is_get, w->newest, mono_ms(), &process, &session->body);
    if (send_head(wsi, &page, session->body.len - LWS_PRE) != 0)
        return -1;
    if (lws_hdr_total_length(wsi, WSI_TOKEN_HEAD_URI) > 0) /* has no body, whatever its status */
        return -1;
    lws_callback_on_writable(wsi);
    return 0;
}

/* -1 closes the connection, which libwebsockets does after all was sent. */
static int on_writable(struct lws *wsi, struct web_session *session)
{
    size_t left, n;

    if (!session->body.data)
        return -1;
    left = session->body.len - session->sent;
    n = left < CHUNK_BYTES ? left : CHUNK_BYTES;
    if (lws_write(wsi, (unsigned char *)session->body.data + session->sent, n,
                  n == left ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) < 0)
        return -1;
    session->sent += n;
    if (n == left)
        return -1;
    lws_callback_on_writable(wsi);
    return 0;
}

static int web_on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                        size_t len)
{
    struct web *w = lws_context_user(lws_get_context(wsi));
    struct web_session *session = user;

    (void)len;
    switch (reason) {
    case LWS_CALLBACK_RAW_RX_FILE: /* the listening socket */
        accept_connections(w);
        return 0;
    case LWS_CALLBACK_HTTP:
        return on_request(w, wsi, session, in);
    case LWS_CALLBACK_HTTP_WRITEABLE:
        return on_writable(wsi, session);
    case LWS_CALLBACK_HTTP_DROP_PROTOCOL:
    case LWS_CALLBACK_CLOSED_HTTP:
        if (session)
            buf_release(&session->body);
        return 0;
    case LWS_CALLBACK_WSI_DESTROY:
        web_forget(w, wsi);
        return 0;
    case LWS_CALLBACK_TIMER: /* the deadline */
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION: /* WebSocket */
        return -1;
    default:
        return 0;
    }
}

/* Strangers cause what libwebsockets complains about, so it is kept out of the log. */
static void on_log(int level, const char *line)
{
    size_t len = strcspn(line, "\n");

    (void)level;
    log_debug("libwebsockets: %.*s", (int)len, line);
}

static void *web_run(void *arg)
{
    struct web *w = arg;

    while (!atomic_load(&w->stop) && lws_service(w->context, 0) >= 0)
        ;
    return NULL;
}

/* Libwebsockets keeps what info points to. */
static const struct lws_protocols protocols[] = {
    {.name = "http", .callback = web_on_event, .per_session_data_size = sizeof(struct web_session)},
    {0},
};
static const struct lws_protocol_vhost_options nosniff = {.name = "x-content-type-options:",
                                                          .value = "nosniff"};
static const struct lws_protocol_vhost_options no_store = {
    .next = &nosniff, .name = "cache-control:", .value = "no-store"};
static const struct lws_protocol_vhost_options headers = {
    .next = &no_store, .name = "connection:", .value = "close"};

static int open_context(struct web *w)
{
    struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN_SERVER,
        .protocols = protocols,
        .headers = &headers,
        .server_string = "paceline",
        .options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS | LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS,
        .user = w,
        /* Without a limit its tables grow with RLIMIT_NOFILE, to megabytes in a container. */
        .fd_limit_per_thread = WEB_CONNECTIONS + 16,
        .max_http_header_data = HEADER_BYTES,
        .max_http_header_pool = WEB_CONNECTIONS,
        .timeout_secs = WEB_DEADLINE_MS / 1000,
        .timeout_secs_ah_idle = WEB_DEADLINE_MS / 1000,
    };
    lws_sock_file_fd_type fd = {.sockfd = w->listen_fd};

    lws_set_log_level(LLL_ERR | LLL_WARN, on_log);
    w->context = lws_create_context(&info);
    if (!w->context)
        return -1;
    w->vhost = lws_create_vhost(w->context, &info);
    if (!w->vhost)
        return -1;
    w->listen_fd_adopted = true;
    return lws_adopt_descriptor_vhost(w->vhost, LWS_ADOPT_RAW_FILE_DESC, fd, protocols[0].name,
                                      NULL)
               ? 0
               : -1;
}

static int web_start_thread(struct web *w)
{
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&w->thread, NULL, web_run, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

static void web_free(struct web *w)
{
    if (w->context)
        lws_context_destroy(w->context);
    if (w->listen_fd >= 0 && !w->listen_fd_adopted)
        close(w->listen_fd);
    slot_release(&w->slot);
    free(w->newest);
    free(w->version);
    free(w);
}

struct web *web_start(const struct listener_address *address, const char *version, int64_t start_ms,
                      struct err *err)
{
    struct web *w = xcalloc(1, sizeof *w);

    w->version = xstrdup(version);
    w->start_ms = start_ms;
    w->listen_fd = listener_open(address, err);
    if (w->listen_fd < 0)
        goto failed;
    w->port = listener_port(w->listen_fd);
    if (open_context(w) != 0 || web_start_thread(w) != 0) {
        err_set(err, ERR_IO, "libwebsockets or its thread cannot start");
        goto failed;
    }
    return w;

failed:
    web_free(w);
    return NULL;
}

void web_stop(struct web *w)
{
    if (!w)
        return;
    atomic_store(&w->stop, true);
    lws_cancel_service(w->context); /* alive until the thread has ended */
    pthread_join(w->thread, NULL);
    web_free(w);
}

void web_publish(struct web *w, const struct snapshot *s)
{
    struct snapshot *copy = xmalloc(sizeof *copy);

    *copy = *s;
    slot_put(&w->slot, copy);
}

int web_port(const struct web *w) { return w->port; }
