#include "operator/kube/call.h"

#include <time.h>

#include "operator/kube/retry_after.h"
#include "operator/kube/secret.h"
#include "paceline/mem.h"

/* The part of a Status that is kept: the API server quotes what it refuses, whatever its size. */
static const struct sieve_field refusal[] = {
    {.name = "code"}, {.name = "reason"}, {.name = "message"}, {.name = NULL}};

const char *const kube_method_names[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};

int64_t kube_clock_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t); /* after a sleep, connections are old */
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void call_append(struct call_list *list, struct kube_call *call)
{
    call->previous = list->last;
    call->next = NULL;
    *(list->last ? &list->last->next : &list->first) = call;
    list->last = call;
    call->list = list;
}

void call_prepend(struct call_list *list, struct kube_call *call)
{
    call->next = list->first;
    call->previous = NULL;
    *(list->first ? &list->first->previous : &list->last) = call;
    list->first = call;
    call->list = list;
}

void call_unlink(struct kube_call *call)
{
    if (!call->list)
        return;
    *(call->previous ? &call->previous->next : &call->list->first) = call->next;
    *(call->next ? &call->next->previous : &call->list->last) = call->previous;
    call->list = NULL;
}

/* How long a watch may be silent: the server ends it after its timeoutSeconds. */
static int64_t idle_of(const struct kube_client_config *config, const char *path)
{
    const char *query = strchr(path, '?');
    const char *field = query ? strstr(query, "timeoutSeconds=") : NULL;
    long long seconds;

    if (!field || (field[-1] != '?' && field[-1] != '&'))
        return config->watch_idle_ms;
    seconds = strtoll(field + strlen("timeoutSeconds="), NULL, 10);
    if (seconds <= 0 || seconds > 86400 * 7)
        return config->watch_idle_ms;
    return seconds * 1000 + config->watch_grace_ms;
}

struct kube_call *call_new(const struct kube_client_config *config,
                           const struct kube_request *request, bool watch, kube_item_fn *item,
                           kube_done_fn *done, void *arg)
{
    struct kube_call *call = xcalloc(1, sizeof *call);

    call->config = config;
    call->method = request->method;
    call->path = xstrdup(request->path);
    call->content_type = request->content_type ? xstrdup(request->content_type) : NULL;
    call->accept = request->accept ? xstrdup(request->accept) : NULL;
    if (request->body) {
        call->body = xmalloc(request->body_len);
        memcpy(call->body, request->body, request->body_len);
        call->body_len = request->body_len;
    }
    call->timeout_ms = request->timeout_ms;
    call->watch = watch;
    call->item = item;
    call->keep = request->keep;
    call->done = done;
    call->arg = arg;
    call->idle_ms = watch ? idle_of(config, request->path) : 0;
    return call;
}

void call_free(struct kube_call *call)
{
    if (call->body) /* of Secrets too */
        explicit_bzero(call->body, call->body_len);
    free(call->body);
    free(call->path);
    free(call->content_type);
    free(call->accept);
    if (call->answer.data)
        explicit_bzero(call->answer.data, call->answer.len);
    buf_release(&call->answer);
    sieve_release(&call->sieve);
    identity_unref(call->identity);
    free(call);
}

static size_t call_on_read(char *out, size_t size, size_t n, void *arg)
{
    struct kube_call *call = arg;
    size_t room = size * n, left = call->body_len - call->body_sent;

    if (room > left)
        room = left;
    if (room)
        memcpy(out, call->body + call->body_sent, room);
    call->body_sent += room;
    return room;
}

static bool call_on_item(void *arg, const char *text, size_t len, bool cut)
{
    struct kube_call *call = arg;
    struct kube_item item = {text, len, cut, call->received - call->told};

    *call->called_back = true;
    call->told = call->received;
    call->item(call->arg, &item);
    return !call->cancelled;
}

