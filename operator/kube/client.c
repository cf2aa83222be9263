#include "operator/kube/client.h"

#include <assert.h>
#include <errno.h>

#include "operator/kube/call.h"
#include "operator/kube/transport.h"
#include "paceline/mem.h"

#define IDLE_EASIES 16       /* handles kept for later requests */
#define SWEEP_MS 10          /* deadlines are kept to so many milliseconds */
#define MAX_CONNECTIONS 4096 /* kept open; as many as there are calls in practice */

struct kube_client {
    struct kube_access access;
    struct kube_client_config config;
    char *user_agent;
    struct endpoint endpoint;
    struct credentials *credentials;
    CURLM *multi;
    struct sockets sockets;
    CURL *easies[IDLE_EASIES];
    size_t n_easies;

    struct call_list requests, watches; /* wait for their turn; watches wait for credentials only */
    struct call_list active, cancelled, late;
    size_t n_queued, n_active, n_active_watches;
    uint64_t numbers;
    int64_t sweep_ms; /* a deadline passes no earlier */
    bool http1;       /* is what the server spoke last */
    bool called_back; /* in this poll */
    bool inside;      /* of kube_client_poll */
    int also_fd;      /* its waiting ends for this one, too; or -1 */
    struct kube_client_stats stats;
};

static void set_default(int64_t *value, int64_t standard)
{
    if (*value <= 0)
        *value = standard;
}

static void set_defaults(struct kube_client_config *c)
{
    c->max_requests = c->max_requests > 0 ? c->max_requests : 64;
    set_default(&c->connect_ms, 10000);
    set_default(&c->watch_grace_ms, 10000);
    set_default(&c->watch_idle_ms, 3610000);
    set_default(&c->exec_ms, 60000);
    set_default(&c->check_ms, 5000);
    c->max_body = c->max_body ? c->max_body : (size_t)4 << 20;
}

int kube_client_new(struct kube_client **out, struct kube_access *access,
                    const struct kube_client_config *config, struct err *err)
{
    static const struct kube_client_config standard;
    struct kube_client *client = xcalloc(1, sizeof *client);

    kube_access_move(&client->access, access);
    client->config = config ? *config : standard;
    set_defaults(&client->config);
    client->http1 = client->config.http1;
    client->user_agent =
        xstrdup(client->config.user_agent ? client->config.user_agent : "paceline-operator");
    client->config.user_agent = client->user_agent;
    client->sweep_ms = INT64_MAX;
    client->also_fd = -1;
    endpoint_init(&client->endpoint, &client->access);
    if (curl_global_init(CURL_GLOBAL_DEFAULT) || !(client->multi = curl_multi_init())) {
        kube_client_free(client);
        return err_set(err, ERR_IO, "libcurl could not be started");
    }
    curl_multi_setopt(client->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
    curl_multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, (long)MAX_CONNECTIONS);
    if (credentials_new(&client->credentials, &client->access, client->config.check_ms,
                        client->config.exec_ms, kube_clock_ms(), err)) {
        kube_client_free(client);
        return -1;
    }
    *out = client;
    return 0;
}

static void free_calls(struct kube_client *client, struct call_list *list)
{
    while (list->first) {
        struct kube_call *call = list->first;

        call_unlink(call);
        if (call->easy) {
            curl_multi_remove_handle(client->multi, call->easy);
            curl_easy_cleanup(call_detach(call));
        }
        call_free(call);
    }
}

void kube_client_free(struct kube_client *client)
{
    if (!client)
        return;
    assert(!client->inside);
    free_calls(client, &client->requests);
    free_calls(client, &client->watches);
    free_calls(client, &client->active);
    free_calls(client, &client->cancelled);
    free_calls(client, &client->late);
    while (client->n_easies)
        curl_easy_cleanup(client->easies[--client->n_easies]);
    curl_multi_cleanup(client->multi);
    free(client->sockets.fds);
    credentials_free(client->credentials);
    endpoint_release(&client->endpoint);
    kube_access_release(&client->access);
    free(client->user_agent);
    free(client);
    curl_global_cleanup();
}

