#include "operator/controller/dispatcher.h"

#include <stdio.h>
#include <string.h>

#include "operator/controller/state.h"
#include "paceline/mem.h"

#define BUSY_MS 1000      /* a 429 without Retry-After */
#define BUSY_MAX_MS 60000 /* whatever it says */

struct sent {
    struct dispatcher *o;
    struct sent *next, *previous;
    struct kube_call *call;
    enum kube_method method;
    void (*item)(void *arg, const cJSON *item);
    dispatcher_done_fn *done;
    void *arg;
    bool bad;            /* an item could not be read, and so the list was not */
    uint64_t charged;    /* bytes of the answer: those of its items */
    char namespace_[64]; /* of the request; "": none */
};

struct single {
    struct single *next;
    struct api_request request;
    dispatcher_done_fn *done;
    void *arg;
};

static const char closing[] = "the operator ends";

static void request_clear(struct api_request *r)
{
    free(r->path);
    buf_release(&r->body);
}

void dispatcher_init(struct dispatcher *o, struct controller *c)
{
    *o = (struct dispatcher){.c = c};
    limit_init(&o->limit, c->config.per_second, c->config.burst, c->now.mono_ms);
}

static bool take_single(struct dispatcher *o, int which, struct api_request *r,
                        dispatcher_done_fn **done, void **arg)
{
    struct single *s = o->singles[which].first;

    if (!s)
        return false;
    o->singles[which].first = s->next;
    *r = s->request;
    *done = s->done;
    *arg = s->arg;
    free(s);
    return true;
}

void dispatcher_release(struct dispatcher *o)
{
    dispatcher_done_fn *done;
    struct api_request r;
    void *arg;

    o->closed = true;
    while (o->sent) {
        struct sent *s = o->sent;

        o->sent = s->next;
        o->c->ops->cancel(o->c->kube, s->call);
        s->done(s->arg, ANSWER_UNKNOWN, NULL, closing);
        free(s);
    }
    for (int i = 0; i < N_OUTBOX_LISTS; i++) {
        while (take_single(o, i, &r, &done, &arg)) {
            request_clear(&r);
            done(arg, ANSWER_UNKNOWN, NULL, closing);
        }
    }
}

void dispatcher_wake(struct dispatcher *o, struct request_source *s)
{
    if (s->queued)
        return;
    s->queued = true;
    s->after = NULL;
    if (o->first)
        o->last->after = s;
    else
        o->first = s;
    o->last = s;
}

void dispatcher_forget(struct dispatcher *o, struct request_source *s)
{
    struct request_source **at = &o->first, *before = NULL;

    while (*at && *at != s) {
        before = *at;
        at = &(*at)->after;
    }
    if (!*at)
        return;
    *at = s->after;
    if (o->last == s)
        o->last = before;
    s->queued = false;
}

static void dispatcher_append(struct dispatcher *o, int which, struct api_request r,
                              dispatcher_done_fn *done, void *arg)
{
    struct single_list *list = &o->singles[which];
    struct single *s;

    if (o->closed) {
        request_clear(&r);
        done(arg, ANSWER_UNKNOWN, NULL, closing);
        return;
    }
    s = xcalloc(1, sizeof *s);
    *s = (struct single){.request = r, .done = done, .arg = arg};
    if (list->first)
        list->last->next = s;
    else
        list->first = s;
    list->last = s;
}

void dispatcher_add(struct dispatcher *o, struct api_request r, dispatcher_done_fn *done, void *arg)
{
    dispatcher_append(o, DISPATCHER_FIRST, r, done, arg);
}

void dispatcher_add_last(struct dispatcher *o, struct api_request r, dispatcher_done_fn *done,
                         void *arg)
{
    dispatcher_append(o, DISPATCHER_LAST, r, done, arg);
}

/* The next source in turn that has something; it goes to the end of the ring. */
static bool take_from_source(struct dispatcher *o, struct api_request *r, dispatcher_done_fn **done,
                             void **arg)
{
    while (o->first) {
        struct request_source *s = o->first;

        o->first = s->after;
        s->queued = false;
        if (s->next(s, r, done, arg)) {
            dispatcher_wake(o, s);
            return true;
        }
    }
    return false;
}

/* The next request by rank, but for the share of what can wait. */
static bool dispatcher_take(struct dispatcher *o, struct api_request *r, dispatcher_done_fn **done,
                            void **arg)
{
    if (o->since_last >= DISPATCHER_SHARE && take_single(o, DISPATCHER_LAST, r, done, arg)) {
        o->since_last = 0;
        return true;
    }
    if (take_single(o, DISPATCHER_FIRST, r, done, arg) || take_from_source(o, r, done, arg)) {
        o->since_last++;
        o->since_spare++;
        return true;
    }
    return take_single(o, DISPATCHER_LAST, r, done, arg);
}

/* Charges the job of the object; a list, or a refusal, is the request's namespace's. */
static void dispatcher_charge(const struct sent *s, const cJSON *object, int64_t began_us,
                              uint64_t bytes)
{
    const cJSON *kind = cJSON_GetObjectItemCaseSensitive(object, "kind");
    char whose[WHOSE_SIZE];

    budget_whose(whose, object,
                 cJSON_IsString(kind) && strcmp(kind->valuestring, "TrainingJob") == 0);
    budget_charge(s->o->c, *whose ? whose : s->namespace_, began_us, bytes);
}

