// LINK: operator/kube/retry_after.c common
// LIBS: -lcurl
/*
 * An answer of an API server: a body through a sieve, and the date in Retry-After. The first byte
 * says how the body is cut and whether it is a stream, the rest is the body. However it is cut, the
 * same is kept; it is bounded; and of valid JSON it is what a walk of the whole tree would keep.
 */
#include <stdint.h>

#include "operator/kube/retry_after.h"
#include "tests/unit/sieve_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct sieve_field nothing[] = {{.name = NULL}};
static const struct sieve_field meta[] = {
    {.name = "name"},
    {.name = "finalizers", .only = "f"},
    {.name = NULL},
};
static const struct sieve_field object[] = {
    {.name = "metadata", .fields = meta},
    {.name = "probe", .fields = nothing},
    {.name = "spec", .rule = SIEVE_WHOLE, .max_bytes = 1 << 20, .max_values = 1 << 20},
    {.name = NULL},
};
static const struct sieve_field fields[] = {
    {.name = "type"},
    {.name = "object", .fields = object},
    {.name = "items", .fields = object, .rule = SIEVE_ITEMS},
    {.name = NULL},
};

static bool is_same(const struct buf *a, const struct buf *b)
{
    return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

/* Keys with escapes are not ours, and a tree does not show that they had some. */
static void check_tree(const char *text, size_t len, const struct sieved *seen)
{
    AUTO(auto_json) cJSON *tree = NULL, *kept = NULL, *want = NULL;
    AUTO(buf_release) struct buf a, b;
    struct sieve_field root = {.fields = fields};
    struct err err;

    buf_init(&a, 0);
    buf_init(&b, 0);
    if (memchr(text, '\\', len) || json_parse(&tree, text, len, "fuzz", &err))
        return;
    if (!cJSON_IsObject(tree) && !cJSON_IsArray(tree))
        return; /* it ends where the text does, and so never for a sieve */
    if (!seen->complete || json_parse(&kept, seen->rest.data, seen->rest.len, "kept", &err))
        abort();
    want = expected(tree, &root, 0);
    json_print(want, 0, &a);
    json_print(kept, 0, &b);
    if (len < SIEVE_TEXT_MAX && !strstr(b.data, "null") && !is_same(&a, &b))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(sieved_release) struct sieved whole = {0}, parts = {0};
    const char *bytes = (const char *)data + 1;
    bool stream;

    if (size < 1)
        return 0;
    size--;
    stream = data[0] % 2;
    sieve_text(&whole, fields, stream, bytes, size, size ? size : 1);
    sieve_text(&parts, fields, stream, bytes, size, data[0] / 2 % 64 + 1);
    if (whole.result != parts.result || whole.complete != parts.complete || whole.n != parts.n ||
        !is_same(&whole.items, &parts.items) || !is_same(&whole.rest, &parts.rest))
        abort();
    if (whole.rest.len > size + 16 || whole.items.len > 2 * size + 16)
        abort();
    if (!stream)
        check_tree(bytes, size, &whole);
    if (retry_after_ms(bytes, size, data[0]) < -1)
        abort();
    return 0;
}