static void note_deadline(struct kube_client *client, int64_t at_ms)
{
    if (at_ms < client->sweep_ms)
        client->sweep_ms = at_ms;
}

static struct kube_call *client_add(struct kube_client *client, const struct kube_request *request,
                                    bool watch, kube_item_fn *item, kube_done_fn *done, void *arg)
{
    struct kube_call *call = call_new(&client->config, request, watch, item, done, arg);

    assert(!item || request->keep);
    call->number = ++client->numbers;
    call->called_back = &client->called_back;
    call->deadline_ms = kube_clock_ms() + request->timeout_ms;
    note_deadline(client, call->deadline_ms);
    call_append(watch ? &client->watches : &client->requests, call);
    client->n_queued++;
    return call;
}

static struct kube_call *send_request(void *kube, const struct kube_request *request,
                                      kube_done_fn *done, void *arg)
{
    return client_add(kube, request, false, NULL, done, arg);
}

static struct kube_call *client_list(void *kube, const struct kube_request *request,
                                     kube_item_fn *item, kube_done_fn *done, void *arg)
{
    return client_add(kube, request, false, item, done, arg);
}

static struct kube_call *client_watch(void *kube, const struct kube_request *request,
                                      kube_item_fn *item, kube_done_fn *done, void *arg)
{
    return client_add(kube, request, true, item, done, arg);
}

/* curl lets nothing be removed from inside its callbacks, so it is done at the next poll. */
static void cancel(void *kube, struct kube_call *call)
{
    struct kube_client *client = kube;

    if (call->cancelled)
        return;
    call->cancelled = true;
    if (!call->list)
        return; /* its done callback is being called; it is freed after that */
    client->n_queued -= call->list == &client->requests || call->list == &client->watches;
    call_unlink(call);
    call_append(&client->cancelled, call);
}

const struct kube_ops *kube_client_ops(void)
{
    static const struct kube_ops ops = {send_request, client_list, client_watch, cancel};

    return &ops;
}

/* Not in a list while its callback runs; freed afterwards. */
static void call_back(struct kube_client *client, struct kube_call *call,
                      const struct kube_response *response)
{
    client->called_back = true;
    call_unlink(call);
    call->done(call->arg, response);
    call_free(call);
}

static void client_fail(struct kube_client *client, struct kube_call *call, const char *error)
{
    struct kube_response response = {.body = "", .retry_after_ms = -1, .error = error};

    call_back(client, call, &response);
}

static void put_easy(struct kube_client *client, CURL *easy)
{
    if (client->n_easies < IDLE_EASIES)
        client->easies[client->n_easies++] = easy;
    else
        curl_easy_cleanup(easy);
}

/* Takes the call away from curl. */
static void leave_curl(struct kube_client *client, struct kube_call *call)
{
    long connects = 0, version = 0;

    curl_easy_getinfo(call->easy, CURLINFO_NUM_CONNECTS, &connects);
    client->stats.connects += connects > 0 ? (uint64_t)connects : 0;
    curl_easy_getinfo(call->easy, CURLINFO_HTTP_VERSION, &version);
    if (version)
        client->http1 = version < CURL_HTTP_VERSION_2_0;
    client->n_active--;
    client->n_active_watches -= call->watch;
    curl_multi_remove_handle(client->multi, call->easy);
    put_easy(client, call_detach(call));
}

static int client_start(struct kube_client *client, struct kube_call *call,
                        struct identity *identity, int64_t now_ms)
{
    CURL *easy = client->n_easies ? client->easies[--client->n_easies] : curl_easy_init();