/* It says nothing of a cut: the informer, which meets every object, does. */
static void dispatcher_on_item(void *arg, const struct kube_item *text)
{
    struct sent *s = arg;
    int64_t began = budget_begin(s->o->c);
    AUTO(auto_json) cJSON *item = NULL;
    struct err err;

    if (answer_parse(&item, text->text, text->len, "an item", &err))
        s->bad = true;
    else
        s->item(s->arg, item);
    dispatcher_charge(s, item, began, text->received);
    s->charged += text->received;
}

static void dispatcher_on_answer(void *arg, const struct kube_response *r)
{
    struct sent *s = arg;
    struct dispatcher *o = s->o;
    int64_t began = budget_begin(o->c);
    AUTO(auto_json) cJSON *body = NULL;
    char message[512];
    enum answer answer = answer_read(r, &body, message, sizeof message);

    controller_count(o->c, s->method, r->status);
    if (s->bad && answer == ANSWER_OK)
        answer = ANSWER_UNKNOWN;
    if (answer == ANSWER_BUSY) {
        o->busy = true;
        o->retry_after_ms = r->retry_after_ms > 0 ? r->retry_after_ms : BUSY_MS;
        if (o->retry_after_ms > BUSY_MAX_MS)
            o->retry_after_ms = BUSY_MAX_MS;
    }
    if (s->previous)
        s->previous->next = s->next;
    else
        o->sent = s->next;
    if (s->next)
        s->next->previous = s->previous;
    o->n_sent--;
    o->received = r->received;
    s->done(s->arg, answer, body, message);
    dispatcher_charge(s, body, began, r->received > s->charged ? r->received - s->charged : 0);
    free(s);
}

/* The namespace in a path of the API. */
static void note_namespace(struct sent *s, const char *path)
{
    static const char before[] = "/namespaces/";
    const char *at = strstr(path, before);

    if (at)
        snprintf(s->namespace_, sizeof s->namespace_, "%.*s",
                 (int)strcspn(at + strlen(before), "/?"), at + strlen(before));
}

static void dispatcher_post(struct dispatcher *o, struct api_request *r, dispatcher_done_fn *done,
                            void *arg, int64_t timeout_ms)
{
    struct controller *c = o->c;
    struct sent *s = xcalloc(1, sizeof *s);
    struct kube_request request = {.method = r->method,
                                   .path = r->path,
                                   .content_type = r->content_type,
                                   .body = r->body.data,
                                   .body_len = r->body.len,
                                   .timeout_ms = timeout_ms,
                                   .keep = r->keep};

    *s = (struct sent){.o = o, .next = o->sent, .method = r->method, .done = done, .arg = arg};
    s->item = r->item;
    note_namespace(s, r->path);
    if (o->sent)
        o->sent->previous = s;
    o->sent = s;
    o->n_sent++;
    s->call = r->item ? c->ops->list(c->kube, &request, dispatcher_on_item, dispatcher_on_answer, s)
                      : c->ops->send(c->kube, &request, dispatcher_on_answer, s);
}

void dispatcher_step(struct dispatcher *o)
{
    struct controller *c = o->c;
    int64_t now = c->now.mono_ms, timeout_ms = 0;

    if (!c->stopping)
        timeout_ms = lease_write_ms(&c->lease, c->config.request_ms);

    if (o->busy) {
        o->busy = false;
        o->pause_until_ms = now + o->retry_after_ms;
    }
    while (timeout_ms <= 0 || (now >= o->pause_until_ms && o->n_sent < c->config.max_writes &&
                               limit_next_ms(&o->limit, now) == 0)) {
        struct api_request r = {0};
        dispatcher_done_fn *done;
        void *arg;

        if (!dispatcher_take(o, &r, &done, &arg))
            return;
        if (timeout_ms > 0) {
            (void)limit_take(&o->limit, now);
            dispatcher_post(o, &r, done, arg, timeout_ms);
        } else {
            done(arg, ANSWER_UNKNOWN, NULL, c->stopping ? closing : "not the leader");
        }
        request_clear(&r);
    }
}

static bool waits(const struct dispatcher *o)
{
    return o->first || o->singles[DISPATCHER_FIRST].first || o->singles[DISPATCHER_LAST].first;
}

int64_t dispatcher_next_ms(const struct dispatcher *o, int64_t mono_ms)
{
    int64_t wait;

    if (o->busy || (o->c->stopping && waits(o)))
        return 0;
    if (!waits(o) || o->n_sent >= o->c->config.max_writes)
        return -1;
    wait = limit_next_ms(&o->limit, mono_ms);
    if (o->pause_until_ms - mono_ms > wait)
        wait = o->pause_until_ms - mono_ms;
    return wait;
}

bool dispatcher_spare(struct dispatcher *o)
{
    if (!o->first && !o->singles[DISPATCHER_FIRST].first)
        return true;
    if (o->since_spare < DISPATCHER_SHARE)
        return false;
    o->since_spare = 0;
    return true;
}

bool dispatcher_idle(const struct dispatcher *o) { return !waits(o) && o->n_sent == 0; }