/* Whether the answer is what `keep` is for. 202: an object that goes later is deleted. */
static bool is_sieved(const struct kube_call *call)
{
    long status = 0;

    curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    return call->keep && status >= 200 && status <= 202;
}

/* The next bytes of an answer that refuses. One that is no JSON (a proxy's page) says nothing. */
static void read_refusal(struct kube_call *call, const char *bytes, size_t n)
{
    if (!call->refused) {
        sieve_release(&call->sieve);
        sieve_init(&call->sieve, refusal, false);
    }
    call->refused = true;
    call->garbled =
        call->garbled || sieve_feed(&call->sieve, bytes, n, call_on_item, call) != SIEVE_OK;
}

const struct buf *call_body(const struct kube_call *call)
{
    if (call->refused && !sieve_complete(&call->sieve))
        return &call->answer;
    return call->sieve.rest.len ? &call->sieve.rest : &call->answer;
}

/* Anything but n makes curl end the transfer. */
static size_t on_write(char *bytes, size_t size, size_t n, void *arg)
{
    struct kube_call *call = arg;

    n *= size;
    if (call->cancelled)
        return n + 1;
    call->heard_ms = kube_clock_ms();
    call->received += n;
    if (is_sieved(call)) {
        enum sieve_result result = sieve_feed(&call->sieve, bytes, n, call_on_item, call);

        if (result == SIEVE_BAD)
            call->end = CALL_BAD_JSON;
        return result == SIEVE_OK ? n : n + 1;
    }
    if (call->keep) {
        read_refusal(call, bytes, n);
        return n;
    }
    buf_add(&call->answer, bytes, n);
    if (!call->answer.overflowed)
        return n;
    call->end = CALL_TOO_LARGE;
    return n + 1;
}

static size_t call_on_header(char *bytes, size_t size, size_t n, void *arg)
{
    static const char name[] = "retry-after:";
    struct kube_call *call = arg;
    long status = 0;

    n *= size;
    call->heard_ms = kube_clock_ms();
    if (n > strlen(name) && strncasecmp(bytes, name, strlen(name)) == 0)
        call->retry_after_ms =
            retry_after_ms(bytes + strlen(name), n - strlen(name), (int64_t)time(NULL));
    if (n <= 2) { /* the empty line after the headers */
        curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
        call->has_headers = status >= 200;
    }
    return n;
}

static void add_header(struct kube_call *call, const char *name, const char *value)
{
    AUTO(auto_secret) char *line = xasprintf("%s: %s", name, value);
    struct curl_slist *longer = curl_slist_append(call->headers, line);

    if (longer)
        call->headers = longer;
}

static void set_headers(struct kube_call *call, const struct endpoint *endpoint)
{
    const char *content_type = call->content_type ? call->content_type : "application/json";

    add_header(call, "Accept", call->accept ? call->accept : "application/json");
    if (call->body)
        add_header(call, "Content-Type", content_type);
    if (call->identity->authorization)
        add_header(call, "Authorization", call->identity->authorization);
    call->headers = curl_slist_append(call->headers, "Expect:"); /* no waiting for 100 */
    if (endpoint->host_header)
        call->headers = curl_slist_append(call->headers, endpoint->host_header);
    curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->headers);
}

/*
 * The body is read by a callback that cannot be rewound: so curl sends a request again on a new
 * connection only if nothing of its body has left, and a create is never done twice by us.
 */
static void set_method(struct kube_call *call)
{
    CURL *easy = call->easy;

    if (call->method == KUBE_GET) {
        curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
        return;
    }
    if (call->body || call->method != KUBE_DELETE) {
        curl_easy_setopt(easy, CURLOPT_POST, 1L);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body_len);
        curl_easy_setopt(easy, CURLOPT_READFUNCTION, call_on_read);
        curl_easy_setopt(easy, CURLOPT_READDATA, call);
    }
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, kube_method_names[call->method]);
}

