#include "worker/checkpoint/config.h"

#include <inttypes.h>

#include "paceline/json.h"
#include "paceline/mem.h"
#include "paceline/text.h"
#include "paceline/version.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
#define SIDE_MAX (1 << 28)

/* Versions before classNamesBytes wrote U+FFFD for a byte that they could not write. A name that
 * contains it is written by its bytes, so that it proves such a version. */
static bool config_is_plain(const char *name)
{
    size_t left = strlen(name);

    if (strstr(name, REPLACEMENT))
        return false;
    while (left) {
        const size_t n = text_character(name, left);

        if (!n)
            return false;
        name += n;
        left -= n;
    }
    return true;
}

/* Each byte as the character of the same number, as ISO 8859-1 has it. */
static void print_bytes(const char *name, struct buf *out)
{
    AUTO(buf_release) struct buf text;

    buf_init(&text, 0);
    for (; *name; name++) {
        const uint8_t byte = (uint8_t)*name;
        const char two[] = {(char)(0xc0 | byte >> 6), (char)(0x80 | (byte & 0x3f))};

        if (byte < 0x80)
            buf_add(&text, name, 1);
        else
            buf_add(&text, two, 2);
    }
    json_print_string(text.data, out);
}

void config_print_names(struct config_names names, size_t max, struct buf *out, struct buf *bytes)
{
    const size_t before = out->len;
    const char *name = names.texts;

    for (size_t i = 0; name && i < names.n && out->len - before <= max; i++) {
        buf_puts(out, i ? "," : "[");
        if (config_is_plain(name)) {
            json_print_string(name, out);
        } else {
            print_bytes(name, out);
            if (bytes)
                buf_printf(bytes, "%s%zu", bytes->len ? "," : "[", i);
        }
        name += strlen(name) + 1;
    }
    if (out->len > before)
        buf_puts(out, "]");
    if (bytes && bytes->len)
        buf_puts(bytes, "]");
    if (out->len - before <= max)
        return;
    out->len = before;
    if (bytes)
        bytes->len = 0;
}

void config_print(struct config_texts *c, const struct job *job, struct shape shape, int classes,
                  struct config_names names, struct config_names columns)
{
    buf_init(&c->columns, 0);
    config_print_names(columns, CONFIG_NAMES_MAX, &c->columns, NULL);
    buf_init(&c->spec, 0);
    buf_init(&c->names, 0);
    buf_init(&c->name_bytes, 0);
    job_record(job, &c->spec);
    snprintf(c->shape, sizeof c->shape, "[%d,%d,%d]", shape.c, shape.h, shape.w);
    snprintf(c->classes, sizeof c->classes, "%d", classes);
    config_print_names(names, CONFIG_NAMES_MAX, &c->names, &c->name_bytes);
}

void config_texts_release(struct config_texts *c)
{
    buf_release(&c->spec);
    buf_release(&c->names);
    buf_release(&c->name_bytes);
    buf_release(&c->columns);
}

size_t config_items(const struct config_texts *c, struct st_meta *items)
{
    size_t n = 0;

    items[n++] = (struct st_meta){"version", PACELINE_VERSION};
    items[n++] = (struct st_meta){"spec", c->spec.data};
    items[n++] = (struct st_meta){"shape", c->shape};
    items[n++] = (struct st_meta){"classes", c->classes};
    if (c->names.len)
        items[n++] = (struct st_meta){"classNames", c->names.data};
    if (c->name_bytes.len)
        items[n++] = (struct st_meta){"classNamesBytes", c->name_bytes.data};
    if (c->columns.len)
        items[n++] = (struct st_meta){"columns", c->columns.data};
    return n;
}

static int bad(const char *path, const char *key, const char *why, struct err *err)
{
    return err_set(err, ERR_DAMAGED, "%s: __metadata__.%s: %s", path, key, why);
}

/* Reads the job and refuses unknown fields: such a field may have decided what the model computes.
 */
