#include "operator/controller/answer.h"

#include <stdio.h>
#include <string.h>

#include "operator/api/field.h"
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

/*
 * Blanks what json_parse would not take though the API server does: escaped NULs become U+FFFD, and
 * what is nested too deep leaves its container empty.
 */
static void tame(char *text, size_t len)
{
    size_t depth = 0, outer;
    bool string = false;

    for (size_t i = 0; i < len; i++) {
        char *at = &text[i];
        bool escape = string && *at == '\\' && i + 1 < len;

        outer = depth;
        if (!string && strchr("[{", *at))
            depth++;
        else if (!string && strchr("]}", *at) && depth)
            outer = --depth;
        else if (*at == '"')
            string = !string;
        if (escape && len - i >= 6 && strncmp(at, "\\u0000", 6) == 0)
            memcpy(at, "\\ufffd", 6);
        if (outer >= JSON_MAX_DEPTH)
            memset(at, ' ', 1 + escape);
        i += escape;
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
    return json_parse(out, copy, len, name, err);
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
