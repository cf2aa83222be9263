/* One field at a time: what is allowed, storing, loading, freeing. */
#include "common/pattern.h"
#include "common/spec_table.h"

#include <math.h>

#include "paceline/json.h"
#include "paceline/mem.h"

static void *spec_value_at(const struct field *f, void *base) { return (char *)base + f->offset; }

static const void *spec_value_at_const(const struct field *f, const void *base)
{
    return (const char *)base + f->offset;
}

static size_t *count_at(const struct field *f, void *base)
{
    return (size_t *)((char *)base + f->n_offset);
}

static size_t spec_value_count_of(const struct field *f, const void *base)
{
    return *(const size_t *)((const char *)base + f->n_offset);
}

bool field_in_layer(const struct field *f) { return strstr(f->path, "[]") != NULL; }

const char *field_key(const struct field *f)
{
    const char *dot = strrchr(f->path, '.');

    return dot ? dot + 1 : f->path;
}

const char *const spec_builtin_sections[N_BUILTIN_SECTIONS] = {
    "spec.model",  "spec.dataset",  "spec.training", "spec.checkpoint",
    "spec.output", "spec.strategy", "spec.debug",
};

bool field_builtin(const struct field *f)
{
    for (size_t i = 0; i < N_BUILTIN_SECTIONS; i++) {
        size_t len = strlen(spec_builtin_sections[i]);

        if (strncmp(f->path, spec_builtin_sections[i], len) == 0 &&
            (f->path[len] == '.' || f->path[len] == '\0'))
            return true;
    }
    return false;
}

size_t field_max_length(const struct field *f) { return f->max > 0 ? (size_t)f->max : 4096; }

