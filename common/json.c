#include "paceline/json.h"

#include <math.h>
#include <stdint.h>

#include "paceline/mem.h"

/* cJSON leaves a member out where memory is short. A pod without its owner would be worse than
 * none. */
__attribute__((constructor)) static void json_allocate_or_end(void)
{
    cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = xmalloc, .free_fn = free});
}

void json_wipe(cJSON *tree)
{
    for (cJSON *c = tree; c; c = c->next) {
        if (c->valuestring)
            explicit_bzero(c->valuestring, strlen(c->valuestring));
        json_wipe(c->child);
    }
}

void auto_json(cJSON **value) { cJSON_Delete(*value); }

/* cJSON would cut a string there without a word. A backslash stands only inside strings. */
static bool has_escaped_nul(const char *text, size_t len)
{
    const char *end = text + len, *at = text;

    while ((at = memchr(at, '\\', (size_t)(end - at))) && end - at >= 6) {
        if (memcmp(at + 1, "u0000", 5) == 0)
            return true;
        at += 2;
    }
    return false;
}

struct json_member {
    cJSON *item;
    size_t place; /* in its object */
};

static int compare_members(const void *a, const void *b)
{
    const struct json_member *x = a, *y = b;
    int order = strcmp(x->item->string, y->item->string);

    return order ? order : (x->place > y->place) - (x->place < y->place);
}

/* Whether each key is above the one before it, as the API server writes maps. */
static bool is_sorted(const cJSON *object)
{
    for (const cJSON *c = object->child; c && c->next; c = c->next)
        if (strcmp(c->string, c->next->string) >= 0)
            return false;
    return true;
}

/* A key that the object has twice, or NULL. lenient: NULL, and only the last one stays. */
static const char *duplicate_key(cJSON *object, bool lenient)
{
    AUTO(auto_free) struct json_member *members = NULL;
    size_t n = 0;

    if (is_sorted(object))
        return NULL;
    members = xcalloc((size_t)cJSON_GetArraySize(object), sizeof *members);
    for (cJSON *c = object->child; c; c = c->next, n++)
        members[n] = (struct json_member){c, n};
    qsort(members, n, sizeof *members, compare_members);
    for (size_t i = 1; i < n; i++) {
        if (strcmp(members[i - 1].item->string, members[i].item->string) != 0)
            continue;
        if (!lenient)
            return members[i].item->string;
        cJSON_Delete(cJSON_DetachItemViaPointer(object, members[i - 1].item));
    }
    return NULL;
}

static int check_tree(cJSON *value, int depth, bool lenient, const char *name, struct err *err)
{
    const char *twice;

    if (depth > JSON_MAX_DEPTH)
        return err_set(err, ERR_INVALID, "%s: nested deeper than %d levels", name, JSON_MAX_DEPTH);
    if (value->type & cJSON_Number && !isfinite(value->valuedouble)) {
        if (!lenient)
            return err_set(err, ERR_INVALID, "%s: a number is beyond the range of a double", name);
        value->type = cJSON_NULL;
    }
    if (value->type & cJSON_Object && (twice = duplicate_key(value, lenient)))
        return err_set(err, ERR_INVALID, "%s: key \"%.60s\" stands twice in one object", name,
                       twice);
    for (cJSON *c = value->child; c; c = c->next)
        if (check_tree(c, depth + 1, lenient, name, err))
            return -1;
    return 0;
}

static int json_line_of(const char *text, const char *at)
{
    int line = 1;

    for (; text < at; text++)
        line += *text == '\n';
    return line;
}

static int json_parse_text(cJSON **out, const char *text, size_t len, bool lenient,
                           const char *name, struct err *err)
{
    AUTO(auto_json) cJSON *root = NULL;
    const char *end = text;

    if (len > JSON_MAX_BYTES)
        return err_set(err, ERR_INVALID, "%s: %zu bytes of JSON; at most %zu are allowed", name,
                       len, JSON_MAX_BYTES);
    if (memchr(text, '\0', len) || has_escaped_nul(text, len))
        return err_set(err, ERR_INVALID, "%s: JSON holds a NUL character", name);
    root = cJSON_ParseWithLengthOpts(text, len, &end, false);
    if (!root)
        return err_set(err, ERR_INVALID, "%s:%d: not valid JSON", name,
                       end ? json_line_of(text, end) : 1);
    for (const char *rest = end; rest < text + len; rest++)
        if (!strchr(" \t\r\n", *rest))
            return err_set(err, ERR_INVALID, "%s:%d: text after the end of the JSON value", name,
                           json_line_of(text, rest));
    if (check_tree(root, 1, lenient, name, err))
        return -1;
    *out = STEAL(root);
    return 0;
}