static int config_read_job(struct config *c, const char *text, const char *path, struct err *err)
{
    static const char *const place[] = {"spec.dataset.path=/"}; /* for sets that need one */
    AUTO(auto_json) cJSON *tree = NULL;
    AUTO(problems_release) struct problems problems = {0};
    struct err why;

    if (strlen(text) > CONFIG_SPEC_MAX)
        return bad(path, "spec", "it is longer than 1 MiB", err);
    if (json_parse(&tree, text, strlen(text), "spec", &why)) /* bounds depth and keys */
        return bad(path, "spec", why.msg, err);
    c->job = job_parse(text, strlen(text), "spec", place, ARRAY_LEN(place), &problems);
    if (!c->job)
        return err_set(err, ERR_INVALID,
                       "%s: __metadata__.spec, written by version %.20s, this is " PACELINE_VERSION
                       ": %s",
                       path, c->version, problems.n ? problems.items[0] : "it is no job");
    free(c->job->dataset.path);
    c->job->dataset.path = NULL;
    return 0;
}

static int config_read_shape(struct config *c, const char *text, const char *path, struct err *err)
{
    int *const sides[] = {&c->shape.c, &c->shape.h, &c->shape.w};
    AUTO(auto_json) cJSON *list = NULL;
    struct err why;

    if (json_parse(&list, text, strlen(text), "shape", &why))
        return bad(path, "shape", why.msg, err);
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) != (int)ARRAY_LEN(sides))
        return bad(path, "shape", "needed: [channels, height, width]", err);
    for (int i = 0; i < (int)ARRAY_LEN(sides); i++) {
        const cJSON *side = cJSON_GetArrayItem(list, i);

        if (!cJSON_IsNumber(side) || !(side->valuedouble >= 1 && side->valuedouble <= SIDE_MAX) ||
            side->valuedouble != side->valueint)
            return err_set(err, ERR_DAMAGED,
                           "%s: __metadata__.shape: needed: three whole numbers from 1 to %d", path,
                           SIDE_MAX);
        *sides[i] = side->valueint;
    }
    return 0;
}

/* After the shape. */
static int config_read_columns(struct config *c, const char *text, const char *path,
                               struct err *err)
{
    const size_t values = (size_t)c->shape.c * (size_t)c->shape.h * (size_t)c->shape.w;
    const cJSON *name;
    struct err why;
    size_t n = 0;

    if (strlen(text) > CONFIG_NAMES_MAX)
        return bad(path, "columns", "they are longer than 16 MiB", err);
    if (json_parse(&c->column_list, text, strlen(text), "columns", &why))
        return bad(path, "columns", why.msg, err);
    if (!cJSON_IsArray(c->column_list) || (size_t)cJSON_GetArraySize(c->column_list) != values)
        return bad(path, "columns", "needed: a name for each value of a sample", err);
    c->columns = xcalloc(values + 1, sizeof *c->columns);
    cJSON_ArrayForEach(name, c->column_list)
    {
        if (!cJSON_IsString(name))
            return bad(path, "columns", "needed: a list of strings", err);
        c->columns[n++] = name->valuestring;
    }
    return 0;
}

static int config_read_classes(struct config *c, const char *text, const char *path,
                               struct err *err)
{
    char *end;
    const long n = strtol(text, &end, 10);

    if (*text < '0' || *text > '9' || *end || n < 1 || n > CONFIG_CLASSES_MAX)
        return err_set(err, ERR_DAMAGED,
                       "%s: __metadata__.classes: needed: a whole number from 1 to %d", path,
                       CONFIG_CLASSES_MAX);
    c->classes = (int)n;
    return 0;
}

static int config_read_names(struct config *c, const char *text, const char *path, struct err *err)
{
    const cJSON *name;
    struct err why;

    if (strlen(text) > CONFIG_NAMES_MAX)
        return bad(path, "classNames", "they are longer than 16 MiB", err);
    if (json_parse(&c->names, text, strlen(text), "classNames", &why))
        return bad(path, "classNames", why.msg, err);
    cJSON_ArrayForEach(name, c->names)
    {
        if (!cJSON_IsString(name))
            return bad(path, "classNames", "needed: a list of strings", err);
    }
    if (!cJSON_IsArray(c->names) || cJSON_GetArraySize(c->names) != c->classes)
        return bad(path, "classNames", "needed: a list of as many strings as there are classes",
                   err);
    return 0;
}

/* The bytes that print_bytes has written, to `to`, which has room for as many bytes as text has; -1
 * if it has not written this text. */
static int config_read_bytes(const char *text, char *to)
{
    for (; *text; text++) {
        const uint8_t first = (uint8_t)text[0], second = (uint8_t)text[1];

        if (first >= 0x80 && ((first != 0xc2 && first != 0xc3) || (second & 0xc0) != 0x80))
            return -1;
        *to++ = first < 0x80 ? *text : (char)(first << 6 | (second & 0x3f));
        text += first >= 0x80;
    }
    *to = '\0';
    return 0;
}