    if (!easy)
        return -1;
    client->n_queued--;
    call_unlink(call);
    transport_set(easy, &client->config, client->access.insecure, &client->endpoint, identity,
                  &client->sockets);
    /* With HTTP/1.1 libcurl 8.14 would not wake those that wait behind a watch. */
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, client->http1 ? 0L : 1L);
    call_begin(call, easy, &client->endpoint, identity, now_ms);
    call_append(&client->active, call);
    client->n_active++;
    client->n_active_watches += call->watch;
    if (call->watch)
        note_deadline(client, now_ms + call->idle_ms);
    client->stats.requests++;
    if (curl_multi_add_handle(client->multi, easy)) {
        call->deadline_ms = 0; /* it will hear nothing; the sweep ends it */
        note_deadline(client, now_ms);
    }
    return 0;
}

static struct kube_call *next_to_start(struct kube_client *client)
{
    size_t requests = client->n_active - client->n_active_watches;

    if (client->watches.first)
        return client->watches.first;
    return requests < (size_t)client->config.max_requests ? client->requests.first : NULL;
}

/* Without credentials everything fails that waits now; what callbacks add waits for its own. */
static void fail_queued(struct kube_client *client, const char *error)
{
    struct call_list *lists[] = {&client->requests, &client->watches};
    uint64_t last = client->numbers;

    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct kube_call *call;

        while ((call = lists[i]->first) && call->number <= last) {
            client->n_queued--;
            client_fail(client, call, error);
        }
    }
}

static void start_queued(struct kube_client *client, int64_t now_ms)
{
    struct kube_call *call;
    struct err err = {0};

    while ((call = next_to_start(client))) {
        struct identity *identity = credentials_get(client->credentials, now_ms, &err);

        if (!identity) {
            if (err.code != ERR_NONE) /* else a plugin runs */
                fail_queued(client, err.msg);
            return;
        }
        if (client_start(client, call, identity, now_ms)) {
            identity_unref(identity);
            return;
        }
    }
}

static void free_cancelled(struct kube_client *client)
{
    while (client->cancelled.first) {
        struct kube_call *call = client->cancelled.first;

        call_unlink(call);
        if (call->easy)
            leave_curl(client, call);
        call_free(call);
    }
}

static void client_deliver(struct kube_client *client, struct kube_call *call, CURLcode result,
                           int status)
{
    struct kube_response response = {.body = "", .retry_after_ms = call->retry_after_ms};
    char text[512];

    if (status) {
        response.status = status;
        response.body = call_body(call)->data;
        response.len = call_body(call)->len;
        response.received = call->received;
    } else {
        call_explain(call, result, &client->endpoint, &client->access, text, sizeof text);
        response.error = text;
    }
    call_back(client, call, &response);
}

/* The transfer is over, or ends here because of its time. */
static void client_finish(struct kube_client *client, struct kube_call *call, CURLcode result)
{
    int64_t now_ms = kube_clock_ms();
    int status = call_status(call, result);

    if (result == CURLE_OPERATION_TIMEDOUT)
        sockets_abandon_dead(&client->sockets,
                             call->end == CALL_SILENT ? call->idle_ms : call->timeout_ms);
    leave_curl(client, call);
    if (call->cancelled) {
        call_unlink(call);
        call_free(call);
        return;
    }
    if (result == CURLE_PEER_FAILED_VERIFICATION)
        credentials_doubt(client->credentials);
    if (status == 401 && !call->retried &&
        credentials_refused(client->credentials, call->identity->generation, now_ms)) {
        call->retried = true;
        client->stats.retries++;
        call_unlink(call);
        call_prepend(call->watch ? &client->watches : &client->requests, call);
        client->n_queued++;
        note_deadline(client, call->deadline_ms);
        return;
    }
    client_deliver(client, call, result, status);
}

static void client_collect(struct kube_client *client)
{
    struct CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(client->multi, &left))) {
        struct kube_call *call = NULL;

        if (message->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call);
        client_finish(client, call, message->data.result);
    }
}

/* The time at which a call under way is dead; curl keeps the time of what is no watch. */
static int64_t active_deadline(const struct kube_call *call)
{
    if (!call->watch)
        return call->deadline_ms + 1000; /* in case that curl does not */
    return call->has_headers ? call->heard_ms + call->idle_ms : call->deadline_ms;
}

