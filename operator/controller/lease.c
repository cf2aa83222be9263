#include "operator/controller/lease.h"

#include <stdio.h>
#include <string.h>

#include "operator/controller/answer.h"
#include "operator/controller/state.h"
#include "paceline/log.h"
#include "paceline/mem.h"

#define MARGIN_MS 500
#define FOLLOW_MS 500 /* how often a follower reads, and a lost renewal or release is repeated */

void lease_init(struct lease *l, struct controller *c)
{
    *l = (struct lease){.c = c, .at_mono_ms = c->now.mono_ms};
}

void lease_release(struct lease *l)
{
    if (l->call)
        l->c->ops->cancel(l->c->kube, l->call);
    l->call = NULL;
}

bool lease_leads(const struct lease *l)
{
    const struct controller *c = l->c;

    if (!c->config.elect)
        return true;
    return l->held && !l->releasing && c->now.mono_ms < l->renewed_mono_ms + c->config.renew_ms;
}

int64_t lease_write_ms(const struct lease *l, int64_t wanted_ms)
{
    const struct controller *c = l->c;
    int64_t left;

    if (!c->config.elect)
        return wanted_ms;
    if (!lease_leads(l))
        return 0;
    left = l->renewed_mono_ms + c->config.lease_ms - MARGIN_MS - c->now.mono_ms;
    return left < wanted_ms ? left : wanted_ms;
}

static const char *lease_text_of(const cJSON *object, const char *key)
{
    const char *s = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));

    return s ? s : "";
}

/* Notes the record; whoever renews it changes it. Our writes over a former version are void. */
static void see(struct lease *l, const cJSON *body)
{
    const cJSON *meta = cJSON_GetObjectItemCaseSensitive(body, "metadata");
    const cJSON *spec = cJSON_GetObjectItemCaseSensitive(body, "spec");
    const cJSON *duration = cJSON_GetObjectItemCaseSensitive(spec, "leaseDurationSeconds");
    const cJSON *transitions = cJSON_GetObjectItemCaseSensitive(spec, "leaseTransitions");
    const char *version = lease_text_of(meta, "resourceVersion");

    if (!l->seen || strcmp(l->version, version) != 0)
        l->fresh = true;
    l->seen = true;
    snprintf(l->version, sizeof l->version, "%s", version);
    snprintf(l->holder, sizeof l->holder, "%s", lease_text_of(spec, "holderIdentity"));
    l->claimed = strcmp(l->holder, l->c->config.identity) == 0;
    snprintf(l->renew_time, sizeof l->renew_time, "%s", lease_text_of(spec, "renewTime"));
    l->duration_ms =
        cJSON_IsNumber(duration) && duration->valuedouble >= 0 && duration->valuedouble <= 86400
            ? (int64_t)(duration->valuedouble * 1000)
            : l->c->config.lease_ms;
    l->transitions = cJSON_IsNumber(transitions) && transitions->valuedouble >= 0 &&
                             transitions->valuedouble < 1e15
                         ? (int64_t)transitions->valuedouble
                         : 0;
}

static void on_seen(void *arg, const struct kube_response *r)
{
    struct lease *l = arg;
    AUTO(auto_json) cJSON *body = NULL;
    char message[256];
    enum answer answer = answer_read(r, &body, message, sizeof message);

    l->call = NULL;
    l->answered = true;
    controller_count(l->c, KUBE_GET, r->status);
    if (answer == ANSWER_OK) {
        see(l, body);
        l->read = true;
        if (strcmp(l->holder, l->c->config.identity) != 0)
            l->held = false;
    } else if (answer == ANSWER_NOT_FOUND) {
        l->missing = true;
        l->seen = l->held = l->claimed = false;
        l->holder[0] = '\0';
    } else {
        l->failed = true;
        log_warn("lease: cannot read code=%d: %s", r->status, message);
    }
}

static void on_written(void *arg, const struct kube_response *r)
{
    struct lease *l = arg;
    AUTO(auto_json) cJSON *body = NULL;
    char message[256];
    enum answer answer = answer_read(r, &body, message, sizeof message);

    l->call = NULL;
    l->answered = true;
    controller_count(l->c, l->seen ? KUBE_PUT : KUBE_POST, r->status);
    if (answer == ANSWER_OK) {
        see(l, body);
        l->held = strcmp(l->holder, l->c->config.identity) == 0;
        l->renewed_mono_ms = l->sent_mono_ms;
    } else if (answer == ANSWER_CONFLICT || answer == ANSWER_EXISTS || answer == ANSWER_NOT_FOUND) {
        l->seen = false; /* read it before the next try */
        l->contested = l->held;
    } else {
        l->failed = true;
        l->claimed |= answer == ANSWER_UNKNOWN;
        log_warn("lease: cannot write code=%d: %s", r->status, message);
    }
}

static void lease_path(const struct lease *l, struct buf *out, bool object)
{
    buf_init(out, 0);
    buf_printf(out, "/apis/coordination.k8s.io/v1/namespaces/%s/leases",
               l->c->config.operator_namespace);
    if (object)
        buf_printf(out, "/%s", l->c->config.lease_name);
}

