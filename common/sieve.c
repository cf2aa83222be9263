#include "paceline/sieve.h"

#include <string.h>

#include "paceline/mem.h"

#define KEEP_BYTES ((size_t)64 << 10) /* one large item must not keep its memory for ever */
#define LITERAL_MAX 32                /* a number, true, false or null */

enum sieve_state {
    BETWEEN,  /* values at the top */
    FIRST,    /* after [ or {: a first element or key, or the end */
    VALUE,    /* a value must follow */
    KEY,      /* a key must follow */
    IN_KEY,   /* inside a key */
    COLON,    /* after a key */
    AFTER,    /* after a value: a comma or the end */
    INSIDE,   /* a value that is taken by its policy */
    COMPLETE, /* the one value has ended */
};

enum policy { DROP, COPY, SCALAR };

/* As cJSON has it. */
static bool sieve_is_space(char c) { return (unsigned char)c <= ' '; }

static struct buf *out(struct sieve *s) { return s->in_item ? &s->item : &s->rest; }

void sieve_init(struct sieve *s, const struct sieve_field *fields, bool stream)
{
    *s = (struct sieve){.root = {.fields = fields}, .stream = stream, .in_item = stream};
    s->state = BETWEEN;
    buf_init(&s->rest, 0);
    buf_init(&s->item, 0);
}

void sieve_release(struct sieve *s)
{
    buf_release(&s->rest);
    buf_release(&s->item);
}

bool sieve_complete(const struct sieve *s)
{
    return s->state == COMPLETE || (s->stream && s->state == BETWEEN);
}

static void cut_to(struct buf *b, size_t len)
{
    b->len = len;
    b->data[len] = '\0';
}

static void clear_item(struct sieve *s)
{
    if (s->item.cap > KEEP_BYTES) {
        buf_release(&s->item);
        buf_init(&s->item, 0);
    }
    cut_to(&s->item, 0);
    s->cut = false;
}

static struct sieve_frame *top(struct sieve *s)
{
    return s->depth ? &s->frames[s->depth - 1] : NULL;
}

/* The number of bytes, of n inside a string's quotes, that form complete characters and escapes. */
static size_t whole_characters(const char *text, size_t n)
{
    size_t at = 0, step;

    for (; at < n; at += step) {
        unsigned char c = (unsigned char)text[at];

        if (c == '\\' && at + 1 < n && text[at + 1] == 'u')
            /* Half of a pair of surrogates is no character. */
            step = n - at >= 4 && (text[at + 2] | 0x20) == 'd' && text[at + 3] >= '8' ? 12 : 6;
        else if (c == '\\')
            step = 2;
        else
            step = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
        if (step > n - at)
            break;
    }
    return at;
}

/* Ends a scalar; the buffer has the part of it that is kept. */
static void end_scalar(struct sieve *s)
{
    struct buf *b = out(s);
    struct sieve_frame *f = top(s);
    const char *only = f && f->list ? f->rule->only : NULL;
    bool string = b->data[s->start] == '"', cut = s->read > b->len - s->start;

    if (cut && string) {
        cut_to(b, s->start + 1 + whole_characters(b->data + s->start + 1, SIEVE_TEXT_MAX));
        buf_puts(b, "\"");
        s->cut = true;
    } else if (s->read > LITERAL_MAX && !string) {
        cut_to(b, s->start);
        buf_puts(b, "null");
        s->cut = true;
    }
    if (f && !f->list && f->rule->when && strcmp(s->member->name, f->rule->when) == 0)
        f->chosen = strcmp(b->data + s->start, "true") == 0;
    if (!only || (b->len - s->start == strlen(only) + 2 &&
                  memcmp(b->data + s->start + 1, only, strlen(only)) == 0))
        return;
    cut_to(b, f->other ? s->mark : s->start);
    if (f->other)
        f->n--;
    else
        buf_puts(b, "null");
    f->other = true;
}

static bool end_item(struct sieve *s, sieve_fn *fn, void *arg)
{
    bool go_on = fn(arg, s->item.data, s->item.len, s->cut);

    clear_item(s);
    return go_on;
}

/* Ends a value; an item may end with it. */
static enum sieve_result end_value(struct sieve *s, sieve_fn *fn, void *arg)
{
    const struct sieve_frame *f = top(s);

    if (f && f->large) {
        buf_add(out(s), "]", 1);
        s->depth--;
        f = top(s);
    }
    s->state = f ? AFTER : s->stream ? BETWEEN : COMPLETE;
    if (f ? !f->items : !s->stream)
        return SIEVE_OK;
    s->in_item = s->stream;
    return end_item(s, fn, arg) ? SIEVE_OK : SIEVE_STOPPED;
}

/* The rule for the value that begins; NULL: drop it. */
static const struct sieve_field *rule_of_next(struct sieve *s)
{
    const struct sieve_frame *f = top(s);
    const struct sieve_field *rule = !f ? &s->root : f->list ? f->rule : s->member;

    if (!rule || !f || f->items)
        return rule;
    if (f->n < SIEVE_ELEMENTS_MAX && out(s)->len < SIEVE_ITEM_MAX)
        return rule;
    s->cut = true;
    return NULL;
}

