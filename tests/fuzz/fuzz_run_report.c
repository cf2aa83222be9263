// LINK: operator/api common
/*
 * Messages of an agent, one a line: they come from a pod, so from anybody's program. No crash, and
 * what is kept stays within what status can hold: it is written and read back the same.
 */
#include <stdint.h>

#include "operator/api/run_report.h"
#include "paceline/json.h"
#include "paceline/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void auto_tj(struct tj **tj) { tj_free(*tj); }

/* As the operator writes it, and as the API server gives it back. */
static void round_trip(const struct run_report *r)
{
    static const char head[] = "{\"metadata\":{\"name\":\"j\",\"namespace\":\"n\",\"uid\":\"u\","
                               "\"resourceVersion\":\"1\"}}";
    AUTO(auto_json) cJSON *object = cJSON_Parse(head);
    AUTO(auto_json) cJSON *patch = NULL;
    AUTO(auto_tj) struct tj *tj = NULL, *again = NULL;
    AUTO(buf_release) struct buf text;
    int workers = r->replicas[ROLE_WORKER];
    struct scaling point = {workers ? workers : 1, r->progress.samples_per_second};
    struct tj_status s = {
        .launch = {.generation = r->seen ? r->seen : 1, .world = r->world, .step = r->step},
        .progress = r->progress,
        .scaling = &point,
        .n_scaling = 1};
    struct err err;

    buf_init(&text, 0);
    if (tj_decode(&tj, object, &err))
        abort();
    status_encode_patch(tj, &s, &text);
    if (json_parse(&patch, text.data, text.len, "patch", &err) ||
        tj_decode(&again, patch, &err) == 0)
        abort(); /* a patch has no name */
    cJSON_DeleteItemFromObject(object, "status");
    cJSON_AddItemToObject(object, "status", cJSON_DetachItemFromObject(patch, "status"));
    if (tj_decode(&again, object, &err))
        abort();
    if (again->status.launch.generation != s.launch.generation ||
        again->status.launch.world != s.launch.world || again->status.launch.step != s.launch.step)
        abort();
    if (s.progress.present && again->status.progress.loss != s.progress.loss)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run_report r = {0};
    const char *text = (const char *)data, *end = text + size;

    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t n = newline ? (size_t)(newline - text) : (size_t)(end - text);
        AUTO(auto_json) cJSON *message = NULL;
        struct err err;

        if (json_parse(&message, text, n, "fuzz", &err) == 0)
            (void)run_report_take(&r, message);
        if (r.phase > RUN_FAILED || r.seen < 0 || r.generation < 0 || r.step < 0 ||
            r.replicas[ROLE_WORKER] < 0 || memchr(r.message, '\0', sizeof r.message) == NULL)
            abort();
        text += n + 1;
    }
    round_trip(&r);
    return 0;
}