static void sweep_list(struct kube_client *client, struct call_list *list, int64_t now_ms)
{
    for (struct kube_call *call = list->first, *next; call; call = next) {
        int64_t deadline = call->easy ? active_deadline(call) : call->deadline_ms;

        next = call->next;
        if (deadline > now_ms) {
            note_deadline(client, deadline > now_ms + SWEEP_MS ? deadline : now_ms + SWEEP_MS);
            continue;
        }
        client->n_queued -= !call->easy;
        call_unlink(call);
        call_append(&client->late, call);
    }
}

static void end_late(struct kube_client *client, struct kube_call *call)
{
    AUTO(auto_free) char *text = NULL;

    if (call->easy) {
        call->end = call->watch && call->has_headers ? CALL_SILENT : CALL_NO_HEADERS;
        client_finish(client, call, CURLE_OPERATION_TIMEDOUT);
        return;
    }
    text = xasprintf("%s %s: not sent within %lld ms: %s", kube_method_names[call->method],
                     client->endpoint.name, (long long)call->timeout_ms,
                     credentials_next_ms(client->credentials, 0) >= 0
                         ? "it waited for the exec plugin"
                         : "it waited behind other requests");
    client_fail(client, call, text);
}

static void client_sweep(struct kube_client *client, int64_t now_ms)
{
    if (now_ms < client->sweep_ms)
        return;
    client->sweep_ms = INT64_MAX;
    sweep_list(client, &client->requests, now_ms);
    sweep_list(client, &client->watches, now_ms);
    sweep_list(client, &client->active, now_ms);
    while (client->late.first)
        end_late(client, client->late.first);
}

static void client_work(struct kube_client *client)
{
    int64_t now_ms = kube_clock_ms();
    int running;

    free_cancelled(client);
    credentials_step(client->credentials, now_ms);
    client_sweep(client, now_ms);
    start_queued(client, now_ms);
    curl_multi_perform(client->multi, &running);
    client_collect(client);
    free_cancelled(client);
    start_queued(client, now_ms);
}

static void wait_for_something(struct kube_client *client, int64_t timeout_ms)
{
    int64_t now_ms = kube_clock_ms(), plugin = credentials_next_ms(client->credentials, now_ms);
    struct curl_waitfd waits[3] = {{0}};
    int fds[3], n = credentials_fds(client->credentials, fds);

    if (client->also_fd >= 0)
        fds[n++] = client->also_fd;

    for (int i = 0; i < n; i++)
        waits[i] = (struct curl_waitfd){.fd = fds[i], .events = CURL_WAIT_POLLIN};
    if (client->sweep_ms - now_ms < timeout_ms)
        timeout_ms = client->sweep_ms > now_ms ? client->sweep_ms - now_ms : 0;
    if (plugin >= 0 && plugin < timeout_ms)
        timeout_ms = plugin;
    if (timeout_ms > INT32_MAX)
        timeout_ms = INT32_MAX;
    curl_multi_poll(client->multi, waits, (unsigned)n, (int)timeout_ms, NULL);
}

void kube_client_poll(struct kube_client *client, int64_t timeout_ms)
{
    assert(!client->inside);
    client->inside = true;
    client->called_back = false;
    client_work(client);
    if (!client->called_back && timeout_ms > 0) {
        wait_for_something(client, timeout_ms);
        client_work(client);
    }
    client->inside = false;
}

void kube_client_wait_for(struct kube_client *client, int fd) { client->also_fd = fd; }

void kube_client_wakeup(struct kube_client *client)
{
    int cause = errno; /* kept for a signal handler's victim */

    curl_multi_wakeup(client->multi);
    errno = cause;
}

struct kube_client_stats kube_client_stats(const struct kube_client *client)
{
    struct kube_client_stats stats = client->stats;

    stats.queued = client->n_queued;
    stats.active = client->n_active;
    return stats;
}
