// LINK: wire/frame.c agent/world.c common
/* The bytes of a connection: the first byte says how the stream is cut. However it is cut, the
 * messages are the same; each is taken apart as the agent does. */
#include <stdint.h>

#include "agent/world.h"
#include "paceline/mem.h"
#include "wire/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take(void *arg, const cJSON *message, struct err *err)
{
    AUTO(world_release) struct world world;

    (void)arg;
    if (!*message_type(message))
        abort();
    if (message_integer(message, "generation") < -0x1p53)
        abort();
    if (world_parse(&world, message, err) == 0 && (world.n_hosts == 0 || world.generation < 1))
        abort();
    return 0;
}

static int collect(void *arg, const cJSON *message, struct err *err)
{
    struct err ignored;

    (void)err;
    if (frame_encode(message, arg, &ignored) < 0)
        buf_puts(arg, "large"); /* as a message it may grow */
    return take(NULL, message, &ignored);
}

static int feed(const uint8_t *bytes, size_t n, size_t step, struct buf *seen)
{
    AUTO(frames_release) struct frames f;
    struct err err;
    int rc = 0;

    frames_init(&f);
    for (size_t at = 0; at < n && rc == 0; at += step)
        rc = frames_add(&f, bytes + at, step < n - at ? step : n - at, collect, seen, &err);
    if (f.body.len > n)
        abort();
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(buf_release) struct buf whole, parts;
    int a, b;

    buf_init(&whole, 0);
    buf_init(&parts, 0);
    if (size < 1)
        return 0;
    a = feed(data + 1, size - 1, size, &whole);
    b = feed(data + 1, size - 1, data[0] % 64 + 1, &parts);
    if (a != b || whole.len != parts.len || memcmp(whole.data, parts.data, whole.len) != 0)
        abort();
    return 0;
}