/* MicroTime: always with six digits after the point. */
static void add_time(struct buf *out, int64_t ms)
{
    char whole[TIME_SIZE];

    time_encode(ms - ms % 1000, whole);
    buf_printf(out, "\"%.*s.%06dZ\"", (int)strcspn(whole, "Z"), whole, (int)(ms % 1000) * 1000);
}

static void add_body(const struct lease *l, struct buf *out, const char *holder)
{
    const struct controller_config *config = &l->c->config;
    bool ours = strcmp(l->holder, config->identity) == 0;

    buf_puts(out, "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{"
                  "\"name\":");
    json_print_string(config->lease_name, out);
    buf_puts(out, ",\"namespace\":");
    json_print_string(config->operator_namespace, out);
    if (l->seen) {
        buf_puts(out, ",\"resourceVersion\":");
        json_print_string(l->version, out);
    }
    buf_puts(out, "},\"spec\":{\"holderIdentity\":");
    json_print_string(holder, out);
    buf_printf(out, ",\"leaseDurationSeconds\":%lld,\"leaseTransitions\":%lld,\"renewTime\":",
               (long long)(*holder ? (config->lease_ms + 999) / 1000 : 1),
               (long long)(l->transitions + !ours));
    add_time(out, l->c->now.wall_ms);
    if (!ours) {
        buf_puts(out, ",\"acquireTime\":");
        add_time(out, l->c->now.wall_ms);
    }
    buf_puts(out, "}}");
}

static void lease_send(struct lease *l, enum kube_method method, const char *holder)
{
    struct controller *c = l->c;
    AUTO(buf_release) struct buf path;
    AUTO(buf_release) struct buf body;
    int64_t timeout_ms = c->config.retry_ms > 1000 ? c->config.retry_ms : 1000;

    lease_path(l, &path, method != KUBE_POST);
    buf_init(&body, 0);
    if (holder)
        add_body(l, &body, holder);
    l->sent_mono_ms = c->now.mono_ms;
    l->call = c->ops->send(c->kube,
                           &(struct kube_request){.method = method,
                                                  .path = path.data,
                                                  .body = holder ? body.data : NULL,
                                                  .body_len = body.len,
                                                  .timeout_ms = timeout_ms},
                           holder ? on_written : on_seen, l);
}

/* Nobody holds it, or whoever does has not renewed it for as long as it lasts. */
static bool lease_is_free(const struct lease *l)
{
    int64_t since = l->c->now.mono_ms - l->changed_mono_ms;

    return !l->holder[0] || strcmp(l->holder, l->c->config.identity) == 0 ||
           since >= l->duration_ms;
}

static void try(struct lease *l)
{
    const char *me = l->c->config.identity;

    if (l->releasing) {
        l->released = !l->claimed;
        if (l->claimed)
            lease_send(l, l->seen ? KUBE_PUT : KUBE_GET, l->seen ? "" : NULL);
    } else if (l->missing) {
        l->missing = false;
        lease_send(l, KUBE_POST, me);
    } else if (l->seen && (l->held || lease_is_free(l))) {
        lease_send(l, KUBE_PUT, me);
    } else {
        lease_send(l, KUBE_GET, NULL);
    }
}

/* The time of the next attempt, after an answer. */
static int64_t next_try_ms(const struct lease *l)
{
    int64_t wait_ms = l->c->config.retry_ms;

    if (l->missing || l->contested || (l->read && !l->held && lease_is_free(l)) ||
        (l->releasing && !l->failed))
        return l->c->now.mono_ms;
    if (wait_ms > FOLLOW_MS && (!l->held || l->releasing || l->read))
        wait_ms = FOLLOW_MS;
    return l->sent_mono_ms + wait_ms;
}

void lease_step(struct lease *l)
{
    struct controller *c = l->c;
    int64_t now = c->now.mono_ms;

    if (!c->config.elect || l->released)
        return;
    if (l->fresh) {
        l->fresh = false;
        l->changed_mono_ms = now;
    }
    if (l->held && now >= l->renewed_mono_ms + c->config.renew_ms) {
        log_warn("lease: could not be renewed in time; no longer the leader");
        l->held = false;
    }
    if (l->answered) {
        l->at_mono_ms = next_try_ms(l);
        l->answered = l->read = l->contested = l->failed = false;
    }
    if (!l->call && now >= l->at_mono_ms) {
        l->at_mono_ms = now + c->config.retry_ms;
        try(l);
    }
}

int64_t lease_next_ms(const struct lease *l, int64_t mono_ms)
{
    int64_t at = l->at_mono_ms;

    if (!l->c->config.elect || l->released)
        return -1;
    if (l->answered || l->fresh)
        return 0;
    if (l->held && l->renewed_mono_ms + l->c->config.renew_ms < at)
        at = l->renewed_mono_ms + l->c->config.renew_ms;
    if (l->call) {
        if (!l->held)
            return -1;
        at = l->renewed_mono_ms + l->c->config.renew_ms;
    }
    return at > mono_ms ? at - mono_ms : 0;
}

void lease_give_back(struct lease *l)
{
    if (!l->c->config.elect) {
        l->released = true;
        return;
    }
    if (l->releasing)
        return;
    l->releasing = true;
    l->at_mono_ms = l->c->now.mono_ms;
}
