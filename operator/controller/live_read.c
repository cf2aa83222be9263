#include "operator/controller/live_read.h"

#include <string.h>

#include "operator/controller/decode.h"
#include "operator/controller/requests.h"
#include "operator/controller/state.h"
#include "paceline/mem.h"

struct live_read {
    struct controller *c;
    char *key, *uid;
    struct list_page page;
    int n_items;
};

static void live_read_end(struct live_read *f, bool failed)
{
    struct controller *c = f->c;
    struct job_state *m = job_states_find(c->job_states, f->key);

    if (m && strcmp(m->uid, f->uid) == 0) {
        m->page = f->page;
        m->uncertain = failed;
        m->failed = m->failed || failed;
    }
    workqueue_add(c->queue, f->key, c->now.mono_ms);
    workqueue_done(c->queue, f->key, c->now.mono_ms);
    free(f->key);
    free(f->uid);
    free(f);
}

static void live_read_ask(struct live_read *f, const struct tj *tj, const char *after);

static void live_read_on_pod(void *arg, const cJSON *pod)
{
    struct live_read *f = arg;

    f->n_items++;
    decode_object(f->c, RESOURCE_PODS, pod, CACHE_ANSWER);
}

static void on_page(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct live_read *f = arg;
    struct controller *c = f->c;
    const cJSON *meta = cJSON_GetObjectItemCaseSensitive(body, "metadata");
    const char *more = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(meta, "continue"));
    const struct tj *tj = job_of_key(c, f->key);

    (void)message;
    if (answer != ANSWER_OK || !answer_is_list(body)) {
        if (answer == ANSWER_UNKNOWN)
            list_page_failed(&f->page, c->config.page, c->dispatcher.received);
        live_read_end(f, true);
        return;
    }
    list_page_arrived(&f->page, c->config.page, f->n_items, c->dispatcher.received);
    if (more && *more && tj) {
        live_read_ask(f, tj, more);
        return;
    }
    if (!more || !*more)
        list_page_complete(&f->page);
    live_read_end(f, false);
}

static void live_read_ask(struct live_read *f, const struct tj *tj, const char *after)
{
    int limit;

    if (!after)
        list_page_begin(&f->page);
    f->n_items = 0;
    limit = list_page_limit(&f->page, f->c->config.page);
    dispatcher_add(&f->c->dispatcher, request_list_pods(tj, limit, after, live_read_on_pod),
                   on_page, f);
}

static void live_read_on_job(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct live_read *f = arg;
    const struct tj *tj;

    (void)message;
    if (answer == ANSWER_OK)
        decode_object(f->c, RESOURCE_JOBS, body, CACHE_ANSWER);
    tj = job_of_key(f->c, f->key);
    if (tj && strcmp(tj->meta.uid, f->uid) != 0)
        tj = NULL;
    if (answer == ANSWER_OK && tj) {
        live_read_ask(f, tj, NULL);
        return;
    }
    if (answer == ANSWER_NOT_FOUND && tj)
        decode_no_job(f->c, tj);
    live_read_end(f, true);
}

void live_read_start(struct controller *c, const char *key, const struct tj *tj)
{
    struct live_read *f = xcalloc(1, sizeof *f);
    const struct job_state *m = job_states_of(c->job_states, key, tj->meta.uid, c->now.mono_ms);

    *f = (struct live_read){.c = c, .key = xstrdup(key), .uid = xstrdup(tj->meta.uid)};
    f->page = m->page;
    dispatcher_add(&c->dispatcher, request_get_job(tj->meta.namespace_, tj->meta.name),
                   live_read_on_job, f);
}
