/* Requests between the operators and the API server: latency, loss, streams. */
#include <assert.h>

#include "paceline/mem.h"
#include "tests/sim/world.h"
#include "tests/unit/sieve_check.h"

#define KEEP_ALIVE_MS 60000 /* until TCP notices that the other side is gone */

struct call {
    struct sim_world *w;
    int64_t id;
    int n;         /* operator */
    int64_t epoch; /* of its process */
    struct kube_request request;
    kube_done_fn *done;
    kube_item_fn *item;
    bool watching;
    void *arg;
    struct request_fault fault;
    bool arriving; /* on its way to the server */
    bool finished; /* for the client */
    bool busy;     /* inside its callback */
    struct api_answer answer;
    struct api_watch *watch;
    bool silent, pumping;
    int64_t lag_ms;
};

static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
static const char *const reset = "connection reset by peer";

static struct call *call_of(struct sim_world *w, int64_t id) { return w->calls[id]; }

/* Frees it when neither side will see it again. */
static void release(struct call *c)
{
    struct sim_world *w = c->w;

    if (!c->finished || c->arriving || c->busy)
        return;
    for (size_t i = 0; i < w->n_watches; i++) {
        if (w->watches[i] == c)
            w->watches[i--] = w->watches[--w->n_watches];
    }
    w->calls[c->id] = NULL;
    answer_release(&c->answer);
    watch_free(c->watch);
    free((void *)c->request.path);
    free((void *)c->request.content_type);
    free((void *)c->request.accept);
    free((void *)c->request.body);
    free(c);
}

static char *copy(const char *s) { return s ? xstrdup(s) : NULL; }

static struct call *call_new(struct operator_process *op, const struct kube_request *r,
                             kube_done_fn *done, void *arg)
{
    struct sim_world *w = op->w;
    struct call *c = xcalloc(1, sizeof *c);

    if (w->n_calls == w->cap_calls) {
        w->cap_calls = w->cap_calls ? w->cap_calls * 2 : 256;
        w->calls = xrealloc(w->calls, w->cap_calls * sizeof(struct call *));
    }
    *c = (struct call){.w = w, .id = (int64_t)w->n_calls, .n = op->n, .epoch = op->epoch};
    c->request = *r;
    c->request.path = copy(r->path);
    c->request.content_type = copy(r->content_type);
    c->request.accept = copy(r->accept);
    c->request.body = NULL;
    if (r->body) {
        char *body = xmalloc(r->body_len + 1);

        memcpy(body, r->body, r->body_len);
        body[r->body_len] = '\0';
        c->request.body = body;
    }
    c->done = done;
    c->arg = arg;
    w->calls[w->n_calls++] = c;
    return c;
}

/* True: its operator is stopped; the event comes again when it goes on. */
static bool waits(struct call *c, event_fn *fn)
{
    const struct operator_process *op = &c->w->operators[c->n];

    if (op->paused_until <= c->w->now_ms)
        return false;
    world_after(c->w, op->paused_until - c->w->now_ms, fn, c->id);
    return true;
}

/* Tells the client how its call ended; the server may still have the request. */
static void finish(struct call *c, const struct kube_response *r)
{
    struct sim_world *w = c->w;
    int n = c->n;

    c->finished = true;
    c->busy = true;
    c->done(c->arg, r);
    c->busy = false;
    release(c);
    operator_step(w, n);
}

static void finish_without(struct call *c, const char *error)
{
    finish(c, &(struct kube_response){.body = "", .retry_after_ms = -1, .error = error});
}

static bool give_item(void *arg, const char *text, size_t len, bool cut)
{
    struct call *c = arg;

    c->item(c->arg, &(struct kube_item){text, len, cut, len});
    return !c->finished;
}