static void begin_inside(struct sieve *s, enum policy policy)
{
    s->state = INSIDE;
    s->policy = policy;
    s->start = out(s)->len;
    s->read = s->values = s->digits = s->growth = s->nesting = 0;
    s->string = s->escaped = s->c1 = false;
}

/* Writes what comes before a kept value: a comma and its name. */
static void announce(struct sieve *s, const struct sieve_field *rule)
{
    struct sieve_frame *f = top(s);
    struct buf *b = out(s);

    s->mark = b->len;
    if (!f || f->items)
        return;
    if (f->n++)
        buf_add(b, ",", 1);
    if (!f->list) {
        buf_add(b, "\"", 1);
        buf_puts(b, rule->name);
        buf_add(b, "\":", 2);
    }
}

/* Begins a value whose first byte is c. Returns whether it consumed c; otherwise the value's own
 * state does. */
static bool begin_value(struct sieve *s, char c)
{
    const struct sieve_field *rule = rule_of_next(s);
    const struct sieve_frame *f = top(s);
    bool opens = c == '[' || c == '{';

    if (f && f->items) /* one of the items; a list in the list is no list of items */
        s->in_item = true;
    if (!rule) {
        begin_inside(s, DROP);
        return false;
    }
    announce(s, rule);
    if (rule->rule == SIEVE_WHOLE || !opens) {
        begin_inside(s, rule->rule == SIEVE_WHOLE ? COPY : SCALAR);
        return false;
    }
    if (s->depth == SIEVE_DEPTH) {
        buf_puts(out(s), "null");
        s->cut = true;
        begin_inside(s, DROP);
        return false;
    }
    s->frames[s->depth++] =
        (struct sieve_frame){.rule = rule,
                             .list = c == '[',
                             .mark = s->mark,
                             .items = c == '[' && rule->rule == SIEVE_ITEMS && !s->in_item};
    buf_add(out(s), &c, 1);
    s->state = FIRST;
    return true;
}

/* Scans one byte of a value outside strings and returns whether it belongs to the value. *ended:
 * the value ends with this byte or before it. */
static bool scan_byte(struct sieve *s, char c, bool *ended)
{
    switch (c) {
    case '"':
        s->string = true;
        return true;
    case '[':
    case '{':
        s->nesting++;
        s->values++;
        return true;
    case ']':
    case '}':
        if (s->nesting) {
            *ended = --s->nesting == 0;
            return true;
        }
        *ended = true;
        return false;
    default:
        s->values += c == ',';
        s->digits += c >= '0' && c <= '9';
        *ended = !s->nesting && (c == ',' || sieve_is_space(c));
        return !*ended;
    }
}

/* The number of bytes, of n, before the next quote or backslash of the string. json_print writes
 * six bytes for U+007F, which has one, and for U+0080 to U+009F, which have two. */
static size_t scan_string(struct sieve *s, const char *bytes, size_t n)
{
    size_t i = 0;

    for (; i < n && bytes[i] != '"' && bytes[i] != '\\'; i++) {
        unsigned char c = (unsigned char)bytes[i];

        if (c < 0x7f)
            continue;
        s->growth += c == 0x7f ? 5 : s->c1 && c < 0xa0 ? 4 : 0;
        s->c1 = c == 0xc2;
    }
    return i;
}

/* The number of bytes, of n, that belong to the value. *ended: the value ends among them. */
static size_t scan(struct sieve *s, const char *bytes, size_t n, bool *ended)
{
    size_t i = 0;

    *ended = false;
    while (i < n && !*ended) {
        if (s->escaped) {
            s->escaped = false;
            i++;
        } else if (s->string) {
            i += scan_string(s, bytes + i, n - i);
            if (i == n)
                break;
            s->escaped = bytes[i] == '\\';
            s->string = s->escaped;
            *ended = !s->string && !s->nesting;
            i++;
        } else {
            i += scan_byte(s, bytes[i], ended);
        }
    }
    return i;
}

/* The value that is copied, of which n bytes are here, becomes larger than its rule allows. */
static bool is_too_large(const struct sieve *s, const struct sieve_field *rule, size_t n)
{
    return s->policy == COPY && (s->read + n + s->growth > rule->max_bytes ||
                                 s->values + s->digits / 4 > rule->max_values);
}

/* Reads the bytes that were copied so far once more, by the rule for large values. */
static enum sieve_result begin_large(struct sieve *s, const struct sieve_field *rule, sieve_fn *fn,
                                     void *arg)
{
    struct buf *b = out(s);
    size_t n = b->len - s->start;
    AUTO(auto_free) char *copied = memcpy(xmalloc(n + 1), b->data + s->start, n);

    cut_to(b, s->start);
    buf_add(b, "[", 1);
    s->cut = true;
    s->frames[s->depth++] = (struct sieve_frame){.rule = rule->large, .list = true, .large = true};
    s->state = VALUE;
    return sieve_feed(s, copied, n, fn, arg);
}

