#include "cli/init/yaml_text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "paceline/json.h"
#include "paceline/mem.h"

#define ROW_MAX 90

/* Whether a reader of YAML 1.1 or 1.2 takes the bare word for a string. */
static bool yaml_text_is_plain(const char *s)
{
    static const char *const words[] = {"true", "false", "null", "yes", "no",
                                        "on",   "off",   "y",    "n"};

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcasecmp(s, words[i]) == 0)
            return false;
    if (!isalpha((unsigned char)*s))
        return false;
    for (; *s; s++)
        if (!isalnum((unsigned char)*s) && !strchr("-_./", *s))
            return false;
    return true;
}

void yaml_text_string(const char *s, struct buf *out)
{
    if (yaml_text_is_plain(s))
        buf_puts(out, s);
    else
        json_print_string(s, out);
}

static void add_scalar(const cJSON *value, struct buf *out)
{
    if (cJSON_IsString(value))
        yaml_text_string(value->valuestring, out);
    else
        json_print(value, 0, out);
}

static bool is_scalar(const cJSON *value)
{
    return !cJSON_IsObject(value) && !cJSON_IsArray(value);
}

/* A value on one line. */
static void yaml_text_add_row(const cJSON *value, struct buf *out)
{
    const bool list = cJSON_IsArray(value);

    if (is_scalar(value)) {
        add_scalar(value, out);
        return;
    }
    buf_puts(out, list ? "[" : "{");
    for (const cJSON *c = value->child; c; c = c->next) {
        if (!list) {
            yaml_text_string(c->string, out);
            buf_puts(out, ": ");
        }
        yaml_text_add_row(c, out);
        buf_puts(out, c->next ? ", " : "");
    }
    buf_puts(out, list ? "]" : "}");
}

static bool is_word_list(const cJSON *value)
{
    const cJSON *c = cJSON_IsArray(value) ? value->child : NULL;

    while (c && is_scalar(c))
        c = c->next;
    return cJSON_IsArray(value) && !c;
}

static bool is_short(const cJSON *value)
{
    AUTO(buf_release) struct buf text;

    buf_init(&text, 0);
    yaml_text_add_row(value, &text);
    return text.len <= ROW_MAX;
}

static bool has_description(const cJSON *value)
{
    for (const cJSON *c = value->child; c; c = c->next)
        if ((c->string && strcmp(c->string, "description") == 0) || has_description(c))
            return true;
    return false;
}

/* Whether a list or mapping has one line: a list of scalars, something short, a mapping to such, as
 * the schema of a field is, or one that nothing describes, as the names in a pod template. */
static bool is_row(const cJSON *value)
{
    if (is_word_list(value) || is_short(value))
        return true;
    for (const cJSON *c = has_description(value) ? value->child : NULL; c; c = c->next)
        if (!is_scalar(c) && !is_word_list(c) && !is_short(c))
            return false;
    return cJSON_IsObject(value);
}

static void add_entries(const cJSON *value, int indent, bool first_in_place, struct buf *out);

/* The value after "key:" or "-". */
static void yaml_text_add_value(const cJSON *value, int indent, bool in_list, struct buf *out)
{
    if (is_scalar(value) || is_row(value)) {
        buf_puts(out, " ");
        yaml_text_add_row(value, out);
        buf_puts(out, "\n");
    } else if (cJSON_IsObject(value) && in_list) {
        buf_puts(out, " ");
        add_entries(value, indent + 2, true, out);
    } else {
        buf_puts(out, "\n");
        add_entries(value, cJSON_IsArray(value) && !in_list ? indent : indent + 2, false, out);
    }
}

static void add_entries(const cJSON *value, int indent, bool first_in_place, struct buf *out)
{
    for (const cJSON *c = value->child; c; c = c->next) {
        if (!first_in_place || c != value->child)
            buf_printf(out, "%*s", indent, "");
        if (cJSON_IsArray(value)) {
            buf_puts(out, "-");
        } else {
            yaml_text_string(c->string, out);
            buf_puts(out, ":");
        }
        yaml_text_add_value(c, indent, cJSON_IsArray(value), out);
    }
}

void yaml_text(const cJSON *object, struct buf *out) { add_entries(object, 0, false, out); }