/* As operator/kube does: through the sieve, where the request has one. */
static void deliver_body(struct call *c)
{
    const struct buf *body = &c->answer.body;
    struct kube_response r = {.status = c->answer.status,
                              .body = body->data,
                              .len = body->len,
                              .retry_after_ms = c->answer.retry_after_ms,
                              .received = body->len};
    AUTO(sieved_release) struct sieved seen = {0};

    if (c->watching) {
        r.body = "";
        r.len = 0;
    } else if (c->request.keep) {
        c->busy = true;
        sieve_text_to(&seen, c->request.keep, false, body->data, body->len,
                      1 + (size_t)c->id % 4096, give_item, c);
        c->busy = false;
        assert(seen.complete);
        r.body = seen.rest.data;
        r.len = seen.rest.len;
    }
    finish(c, &r);
}

/* Of a list that is lost on its way, some objects have come. */
static void deliver_half(struct call *c)
{
    AUTO(sieved_release) struct sieved seen = {0};

    if (!c->item || c->watching || !c->answer.body.len)
        return;
    c->busy = true;
    sieve_text_to(&seen, c->request.keep, false, c->answer.body.data, c->answer.body.len / 2,
                  1 + (size_t)c->id % 4096, give_item, c);
    c->busy = false;
}

/* An event of a watch. */
static void give_event(struct call *c, const struct buf *line)
{
    AUTO(sieved_release) struct sieved seen = {0};

    sieve_text_to(&seen, c->request.keep, true, line->data, line->len, 1 + (size_t)c->id % 4096,
                  give_item, c);
    assert(seen.complete || c->finished);
}

static void on_deliver(struct sim_world *w, int64_t id)
{
    struct call *c = call_of(w, id);

    if (!c || c->finished || waits(c, on_deliver))
        return;
    if (c->answer.status == 0) {
        deliver_half(c);
        finish_without(c, reset);
        return;
    }
    if (c->answer.status != 200 && c->answer.status != 201) {
        finish(c, &(struct kube_response){.status = c->answer.status,
                                          .body = c->answer.body.data,
                                          .len = c->answer.body.len,
                                          .retry_after_ms = c->answer.retry_after_ms});
        return;
    }
    deliver_body(c);
}

static void on_timeout(struct sim_world *w, int64_t id)
{
    struct call *c = call_of(w, id);

    if (!c || c->finished || (c->watching && c->watch) || waits(c, on_timeout))
        return;
    world_trace(w, "op%d request %lld timed out", c->n, (long long)id);
    finish_without(c, "timed out");
}

static void on_pump(struct sim_world *w, int64_t id);

static void pump_soon(struct call *c)
{
    if (c->pumping || c->silent || !c->watch)
        return;
    c->pumping = true;
    world_after(c->w, random_range(&c->w->schedule, 1, 25) + c->lag_ms, on_pump, c->id);
}

static void on_watch_cut(struct sim_world *w, int64_t id)
{
    struct call *c = call_of(w, id);

    if (c && !c->finished && !waits(c, on_watch_cut))
        finish_without(c, reset);
}

static void on_watch_end(struct sim_world *w, int64_t id)
{
    struct call *c = call_of(w, id);

    if (c && !c->finished && !c->silent && !waits(c, on_watch_end))
        finish(c, &(struct kube_response){.status = 200, .body = "", .retry_after_ms = -1});
}

static void on_bookmark(struct sim_world *w, int64_t id)
{
    struct call *c = call_of(w, id);
    AUTO(buf_release) struct buf line = {0};
    int n;

    if (!c || c->finished || waits(c, on_bookmark))
        return;
    world_after(w, random_range(&w->schedule, 50000, 65000), on_bookmark, id);
    if (c->silent || c->pumping)
        return;
    watch_bookmark(c->watch, &line);
    n = c->n;
    c->busy = true;
    give_event(c, &line);
    c->busy = false;
    release(c);
    operator_step(w, n);
}