/* As the API server counts: in code points. */
static size_t length_of(const char *s)
{
    size_t n = 0;

    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

static bool has_word(const char *words, const char *word)
{
    size_t len = strlen(word);

    for (const char *w = words; w; w = strchr(w, ' ')) {
        w += *w == ' ';
        if (strncmp(w, word, len) == 0 && (w[len] == ' ' || w[len] == '\0'))
            return true;
    }
    return false;
}

/* The stored word of a string or an enum; NULL when it is absent. */
static const char *stored_word(const struct field *f, const void *base)
{
    int value;

    if (f->kind == FIELD_STRING)
        return *(char *const *)spec_value_at_const(f, base);
    memcpy(&value, spec_value_at_const(f, base), sizeof value);
    return f->names[value];
}

bool field_applies(const struct field *f, const void *base, const struct choice **choice)
{
    const struct field *above = field_above(f);
    size_t n;

    if (above && !field_applies(above, base, choice))
        return false;
    const struct choice *choices = field_choices(f, &n);
    *choice = NULL;
    for (size_t i = 0; i < n; i++) {
        const char *word = stored_word(choice_selector(&choices[i]), base);

        *choice = &choices[i];
        if (word && has_word(choices[i].values, word))
            return true;
    }
    return *choice == NULL;
}

const char *field_kind_name(enum field_kind kind)
{
    static const char *const names[] = {
        [FIELD_OBJECT] = "object",
        [FIELD_IGNORED] = "any",
        [FIELD_STRING] = "string",
        [FIELD_INT] = "integer",
        [FIELD_QUANTITY] = "bytes",
        [FIELD_FLOAT] = "number",
        [FIELD_BOOL] = "boolean",
        [FIELD_ENUM] = "string",
        [FIELD_PAIR] = "integer or pair",
        [FIELD_INTS] = "integers",
        [FIELD_FLOATS] = "numbers",
        [FIELD_LAYERS] = "layers",
        [FIELD_MAP] = "map of strings",
        [FIELD_OPAQUE] = "object",
        [FIELD_OPAQUES] = "objects",
        [FIELD_STRINGS] = "strings",
        [FIELD_TEXT] = "string",
        [FIELD_WORD] = "string",
        [FIELD_TIME] = "time",
        [FIELD_INDICES] = "indices",
        [FIELD_COUNTS] = "counts",
        [FIELD_LIST] = "list of objects",
        [FIELD_CONDITIONS] = "list of conditions",
    };

    return names[kind];
}

static void allowed_range(const struct field *f, struct buf *out)
{
    buf_puts(out, f->above_min ? " above " : f->max < 1e300 ? " from " : " of at least ");
    json_print_number(f->min, out);
    if (f->max >= 1e300)
        return;
    buf_puts(out, f->below_max ? " to below " : f->above_min ? ", at most " : " to ");
    json_print_number(f->max, out);
}

static void allowed_words(const char *const *names, struct buf *out)
{
    buf_puts(out, names[1] ? "one of " : "");
    for (size_t i = 0; names[i]; i++)
        buf_printf(out, "%s%s", i ? ", " : "", names[i]);
}

void field_allowed(const struct field *f, struct buf *out)
{
    static const struct {
        const char *text;
        bool range;
    } texts[] = {
        [FIELD_OBJECT] = {"an object", false},
        [FIELD_IGNORED] = {"anything", false},
        [FIELD_STRING] = {"a string that is not empty", false},
        [FIELD_INT] = {"an integer", true},
        [FIELD_QUANTITY] = {"bytes, as an integer or with Ki, Mi or Gi,", true},
        [FIELD_FLOAT] = {"a number", true},
        [FIELD_BOOL] = {"true or false", false},
        [FIELD_ENUM] = {"", false},
        [FIELD_PAIR] = {"an integer or a list of two, [height, width],", true},
        [FIELD_INTS] = {"integers", true},
        [FIELD_FLOATS] = {"numbers", true},
        [FIELD_LAYERS] = {"layers", false},
        [FIELD_MAP] = {"an object whose values are strings", false},
        [FIELD_OPAQUE] = {"an object", false},
        [FIELD_OPAQUES] = {"objects", false},
        [FIELD_STRINGS] = {"strings", false},
    };

    if (f->names) {
        buf_puts(out, f->kind == FIELD_OPAQUE ? "an object with " : "");
        allowed_words(f->names, out);
        return;
    }
    if (f->kind == FIELD_STRING && !f->pattern && f->max > 0) {
        buf_printf(out, "a string of 1 to %g characters", f->max);
        return;
    }
    if (f->max_items)
        buf_printf(out, "a list of 1 to %zu ", f->max_items);
    buf_puts(out, f->pattern ? f->pattern_text : texts[f->kind].text);
    if (texts[f->kind].range)
        allowed_range(f, out);
}

void field_belongs(const struct field *f, struct buf *out)
{
    const char *selector = NULL;
    size_t n;
    const struct choice *choices = field_choices(f, &n);

    for (size_t i = 0; i < n; i++) {
        const struct choice *c = &choices[i];

        if (selector && strcmp(selector, c->selector) == 0)
            buf_puts(out, "|");
        else
            buf_printf(out, "%s%s: ", selector ? ", " : "found, but it belongs to ",
                       field_in_layer(f) ? field_key(choice_selector(c)) : c->selector);
        selector = c->selector;
        for (const char *w = c->values; *w; w++)
            buf_printf(out, "%c", *w == ' ' ? '|' : *w);
    }
    buf_puts(out, " only");
}

static bool spec_value_in_range(const struct field *f, double x)
{
    return (f->above_min ? x > f->min : x >= f->min) && (f->below_max ? x < f->max : x <= f->max);
}

static bool is_integer(const struct field *f, const cJSON *value)
{
    return value && cJSON_IsNumber(value) && spec_value_in_range(f, value->valuedouble) &&
           value->valuedouble == floor(value->valuedouble);
}

static bool is_number(const struct field *f, const cJSON *value)
{
    return cJSON_IsNumber(value) && spec_value_in_range(f, value->valuedouble);
}

void field_put_int(const struct field *f, void *base, int64_t x)
{
    int small = (int)x;

    memcpy(spec_value_at(f, base), f->size == sizeof small ? (const void *)&small : &x, f->size);
}

int64_t field_get_int(const struct field *f, const void *base)
{
    int small;
    int64_t x;

    memcpy(f->size == sizeof small ? (void *)&small : &x, spec_value_at_const(f, base), f->size);
    return f->size == sizeof small ? small : x;
}

static void put_text(const struct field *f, void *base, char *owned)
{
    char **p = spec_value_at(f, base);

    free(*p);
    *p = owned;
}

int field_name_index(const struct field *f, const char *word)
{
    for (int i = 0; f->names[i]; i++)
        if (strcmp(f->names[i], word) == 0)
            return i;
    return -1;
}

static bool is_string(const struct field *f, const cJSON *value)
{
    const char *s = value->valuestring;

    if (!cJSON_IsString(value) || !*s || length_of(s) > field_max_length(f))
        return false;
    return (!f->names || field_name_index(f, s) >= 0) &&
           (!f->pattern || pattern_matches(f->pattern, s));
}

static bool store_string(const struct field *f, void *base, const cJSON *value)
{
    if (!is_string(f, value))
        return false;
    if (f->size)
        put_text(f, base, xstrdup(value->valuestring));
    return true;
}

static bool store_enum(const struct field *f, void *base, const cJSON *value)
{
    int index = cJSON_IsString(value) ? field_name_index(f, value->valuestring) : -1;

    if (index < 0)
        return false;
    field_put_int(f, base, index);
    return true;
}

static bool store_int(const struct field *f, void *base, const cJSON *value)
{
    if (!is_integer(f, value))
        return false;
    field_put_int(f, base, (int64_t)value->valuedouble);
    return true;
}

static bool store_quantity(const struct field *f, void *base, const cJSON *value)
{
    static const char *const units[] = {"Ki", "Mi", "Gi"};
    char *end;
    double number;

    if (!cJSON_IsString(value))
        return store_int(f, base, value);
    if (value->valuestring[0] < '0' || value->valuestring[0] > '9')
        return false;
    number = (double)strtoull(value->valuestring, &end, 10);
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        number *= 1024;
        if (strcmp(end, units[i]) != 0)
            continue;
        if (!spec_value_in_range(f, number))
            return false;
        field_put_int(f, base, (int64_t)number);
        return true;
    }
    return false;
}

