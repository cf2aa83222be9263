#include "operator/controller/answer.h"

#include <stdio.h>
#include <string.h>

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

enum answer answer_read(const struct kube_response *r, cJSON **body, char *message, size_t size)
{
    AUTO(auto_json) cJSON *parsed = NULL;
    const char *sentence;
    struct err err;
    int bad = r->status == 0 || json_parse(&parsed, r->body, r->len, "the API's answer", &err) != 0;

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
        snprintf(message, size, "%s", sentence);
    else if (r->status)
        snprintf(message, size, "the API server answered %d", r->status);
    else
        snprintf(message, size, "%s", r->error ? r->error : "no answer");
    return of_status(r, parsed);
}