static void on_pump(struct sim_world *w, int64_t id)
{
    struct call *c = call_of(w, id);
    int n;
    bool ended = false;

    if (!c || c->finished || waits(c, on_pump))
        return;
    c->pumping = false;
    if (c->silent)
        return;
    n = c->n;
    c->busy = true;
    while (!c->finished && !ended) {
        AUTO(buf_release) struct buf line = {0};

        if (!watch_next(c->watch, w->api.store.rv, &line))
            break;
        ended = strncmp(line.data, "{\"type\":\"ERROR\"", 15) == 0;
        give_event(c, &line);
        if (!c->finished && random_chance(&w->schedule, 100)) { /* the rest comes later */
            pump_soon(c);
            break;
        }
    }
    if (ended && !c->finished)
        world_after(w, 1, on_watch_end, id);
    c->busy = false;
    release(c);
    operator_step(w, n);
}

void network_changed(struct sim_world *w, enum store_kind kind)
{
    for (size_t i = 0; i < w->n_watches; i++) {
        if (w->watches[i]->watch->kind == kind)
            pump_soon(w->watches[i]);
    }
}

void network_watch_fault(struct sim_world *w)
{
    struct call *c;
    int64_t kind = random_range(&w->faults, FAULT_WATCH_CUT, FAULT_WATCH_LAG);

    if (!w->n_watches)
        return;
    c = w->watches[random_next(&w->faults) % w->n_watches];
    world_fault(w, (enum fault)kind);
    switch (kind) {
    case FAULT_WATCH_CUT:
        world_after(w, 0, on_watch_cut, c->id);
        break;
    case FAULT_WATCH_HALF:
        c->silent = true;
        world_after(w, KEEP_ALIVE_MS, on_watch_cut, c->id);
        break;
    case FAULT_WATCH_STALL:
        c->silent = true;
        break;
    default:
        c->lag_ms = random_range(&w->faults, 100, 20000);
    }
}

void network_heal(struct sim_world *w)
{
    for (size_t i = 0; i < w->n_watches; i++)
        w->watches[i]->lag_ms = 0;
}

void network_release(struct sim_world *w)
{
    for (size_t i = 0; i < w->n_calls; i++) {
        if (w->calls[i]) {
            w->calls[i]->finished = true;
            w->calls[i]->arriving = w->calls[i]->busy = false;
            release(w->calls[i]);
        }
    }
    free((void *)w->calls);
}

static const char *fault_reason(enum fault kind)
{
    switch (kind) {
    case FAULT_CONFLICT:
        return "Conflict";
    case FAULT_GONE:
        return "Expired";
    case FAULT_BUSY:
        return "TooManyRequests";
    case FAULT_FORBIDDEN:
        return "Forbidden";
    default:
        return "InternalError";
    }
}

/* The fault's own answer; false: the server does what it is asked. */
static bool refuse(struct call *c)
{
    static const int codes[] = {[FAULT_CONFLICT] = 409,
                                [FAULT_GONE] = 410,
                                [FAULT_BUSY] = 429,
                                [FAULT_ERROR] = 500,
                                [FAULT_FORBIDDEN] = 403};
    enum fault kind = c->fault.kind;

    if (!c->fault.fault || kind > FAULT_FORBIDDEN)
        return false;
    api_fail(&c->answer, codes[kind], fault_reason(kind), KIND_POD, NULL, "injected %d",
             codes[kind]);
    if (kind == FAULT_BUSY)
        c->answer.retry_after_ms = random_range(&c->w->faults, 0, 3) * 1000;
    return true;
}

static void answer_watch(struct call *c)
{
    struct sim_world *w = c->w;

    if (c->finished) {
        release(c);
        return;
    }
    if (!refuse(c))
        c->watch = watch_new(&w->api, &c->request, &c->answer);
    if (!c->watch) {
        world_after(w, random_range(&w->schedule, 1, 10), on_deliver, c->id);
        return;
    }
    w->watches[w->n_watches++] = c;
    assert(w->n_watches < MAX_WATCHES);
    world_after(w, random_range(&w->schedule, 50000, 65000), on_bookmark, c->id);
    if (c->watch->timeout_ms)
        world_after(w, c->watch->timeout_ms, on_watch_end, c->id);
    pump_soon(c);
}