int json_parse(cJSON **out, const char *text, size_t len, const char *name, struct err *err)
{
    return json_parse_text(out, text, len, false, name, err);
}

int json_parse_lenient(cJSON **out, const char *text, size_t len, const char *name, struct err *err)
{
    return json_parse_text(out, text, len, true, name, err);
}

void json_print_number(double number, struct buf *out)
{
    char text[32];

    if (number > -1e15 && number < 1e15 && number == (double)(int64_t)number &&
        !(number == 0 && signbit(number))) { /* %.15g prints such integers in the same way */
        snprintf(text, sizeof text, "%lld", (long long)number);
        buf_puts(out, text);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtod(text, NULL) == number)
            break;
    }
    buf_puts(out, isfinite(number) ? text : "null");
}

/* By hand: printf would take longer than all the rest of a text of control characters. */
static void print_code(unsigned char c, struct buf *out)
{
    static const char digits[] = "0123456789abcdef";

    buf_add(out, (const char[]){'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]}, 6);
}

/* These end a run of plain bytes: 'u' is written by its code, 0xc2 begins U+0080 to U+009F among
 * others, the rest is written as a backslash and this letter. strcspn would make such a table for
 * each string. */
#define UP_TO_7 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u'
static const unsigned char special[256] = {
    UP_TO_7, 'b',     't',     'n',         'u',           'f',          'r',           'u',
    'u',     UP_TO_7, UP_TO_7, ['"'] = '"', ['\\'] = '\\', [0x7f] = 'u', [0xc2] = 0xc2,
};
#undef UP_TO_7

/* Prints the special character at s and returns its length in bytes. */
static size_t print_special(const unsigned char *s, struct buf *out)
{
    unsigned char how = special[*s];

    if (how == 'u') {
        print_code(*s, out);
        return 1;
    }
    if (how != 0xc2) {
        buf_add(out, (const char[]){'\\', (char)how}, 2);
        return 1;
    }
    if (s[1] < 0x80 || s[1] > 0x9f) {
        buf_add(out, s, 1);
        return 1;
    }
    print_code(s[1], out); /* C1: some terminals obey these control characters */
    return 2;
}

void json_print_string(const char *s, struct buf *out)
{
    buf_add(out, "\"", 1);
    for (;;) {
        const char *end = s;

        while (!special[(unsigned char)*end])
            end++;
        buf_add(out, s, (size_t)(end - s));
        s = end;
        if (!*s)
            break;
        s += print_special((const unsigned char *)s, out);
    }
    buf_add(out, "\"", 1);
}

static void print_value(const cJSON *value, int indent, int depth, struct buf *out);

static void json_print_children(const cJSON *parent, int indent, int depth, struct buf *out)
{
    bool object = cJSON_IsObject(parent);

    buf_add(out, object ? "{" : "[", 1);
    for (const cJSON *c = parent->child; c; c = c->next) {
        if (indent)
            buf_printf(out, "\n%*s", indent * (depth + 1), "");
        if (object) {
            json_print_string(c->string, out);
            buf_add(out, ": ", indent ? 2 : 1);
        }
        print_value(c, indent, depth + 1, out);
        if (c->next)
            buf_add(out, ",", 1);
    }
    if (indent && parent->child)
        buf_printf(out, "\n%*s", indent * depth, "");
    buf_add(out, object ? "}" : "]", 1);
}

/* Our own text of a value: with indents it takes a tree. */
static void print_raw(const cJSON *raw, int indent, int depth, struct buf *out)
{
    AUTO(auto_json) cJSON *value = indent ? cJSON_Parse(raw->valuestring) : NULL;

    if (value)
        print_value(value, indent, depth, out);
    else
        buf_puts(out, raw->valuestring);
}

static void print_value(const cJSON *value, int indent, int depth, struct buf *out)
{
    switch (value ? value->type & 0xff : cJSON_NULL) {
    case cJSON_Object:
    case cJSON_Array:
        json_print_children(value, indent, depth, out);
        return;
    case cJSON_String:
        json_print_string(value->valuestring, out);
        return;
    case cJSON_Number:
        json_print_number(value->valuedouble, out);
        return;
    case cJSON_Raw:
        print_raw(value, indent, depth, out);
        return;
    case cJSON_True:
        buf_add(out, "true", 4);
        return;
    case cJSON_False:
        buf_add(out, "false", 5);
        return;
    default:
        buf_add(out, "null", 4);
    }
}

void json_print(const cJSON *value, int indent, struct buf *out)
{
    print_value(value, indent, 0, out);
}