static bool store_float(const struct field *f, void *base, const cJSON *value)
{
    if (!is_number(f, value))
        return false;
    *(double *)spec_value_at(f, base) = value->valuedouble;
    return true;
}

static bool store_bool(const struct field *f, void *base, const cJSON *value)
{
    if (!cJSON_IsBool(value))
        return false;
    if (f->size == sizeof(bool))
        *(bool *)spec_value_at(f, base) = cJSON_IsTrue(value);
    else
        field_put_int(f, base, cJSON_IsTrue(value));
    return true;
}

static bool store_pair(const struct field *f, void *base, const cJSON *value)
{
    const cJSON *first = cJSON_IsArray(value) ? value->child : value;
    const cJSON *second = cJSON_IsArray(value) && first ? first->next : first;
    int *pair = spec_value_at(f, base);

    if (!is_integer(f, first) || !is_integer(f, second) || (cJSON_IsArray(value) && second->next))
        return false;
    pair[0] = (int)first->valuedouble;
    pair[1] = (int)second->valuedouble;
    return true;
}

/* The list's length when every element is allowed, else 0. */
static size_t list_length(const struct field *f, const cJSON *value,
                          bool (*allowed)(const struct field *, const cJSON *))
{
    size_t n = 0;

    if (!cJSON_IsArray(value))
        return 0;
    for (const cJSON *c = value->child; c; c = c->next)
        if (++n > f->max_items || !allowed(f, c))
            return 0;
    return n;
}

static bool is_object(const struct field *f, const cJSON *value)
{
    (void)f;
    return cJSON_IsObject(value);
}

