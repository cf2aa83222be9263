// LINK: operator/kube/lines.c operator/kube/retry_after.c common
// LIBS: -lcurl
/* A watch stream: the first byte says how it is cut, the rest is the stream. However it is cut, the
 * lines are the same; JSON lines are parsed as the controller does. */
#include <stdint.h>

#include "operator/kube/lines.h"
#include "operator/kube/retry_after.h"
#include "paceline/json.h"
#include "paceline/mem.h"

#define MAX_LINE 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool collect(void *arg, const char *line, size_t len)
{
    struct buf *seen = arg;

    if (line[len] || memchr(line, '\n', len))
        abort();
    buf_add(seen, line, len);
    buf_puts(seen, "\n");
    return true;
}

static bool parse(void *arg, const char *line, size_t len)
{
    AUTO(auto_json) cJSON *event = NULL;
    struct err err;

    (void)arg;
    if (json_parse(&event, line, len, "watch", &err))
        return len % 2; /* some stop here, some go on */
    return true;
}

static enum lines_result feed(const char *bytes, size_t n, size_t step, lines_fn *fn, void *arg)
{
    AUTO(lines_release) struct lines l;
    enum lines_result result = LINES_OK;

    lines_init(&l, MAX_LINE);
    for (size_t at = 0; at < n && result == LINES_OK; at += step)
        result = lines_feed(&l, bytes + at, step < n - at ? step : n - at, fn, arg);
    if (l.copied > n || l.line.len > MAX_LINE)
        abort();
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(buf_release) struct buf whole, parts;
    const char *bytes = (const char *)data + 1;
    enum lines_result a, b;

    buf_init(&whole, 0);
    buf_init(&parts, 0);
    if (size < 1)
        return 0;
    size--;
    a = feed(bytes, size, size ? size : 1, collect, &whole);
    b = feed(bytes, size, data[0] % 64 + 1, collect, &parts);
    if (a != b || whole.len != parts.len || memcmp(whole.data, parts.data, whole.len) != 0)
        abort();
    (void)feed(bytes, size, data[0] % 64 + 1, parse, NULL);
    if (retry_after_ms(bytes, size, data[0]) < -1)
        abort();
    return 0;
}