/* Takes the next bytes of a scalar, or of a value that is dropped or copied. */
static void sieve_keep(struct sieve *s, const char *bytes, size_t n)
{
    const struct sieve_field *rule = top(s) ? s->member : &s->root;
    bool too_large = is_too_large(s, rule, n);
    struct buf *b = out(s);

    s->read += n;
    if (s->policy == SCALAR) {
        size_t room = SIEVE_TEXT_MAX + 2 - (b->len - s->start);

        buf_add(b, bytes, n < room ? n : room);
    }
    if (s->policy != COPY)
        return;
    if (!too_large) {
        buf_add(b, bytes, n);
        return;
    }
    cut_to(b, s->start);
    buf_puts(b, "false");
    s->policy = DROP;
    s->cut = true;
}

static enum sieve_result read_inside(struct sieve *s, const char *bytes, size_t n, size_t *used,
                                     sieve_fn *fn, void *arg)
{
    const struct sieve_field *rule = top(s) ? s->member : &s->root;
    bool ended;

    *used = scan(s, bytes, n, &ended);
    if (is_too_large(s, rule, *used) && rule->large && s->depth < SIEVE_DEPTH) {
        *used = 0;
        return begin_large(s, rule, fn, arg);
    }
    sieve_keep(s, bytes, *used);
    if (!ended)
        return SIEVE_OK;
    if (!s->read) /* a comma where a value must be */
        return SIEVE_BAD;
    if (s->policy == SCALAR)
        end_scalar(s);
    return end_value(s, fn, arg);
}

static void end_key(struct sieve *s)
{
    const struct sieve_frame *f = top(s);
    const struct sieve_field *field = f->rule->fields;

    for (; field && field->name; field++)
        if (strlen(field->name) == s->key_len && memcmp(field->name, s->key, s->key_len) == 0)
            break;
    s->member = field && field->name ? field : NULL;
    s->state = COLON;
}

/* Takes one byte of a key. A key with an escape in it is in no table. */
static void sieve_read_key(struct sieve *s, char c)
{
    if (s->escaped) {
        s->escaped = false;
        return;
    }
    if (c == '"') {
        end_key(s);
        return;
    }
    s->escaped = c == '\\';
    if (c == '\\' || s->key_len == sizeof s->key)
        s->key_len = sizeof s->key; /* longer than any in a table */
    else
        s->key[s->key_len++] = c;
}

static enum sieve_result close_frame(struct sieve *s, char c, sieve_fn *fn, void *arg)
{
    const struct sieve_frame *closed = top(s);
    struct sieve_frame *f;

    if (closed->list != (c == ']'))
        return SIEVE_BAD;
    s->depth--;
    f = top(s);
    buf_add(out(s), &c, 1);
    if (f && f->list && f->rule->when && !closed->list && !closed->chosen) {
        cut_to(out(s), closed->mark);
        f->n--;
    }
    return end_value(s, fn, arg);
}

static void begin_key(struct sieve *s)
{
    s->state = IN_KEY;
    s->key_len = 0;
    s->escaped = false;
}

/* Takes one byte between values. *read is false if it begins a value, whose own state reads it. */
static enum sieve_result read_between(struct sieve *s, char c, bool *read, sieve_fn *fn, void *arg)
{
    *read = true;
    if (sieve_is_space(c))
        return SIEVE_OK;
    if ((s->state == FIRST || s->state == AFTER) && (c == ']' || c == '}'))
        return close_frame(s, c, fn, arg);
    if (s->state == FIRST)
        s->state = top(s)->list ? VALUE : KEY;
    switch ((enum sieve_state)s->state) {
    case KEY:
        if (c != '"')
            return SIEVE_BAD;
        begin_key(s);
        return SIEVE_OK;
    case COLON:
        s->state = VALUE;
        return c == ':' ? SIEVE_OK : SIEVE_BAD;
    case AFTER:
        s->state = top(s)->list ? VALUE : KEY;
        return c == ',' ? SIEVE_OK : SIEVE_BAD;
    case BETWEEN:
    case VALUE:
        *read = begin_value(s, c);
        return SIEVE_OK;
    case FIRST:
    case IN_KEY:
    case INSIDE:
    case COMPLETE:
        break;
    }
    return SIEVE_BAD;
}

enum sieve_result sieve_feed(struct sieve *s, const char *bytes, size_t n, sieve_fn *fn, void *arg)
{
    enum sieve_result result = SIEVE_OK;
    size_t used;
    bool read;

    for (size_t i = 0; i < n && result == SIEVE_OK; i += used) {
        used = 1;
        if (s->state == INSIDE) {
            result = read_inside(s, bytes + i, n - i, &used, fn, arg);
        } else if (s->state == IN_KEY) {
            sieve_read_key(s, bytes[i]);
        } else {
            result = read_between(s, bytes[i], &read, fn, arg);
            used = read;
        }
    }
    return result;
}