const cJSON *field_bad_element(const struct field *f, const cJSON *value, size_t *index)
{
    bool (*allowed)(const struct field *, const cJSON *) = f->kind == FIELD_FLOATS    ? is_number
                                                           : f->kind == FIELD_OPAQUES ? is_object
                                                           : f->kind == FIELD_STRINGS ? is_string
                                                                                      : is_integer;
    size_t n = f->kind == FIELD_PAIR ? 2 : f->max_items;

    *index = 0;
    if (!cJSON_IsArray(value) || n == 0 || (size_t)cJSON_GetArraySize(value) > n ||
        (f->kind == FIELD_PAIR && cJSON_GetArraySize(value) != 2))
        return NULL;
    for (const cJSON *c = value->child; c; c = c->next, ++*index)
        if (!allowed(f, c))
            return c;
    return NULL;
}

static bool store_ints(const struct field *f, void *base, const cJSON *value)
{
    size_t n = list_length(f, value, is_integer), i = 0;
    int64_t *list = spec_value_at(f, base);

    if (n == 0)
        return false;
    for (const cJSON *c = value->child; c; c = c->next)
        list[i++] = (int64_t)c->valuedouble;
    *count_at(f, base) = n;
    return true;
}

static bool store_floats(const struct field *f, void *base, const cJSON *value)
{
    size_t n = list_length(f, value, is_number), i = 0;
    double **list = spec_value_at(f, base);

    if (n == 0)
        return false;
    free(*list);
    *list = xcalloc(n, sizeof **list);
    for (const cJSON *c = value->child; c; c = c->next)
        (*list)[i++] = c->valuedouble;
    *count_at(f, base) = n;
    return true;
}

static bool store_strings(const struct field *f, void *base, const cJSON *value)
{
    const size_t n = list_length(f, value, is_string);
    char ***list = spec_value_at(f, base), *text;
    size_t size = n * sizeof **list, i = 0;

    if (n == 0)
        return false;
    for (const cJSON *c = value->child; c; c = c->next)
        size += strlen(c->valuestring) + 1;
    free(*list);
    *list = xmalloc(size);
    text = (char *)(*list + n);
    for (const cJSON *c = value->child; c; c = c->next) {
        const size_t bytes = strlen(c->valuestring) + 1;

        (*list)[i++] = memcpy(text, c->valuestring, bytes);
        text += bytes;
    }
    *count_at(f, base) = n;
    return true;
}

/* An object with one member, of one of these names. */
static bool is_one_of(const cJSON *value, const char *const *names)
{
    const cJSON *member = value->child;

    for (size_t i = 0; member && !member->next && names[i]; i++)
        if (strcmp(member->string, names[i]) == 0)
            return true;
    return false;
}

static bool store_json(const struct field *f, void *base, const cJSON *value)
{
    struct buf text;

    if (f->kind == FIELD_OPAQUES ? !list_length(f, value, is_object) : !cJSON_IsObject(value))
        return false;
    if (f->kind == FIELD_OPAQUE && f->names && !is_one_of(value, f->names))
        return false;
    for (const cJSON *c = value->child; c && f->kind == FIELD_MAP; c = c->next)
        if (!cJSON_IsString(c))
            return false;
    buf_init(&text, 0);
    json_print(value, 0, &text);
    put_text(f, base, text.data);
    return true;
}

bool field_store(const struct field *f, void *base, const cJSON *value)
{
    static bool (*const store[])(const struct field *, void *, const cJSON *) = {
        [FIELD_STRING] = store_string,     [FIELD_INT] = store_int,
        [FIELD_QUANTITY] = store_quantity, [FIELD_FLOAT] = store_float,
        [FIELD_BOOL] = store_bool,         [FIELD_ENUM] = store_enum,
        [FIELD_PAIR] = store_pair,         [FIELD_INTS] = store_ints,
        [FIELD_FLOATS] = store_floats,     [FIELD_MAP] = store_json,
        [FIELD_OPAQUE] = store_json,       [FIELD_OPAQUES] = store_json,
        [FIELD_STRINGS] = store_strings,
    };

    if (f->kind == FIELD_IGNORED)
        return true;
    return store[f->kind](f, base, value);
}