void call_begin(struct kube_call *call, CURL *easy, const struct endpoint *endpoint,
                struct identity *identity, int64_t now_ms)
{
    AUTO(auto_free) char *url = xasprintf("%s%s", endpoint->base, call->path);

    identity_unref(call->identity);
    call->identity = identity;
    call->easy = easy;
    call->body_sent = 0;
    call->has_headers = call->refused = call->garbled = false;
    call->heard_ms = now_ms;
    call->end = CALL_NOT_ENDED;
    call->retry_after_ms = -1;
    call->curl_error[0] = '\0';
    buf_release(&call->answer);
    buf_init_secret(&call->answer, call->config->max_body); /* Secrets come, too */
    call->received = call->told = 0;
    sieve_release(&call->sieve);
    sieve_init(&call->sieve, call->keep, call->watch);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->curl_error);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_write);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, call_on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, call);
    if (!call->watch) /* a watch has a time limit for its headers only */
        curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS,
                         call->deadline_ms > now_ms ? (long)(call->deadline_ms - now_ms) : 1L);
    set_method(call);
    set_headers(call, endpoint);
}

CURL *call_detach(struct kube_call *call)
{
    CURL *easy = call->easy;

    call->easy = NULL;
    curl_easy_reset(easy);
    for (struct curl_slist *h = call->headers; h; h = h->next)
        explicit_bzero(h->data, strlen(h->data));
    curl_slist_free_all(call->headers);
    call->headers = NULL;
    return easy;
}

/*
 * A server that refuses before it has read the request may close the connection (API servers do
 * with 401), which curl reports as an error though the answer is here.
 */
int call_status(struct kube_call *call, CURLcode result)
{
    curl_off_t length = -1;
    long status = 0;

    curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    if (call->end != CALL_NOT_ENDED || status < 200)
        return 0;
    if (result == CURLE_OK && (call->watch || !is_sieved(call) || sieve_complete(&call->sieve)))
        return (int)status;
    if (result == CURLE_OK) {
        call->end = CALL_BAD_JSON;
        return 0;
    }
    if (status == 401) /* of this one, nothing else matters */
        return 401;
    if (status < 400 || !call->has_headers)
        return 0;
    curl_easy_getinfo(call->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    return length == (curl_off_t)call->received ? (int)status : 0;
}

static const char *ca_of(const struct kube_access *access)
{
    return access->ca.where ? access->ca.where : "the system's";
}

void call_explain(const struct kube_call *call, CURLcode result, const struct endpoint *endpoint,
                  const struct kube_access *access, char *text, size_t size)
{
    const char *method = kube_method_names[call->method], *server = endpoint->name;
    const char *cause = call->curl_error[0] ? call->curl_error : curl_easy_strerror(result);
    int path = (int)strcspn(call->path, "?");
    int n =
        snprintf(text, size, "%s %s%.*s: ", method, server, path > 160 ? 160 : path, call->path);

    if (n < 0 || (size_t)n >= size)
        return;
    text += n;
    size -= (size_t)n;
    if (call->end == CALL_TOO_LARGE)
        snprintf(text, size, "the answer is larger than %zu bytes", call->config->max_body);
    else if (call->end == CALL_BAD_JSON)
        snprintf(text, size, "the answer is not valid JSON");
    else if (call->end == CALL_NO_HEADERS)
        snprintf(text, size, "no answer within %lld ms", (long long)call->timeout_ms);
    else if (call->end == CALL_SILENT)
        snprintf(text, size, "the watch was silent for %lld ms", (long long)call->idle_ms);
    else if (result == CURLE_OK)
        snprintf(text, size, "the watch ended without an answer");
    else if (result == CURLE_PEER_FAILED_VERIFICATION)
        snprintf(text, size, "the server's certificate was refused: %s; the CA is %s", cause,
                 ca_of(access));
    else if (result == CURLE_OPERATION_TIMEDOUT)
        snprintf(text, size, "no answer in time: %s", cause);
    else
        snprintf(text, size, "%s", cause);
}
