#include "wire/frame.h"

#include <math.h>
#include <string.h>

#include "paceline/mem.h"

void frames_init(struct frames *f)
{
    *f = (struct frames){0};
    buf_init(&f->body, 0);
}

void frames_release(struct frames *f) { buf_release(&f->body); }

static size_t frame_len(const unsigned char head[FRAME_HEAD])
{
    return (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
}

/* At least as many as the JSON has values. */
static size_t count_values(const struct buf *json)
{
    size_t n = 1;
    bool string = false;

    for (size_t i = 0; i < json->len; i++) {
        char c = json->data[i];

        if (c == '"')
            string = !string;
        else if (string && c == '\\')
            i++;
        else if (!string)
            n += c == ',' || c == '[' || c == '{';
    }
    return n;
}

static int frame_deliver(struct frames *f, frame_fn *fn, void *arg, struct err *err)
{
    AUTO(auto_json) cJSON *message = NULL;
    size_t values = count_values(&f->body);

    if (values > FRAME_VALUES_MAX)
        return err_set(err, ERR_INVALID, "a message of %zu values; at most %zu are allowed", values,
                       FRAME_VALUES_MAX);
    if (json_parse(&message, f->body.data, f->body.len, "a message", err) < 0)
        return -1;
    if (!cJSON_IsObject(message) || !*message_type(message))
        return err_set(err, ERR_INVALID, "a message is no object with a string \"type\"");
    /* Most frames are small: what a large one took is given back. */
    buf_release(&f->body);
    buf_init(&f->body, 0);
    f->n_head = 0;
    f->n_messages++;
    return fn(arg, message, err);
}

int frames_add(struct frames *f, const void *bytes, size_t n, frame_fn *fn, void *arg,
               struct err *err)
{
    const unsigned char *p = bytes;

    while (n > 0) {
        size_t part, len;

        if (f->n_head < FRAME_HEAD) {
            f->head[f->n_head++] = *p++;
            n--;
        }
        if (f->n_head < FRAME_HEAD)
            continue;
        len = frame_len(f->head);
        if (len > FRAME_MAX)
            return err_set(err, ERR_INVALID, "a message of %zu bytes; at most %zu are allowed", len,
                           FRAME_MAX);
        part = len - f->body.len < n ? len - f->body.len : n;
        buf_add(&f->body, p, part);
        p += part;
        n -= part;
        if (f->body.len == len && frame_deliver(f, fn, arg, err) < 0)
            return -1;
    }
    return 0;
}

int frame_encode(const cJSON *message, struct buf *out, struct err *err)
{
    size_t start = out->len, len;

    buf_add(out, (const char[FRAME_HEAD]){0}, FRAME_HEAD);
    json_print(message, 0, out);
    len = out->len - start - FRAME_HEAD;
    if (len > FRAME_MAX) {
        out->len = start;
        out->data[start] = '\0';
        return err_set(err, ERR_INVALID,
                       "a message of type \"%.40s\" has %zu bytes; at most %zu are allowed",
                       message_type(message), len, FRAME_MAX);
    }
    for (size_t i = 0; i < FRAME_HEAD; i++)
        out->data[start + i] = (char)(len >> (8 * (FRAME_HEAD - 1 - i)) & 0xff);
    return 0;
}

const char *message_text(const cJSON *message, const char *field)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(message, field);

    return cJSON_IsString(item) ? item->valuestring : "";
}

const char *message_type(const cJSON *message) { return message_text(message, "type"); }

long long message_integer(const cJSON *message, const char *field)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(message, field);

    if (!cJSON_IsNumber(item) || !(fabs(item->valuedouble) < 0x1p53) ||
        floor(item->valuedouble) != item->valuedouble)
        return -1;
    return (long long)item->valuedouble;
}