void field_store_present(const struct field *f, void *base)
{
    if (f->size)
        *(bool *)spec_value_at(f, base) = true;
}

/* Everything else is absent as zero. */
void field_store_absent(const struct field *f, void *base)
{
    if ((f->kind == FIELD_INT && f->size == sizeof(int64_t)) ||
        (f->kind == FIELD_BOOL && f->size == sizeof(int)))
        field_put_int(f, base, -1);
}

static cJSON *load_text(const struct field *f, const void *base)
{
    const char *text = *(char *const *)spec_value_at_const(f, base);

    if (!text)
        return NULL;
    return f->kind == FIELD_STRING ? cJSON_CreateString(text) : cJSON_CreateRaw(text);
}

static cJSON *load_list(const struct field *f, const void *base)
{
    size_t n = f->kind == FIELD_PAIR ? 2 : spec_value_count_of(f, base);
    const void *p = spec_value_at_const(f, base);
    cJSON *list;

    if (n == 0 || (f->kind == FIELD_PAIR && ((const int *)p)[0] == 0))
        return NULL;
    list = cJSON_CreateArray();
    for (size_t i = 0; i < n; i++) {
        double x = f->kind == FIELD_PAIR     ? ((const int *)p)[i]
                   : f->kind == FIELD_FLOATS ? (*(double *const *)p)[i]
                                             : (double)((const int64_t *)p)[i];

        cJSON_AddItemToArray(list, cJSON_CreateNumber(x));
    }
    return list;
}

cJSON *field_load(const struct field *f, const void *base)
{
    switch (f->kind) {
    case FIELD_STRING:
        return f->size ? load_text(f, base) : cJSON_CreateString(f->names[0]);
    case FIELD_MAP:
    case FIELD_OPAQUE:
    case FIELD_OPAQUES:
        return load_text(f, base);
    case FIELD_INT:
    case FIELD_QUANTITY:
        return field_get_int(f, base) < f->min ? NULL
                                               : cJSON_CreateNumber((double)field_get_int(f, base));
    case FIELD_FLOAT:
        return cJSON_CreateNumber(*(const double *)spec_value_at_const(f, base));
    case FIELD_BOOL:
        if (f->size == sizeof(bool))
            return cJSON_CreateBool(*(const bool *)spec_value_at_const(f, base));
        return field_get_int(f, base) < 0 ? NULL : cJSON_CreateBool(field_get_int(f, base) > 0);
    case FIELD_ENUM:
        return cJSON_CreateString(stored_word(f, base));
    case FIELD_PAIR:
    case FIELD_INTS:
    case FIELD_FLOATS:
        return load_list(f, base);
    case FIELD_STRINGS:
        return spec_value_count_of(f, base)
                   ? cJSON_CreateStringArray(
                         *(const char *const *const *)spec_value_at_const(f, base),
                         (int)spec_value_count_of(f, base))
                   : NULL;
    case FIELD_OBJECT:
        return f->size && *(const bool *)spec_value_at_const(f, base) ? cJSON_CreateObject() : NULL;
    case FIELD_IGNORED:
    case FIELD_LAYERS:
    case FIELD_TEXT: /* these and the rest: operator/api/status_json.c */
    case FIELD_WORD:
    case FIELD_TIME:
    case FIELD_INDICES:
    case FIELD_COUNTS:
    case FIELD_LIST:
    case FIELD_CONDITIONS:
        break;
    }
    return NULL;
}

void field_free(const struct field *f, void *base)
{
    bool owns = f->kind == FIELD_STRING || f->kind == FIELD_MAP || f->kind == FIELD_OPAQUE ||
                f->kind == FIELD_OPAQUES || f->kind == FIELD_FLOATS || f->kind == FIELD_STRINGS ||
                f->kind == FIELD_LAYERS;

    if (owns && f->size)
        free(*(void **)spec_value_at(f, base));
}