static int read_name_bytes(struct config *c, const char *text, const char *path, struct err *err)
{
    static const char needed[] = "needed: rising numbers of classNames, each a name without "
                                 "characters beyond U+00FF";
    const cJSON *number;
    struct err why;
    int next = 0;

    if (strlen(text) > CONFIG_NAMES_MAX)
        return bad(path, "classNamesBytes", "they are longer than 16 MiB", err);
    if (json_parse(&c->name_bytes, text, strlen(text), "classNamesBytes", &why))
        return bad(path, "classNamesBytes", why.msg, err);
    cJSON *name = c->names ? c->names->child : NULL;
    cJSON_ArrayForEach(number, c->name_bytes)
    {
        const int at = cJSON_IsNumber(number) ? number->valueint : -1;

        for (; name && next < at; next++)
            name = name->next;
        if (!name || at < next || number->valuedouble != at)
            return bad(path, "classNamesBytes", needed, err);
        AUTO(auto_free) char *bytes = xcalloc(strlen(name->valuestring) + 1, 1);
        if (config_read_bytes(name->valuestring, bytes))
            return bad(path, "classNamesBytes", needed, err);
        name = name->next;
        next++;
    }
    return cJSON_IsArray(c->name_bytes) ? 0 : bad(path, "classNamesBytes", needed, err);
}

struct item {
    const char *key;
    int (*read)(struct config *c, const char *text, const char *path, struct err *err);
};

static const struct item of_job[] = {
    {"spec", config_read_job}, {"shape", config_read_shape}, {"columns", config_read_columns}};
static const struct item of_labels[] = {{"classes", config_read_classes},
                                        {"classNames", config_read_names},
                                        {"classNamesBytes", read_name_bytes}};

static int read_items(struct config *c, const struct st_file *f, const char *path,
                      const struct item *items, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        const char *text = st_meta_get(f, items[i].key);

        if (text && items[i].read(c, text, path, err) != 0) {
            config_release(c);
            return -1;
        }
    }
    return 0;
}

int config_read(struct config *c, const struct st_file *f, const char *path, struct err *err)
{
    const char *version = st_meta_get(f, "version");

    *c = (struct config){.version = version ? version : ""};
    if (read_items(c, f, path, of_job, ARRAY_LEN(of_job), err))
        return -1;
    return read_items(c, f, path, of_labels, ARRAY_LEN(of_labels), err);
}

void config_release(struct config *c)
{
    job_free(c->job);
    cJSON_Delete(c->names);
    cJSON_Delete(c->name_bytes);
    cJSON_Delete(c->column_list);
    free(c->columns);
    *c = (struct config){0};
}

const char **config_names_list(const struct config *c, struct arena *a)
{
    const cJSON *name, *number = c->name_bytes ? c->name_bytes->child : NULL;
    const size_t n = (size_t)cJSON_GetArraySize(c->names);
    const char **list = arena_alloc(a, (n ? n : 1) * sizeof *list);
    int i = 0;

    cJSON_ArrayForEach(name, c->names)
    {
        if (number && number->valueint == i) {
            char *bytes = arena_alloc(a, strlen(name->valuestring) + 1);

            if (config_read_bytes(name->valuestring, bytes))
                *bytes = '\0'; /* config_read has refused such a name */
            list[i] = bytes;
            number = number->next;
        } else if (!strstr(name->valuestring, REPLACEMENT)) {
            list[i] = name->valuestring;
        }
        i++;
    }
    return list;
}

int config_check_names(const struct st_file *f, const char *path, struct config_names names,
                       bool words, struct err *err)
{
    AUTO(config_release) struct config c = {0};
    AUTO(arena_release) struct arena arena = {0};
    const char *name = names.texts;

    if (read_items(&c, f, path, of_labels, ARRAY_LEN(of_labels), err))
        return -1;
    const char *const *list = config_names_list(&c, &arena);
    for (size_t i = 0; name && c.names && i < names.n && i < (size_t)c.classes; i++) {
        if (list[i] && strcmp(list[i], name) != 0)
            return err_set(err, ERR_INVALID,
                           "%s: its %s %zu is \"%.40s\", but \"%.40s\" in the data; needed: data "
                           "with the %s that the model was trained on",
                           path, words ? "word" : "class", i, list[i], name,
                           words ? "training text" : "classes");
        name += strlen(name) + 1;
    }
    return 0;
}
