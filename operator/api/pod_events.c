#include "operator/api/pod_events.h"

#include <string.h>

#include "operator/api/field.h"

#define MAX_REASON 128
#define MAX_MESSAGE 512

/* The time at which it was last seen. Reporters of events leave different ones of these fields out.
 */
static int64_t seen_ms(const cJSON *event)
{
    int64_t last = field_time(event, "lastTimestamp");

    if (!last)
        last = field_time(field_get(event, "series"), "lastObservedTime");
    if (!last)
        last = field_time(event, "eventTime");
    return last ? last : field_time(field_get(event, "metadata"), "creationTimestamp");
}

static bool is_warning(const cJSON *event)
{
    const char *type = field_string(event, "type");

    return type && strcmp(type, "Warning") == 0;
}

static bool is_later(const cJSON *event, const cJSON *than)
{
    int64_t a = seen_ms(event) / 1000, b = than ? seen_ms(than) / 1000 : -1;

    return a != b ? a > b : is_warning(event) || !is_warning(than);
}

const char *pod_events_newest(const cJSON *list, struct arena *a)
{
    const cJSON *event, *newest = NULL;
    const char *reason, *message;

    cJSON_ArrayForEach(event, field_get(list, "items"))
    {
        reason = field_string(event, "reason");
        if (reason && strcmp(reason, "Scheduled") != 0 && is_later(event, newest))
            newest = event;
    }
    reason = field_text(newest, "reason", MAX_REASON, a);
    message = field_text(newest, "message", MAX_MESSAGE, a);
    if (!reason || !message)
        return reason;
    return arena_printf(a, "%s: %s", reason, message);
}
