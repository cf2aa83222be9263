#include "operator/controller/answer.h"

#include <stdio.h>
#include <string.h>

#include "operator/api/field.h"
#include "operator/api/kept.h"
#include "paceline/mem.h"

static enum answer of_conflict(const cJSON *status)
{
    const char *reason = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(status, "reason"));

    return reason && strcmp(reason, "AlreadyExists") == 0 ? ANSWER_EXISTS : ANSWER_CONFLICT;
}

static enum answer of_status(const struct kube_response *r, const cJSON *status)
{
    switch (r->status) {
    case 400:
    case 413:
    case 422:
        return ANSWER_INVALID;
    case 401:
    case 403:
        return ANSWER_FORBIDDEN;
    case 404:
        return ANSWER_NOT_FOUND;
    case 409:
        return of_conflict(status);
    case 410:
        return ANSWER_GONE;
    case 429:
        return ANSWER_BUSY;
    case 503:
        return r->retry_after_ms >= 0 ? ANSWER_BUSY : ANSWER_UNKNOWN;
    default:
        return ANSWER_UNKNOWN;
    }
}

/* The length of the escape at text[0], a backslash. *bad: it stands for no character that we keep.
 */
static size_t escape_length(const char *text, size_t n, bool *bad)
{
    bool high, low;

    *bad = false;
    if (n < 6 || text[1] != 'u')
        return n < 2 ? n : 2;
    high = (text[2] | 0x20) == 'd' && strchr("89aAbB", text[3]);
    low = (text[2] | 0x20) == 'd' && strchr("cCdDeEfF", text[3]);
    if (high && n >= 12 && text[6] == '\\' && text[7] == 'u' && (text[8] | 0x20) == 'd' &&
        strchr("cCdDeEfF", text[9]))
        return 12;
    *bad = high || low || strncmp(text, "\\u0000", 6) == 0;
    return 6;
}

/*
 * Replaces content that json_parse refuses although the API server accepts it: escaped NULs and
 * halves of surrogate pairs become U+FFFD, and what is nested too deep leaves its container empty.
 */
static void tame(char *text, size_t len)
{
    static const char unknown[6] = {'\\', 'u', 'f', 'f', 'f', 'd'};
    size_t depth = 0, outer, step;
    bool string = false, bad;

    for (size_t i = 0; i < len; i += step) {
        char *at = &text[i];

        outer = depth;
        step = 1;
        if (string && *at == '\\') {
            step = escape_length(at, len - i, &bad);
            if (bad)
                memcpy(at, unknown, sizeof unknown);
        } else if (*at == '"') {
            string = !string;
        } else if (!string && strchr("[{", *at)) {
            depth++;
        } else if (!string && strchr("]}", *at) && depth) {
            outer = --depth;
        }
        if (outer >= JSON_MAX_DEPTH)
            memset(at, ' ', step);
    }
}

int answer_parse(cJSON **out, const char *text, size_t len, const char *name, struct err *err)
{
    AUTO(auto_free) char *copy = NULL;

    if (json_parse(out, text, len, name, err) == 0)
        return 0;
    if (len > JSON_MAX_BYTES || memchr(text, '\0', len))
        return -1;
    copy = memcpy(xcalloc(len + 1, 1), text, len);
    tame(copy, len);
    return json_parse_lenient(out, copy, len, name, err);
}

static bool take_identity(void *arg, const char *text, size_t len, bool cut)
{
    (void)cut;
    buf_add(arg, text, len);
    return true;
}

int answer_parse_identity(cJSON **out, const char *text, size_t len, bool event, const char *name,
                          struct err *err)
{
    const struct sieve_field *keep = event ? kept_identity_event : kept_identity;
    AUTO(sieve_release) struct sieve sieve;
    AUTO(buf_release) struct buf identity;

    buf_init(&identity, 0);
    sieve_init(&sieve, keep, true);
    if (sieve_feed(&sieve, text, len, take_identity, &identity) != SIEVE_OK || !identity.len)
        return err_set(err, ERR_INVALID, "%s: not valid JSON", name);
    return answer_parse(out, identity.data, identity.len, name, err);
}

bool answer_is_list(const cJSON *body)
{
    const cJSON *meta = cJSON_GetObjectItemCaseSensitive(body, "metadata");
    const char *version =
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(meta, "resourceVersion"));

    return version && *version;
}

enum answer answer_read(const struct kube_response *r, cJSON **body, char *message, size_t size)
{
    AUTO(auto_json) cJSON *parsed = NULL;
    const char *sentence;
    struct err err;
    int bad =
        r->status == 0 || answer_parse(&parsed, r->body, r->len, "the API's answer", &err) != 0;

    if (body)
        *body = NULL;
    message[0] = '\0';
    if (r->status >= 200 && r->status < 300) {
        if (!bad) {
            if (body)
                *body = STEAL(parsed);
            return ANSWER_OK;
        }
        snprintf(message, size, "%s", err.msg);
        return ANSWER_UNKNOWN;
    }
    sentence = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(parsed, "message"));
    if (sentence)
        snprintf(message, size, "%.*s", (int)text_cut(sentence, size - 1), sentence);
    else if (r->status)
        snprintf(message, size, "the API server answered %d", r->status);
    else
        snprintf(message, size, "%s", r->error ? r->error : "no answer");
    return of_status(r, parsed);
}