/* Whether the one who sent it has given it up or leads no more. */
static bool is_late(const struct call *c)
{
    const struct operator_process *op = &c->w->operators[c->n];

    return c->finished || op->epoch != c->epoch || !op->c || !controller_leads(op->c);
}

static void on_arrive(struct sim_world *w, int64_t id)
{
    struct call *c = call_of(w, id);

    c->arriving = false;
    if (c->watching) {
        answer_watch(c);
        return;
    }
    tenant_between(w);
    w->actor = ACTOR_OPERATOR;
    w->actor_late = is_late(c);
    if (!refuse(c)) {
        truth_request(
            w, c->finished || w->operators[c->n].epoch != c->epoch ? NULL : &w->operators[c->n],
            &c->request);
        api_handle(&w->api, &c->request, &c->answer);
    }
    if (!strstr(c->request.path, "/leases") || c->answer.status != 200)
        world_trace(w, "op%d %s %.110s -> %d%s", c->n, methods[c->request.method], c->request.path,
                    c->answer.status, w->actor_late ? " (late)" : "");
    if (c->finished) {
        release(c);
        return;
    }
    if (c->fault.fault && c->fault.kind == FAULT_LOST)
        c->answer.status = 0;
    world_after(w,
                random_range(&w->schedule, 1, 10) +
                    (c->fault.fault && c->fault.kind == FAULT_SLOW ? c->fault.delay_ms : 0),
                on_deliver, id);
}

/* When the request leaves: a process that is stopped inside a step sends when it goes on. */
static void dispatch(struct operator_process *op, struct call *c)
{
    struct sim_world *w = op->w;
    int64_t leaves = op->frozen_until > w->now_ms ? op->frozen_until - w->now_ms : 0;
    int64_t arrives = leaves + random_range(&w->schedule, 1, 10);

    if (op->dying) /* never sent */
        return;
    c->fault = faults_of_request(w, op, &c->request);
    if (op->dying)
        return;
    world_after(w, leaves + c->request.timeout_ms, on_timeout, c->id);
    if (c->fault.fault && c->fault.kind == FAULT_TIMEOUT)
        return;
    if (c->fault.fault && c->fault.kind == FAULT_REFUSED) {
        world_after(w, arrives, on_deliver, c->id);
        return;
    }
    if (c->fault.fault && c->fault.kind == FAULT_LATE)
        arrives += c->fault.delay_ms;
    c->arriving = true;
    world_after(w, arrives, on_arrive, c->id);
}

static struct kube_call *list(void *kube, const struct kube_request *r, kube_item_fn *item,
                              kube_done_fn *done, void *arg)
{
    struct operator_process *op = kube;
    struct call *c = call_new(op, r, done, arg);

    c->item = item;
    truth_sends(op->w, op, r);
    if (strstr(r->path, "/namespaces/" TENANT_NS "/"))
        op->w->n_tenant_requests++;
    else
        op->w->n_requests += !strstr(r->path, "/leases");
    dispatch(op, c);
    return (struct kube_call *)c;
}

static struct kube_call *send(void *kube, const struct kube_request *r, kube_done_fn *done,
                              void *arg)
{
    return list(kube, r, NULL, done, arg);
}

static struct kube_call *watch(void *kube, const struct kube_request *r, kube_item_fn *item,
                               kube_done_fn *done, void *arg)
{
    struct operator_process *op = kube;
    struct call *c = call_new(op, r, done, arg);

    c->item = item;
    c->watching = true;
    op->w->n_requests++;
    dispatch(op, c);
    return (struct kube_call *)c;
}

static void cancel(void *kube, struct kube_call *call)
{
    struct call *c = (struct call *)call;

    (void)kube;
    c->finished = true;
    release(c);
}

const struct kube_ops network_ops = {send, list, watch, cancel};
