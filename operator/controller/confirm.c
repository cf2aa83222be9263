#include "operator/controller/confirm.h"

#include <string.h>

#include "operator/controller/decode.h"
#include "operator/controller/requests.h"
#include "operator/controller/state.h"
#include "paceline/mem.h"

struct confirm {
    struct controller *c;
    char *key, *uid;
};

static void end(struct confirm *f, bool failed)
{
    struct controller *c = f->c;
    struct memory *m = memories_find(c->memories, f->key);

    if (m && strcmp(m->uid, f->uid) == 0) {
        m->uncertain = failed;
        m->failed = m->failed || failed;
    }
    workqueue_add(c->queue, f->key, c->now.mono_ms);
    workqueue_done(c->queue, f->key, c->now.mono_ms);
    free(f->key);
    free(f->uid);
    free(f);
}

static void ask(struct confirm *f, const struct tj *tj, const char *after);

static void on_pod(void *arg, const cJSON *pod)
{
    const struct confirm *f = arg;

    decode_object(f->c, RESOURCE_PODS, pod, CACHE_ANSWER);
}

static void on_page(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct confirm *f = arg;
    struct controller *c = f->c;
    const cJSON *meta = cJSON_GetObjectItemCaseSensitive(body, "metadata");
    const char *more = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(meta, "continue"));
    const struct tj *tj = job_of_key(c, f->key);

    (void)message;
    if (answer != ANSWER_OK || !answer_is_list(body)) {
        end(f, true);
        return;
    }
    if (more && *more && tj)
        ask(f, tj, more);
    else
        end(f, false);
}

static void ask(struct confirm *f, const struct tj *tj, const char *after)
{
    outbox_add(&f->c->outbox, request_list_pods(tj, f->c->config.page, after, on_pod), on_page, f);
}

static void on_job(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct confirm *f = arg;
    const struct tj *tj;

    (void)message;
    if (answer == ANSWER_OK)
        decode_object(f->c, RESOURCE_JOBS, body, CACHE_ANSWER);
    tj = job_of_key(f->c, f->key);
    if (tj && strcmp(tj->meta.uid, f->uid) != 0)
        tj = NULL;
    if (answer == ANSWER_OK && tj) {
        ask(f, tj, NULL);
        return;
    }
    if (answer == ANSWER_NOT_FOUND && tj)
        decode_no_job(f->c, tj);
    end(f, true);
}

void confirm_start(struct controller *c, const char *key, const struct tj *tj)
{
    struct confirm *f = xcalloc(1, sizeof *f);

    *f = (struct confirm){.c = c, .key = xstrdup(key), .uid = xstrdup(tj->meta.uid)};
    outbox_add(&c->outbox, request_get_job(tj->meta.namespace_, tj->meta.name), on_job, f);
}
