#include "worker/checkpoint/config.h"

#include <inttypes.h>

#include "paceline/json.h"
#include "paceline/mem.h"
#include "paceline/version.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
#define SIDE_MAX (1 << 28)

/* The length of the UTF-8 character at s; 0 if there is none. Overlong forms and surrogates do not
 * count. */
static size_t utf8_length(const char *s)
{
    const uint8_t *b = (const uint8_t *)s;
    const size_t n = b[0] < 0x80   ? 1
                     : b[0] < 0xc2 ? 0
                     : b[0] < 0xe0 ? 2
                     : b[0] < 0xf0 ? 3
                     : b[0] < 0xf5 ? 4
                                   : 0;

    for (size_t i = 1; i < n; i++)
        if ((b[i] & 0xc0) != 0x80)
            return 0;
    if ((b[0] == 0xe0 && b[1] < 0xa0) || (b[0] == 0xed && b[1] > 0x9f) ||
        (b[0] == 0xf0 && b[1] < 0x90) || (b[0] == 0xf4 && b[1] > 0x8f))
        return 0;
    return n;
}

/* Readers of safetensors files expect UTF-8; names of folders and words may be any bytes. */
static void print_name(const char *name, struct buf *out)
{
    AUTO(buf_release) struct buf text;

    buf_init(&text, 0);
    while (*name) {
        const size_t n = utf8_length(name);

        if (n)
            buf_add(&text, name, n);
        else
            buf_puts(&text, REPLACEMENT);
        name += n ? n : 1;
    }
    json_print_string(text.data, out);
}

void config_print_names(struct config_names names, size_t max, struct buf *out)
{
    const size_t before = out->len;
    const char *name = names.texts;

    for (size_t i = 0; name && i < names.n && out->len - before <= max; i++) {
        buf_puts(out, i ? "," : "[");
        print_name(name, out);
        name += strlen(name) + 1;
    }
    if (out->len > before)
        buf_puts(out, "]");
    if (out->len - before > max)
        out->len = before;
}

void config_print(struct config_texts *c, const struct job *job, struct shape shape, int classes,
                  struct config_names names)
{
    buf_init(&c->spec, 0);
    buf_init(&c->names, 0);
    job_record(job, &c->spec);
    snprintf(c->shape, sizeof c->shape, "[%d,%d,%d]", shape.c, shape.h, shape.w);
    snprintf(c->classes, sizeof c->classes, "%d", classes);
    config_print_names(names, CONFIG_NAMES_MAX, &c->names);
}

void config_texts_release(struct config_texts *c)
{
    buf_release(&c->spec);
    buf_release(&c->names);
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
    return n;
}

static int bad(const char *path, const char *key, const char *why, struct err *err)
{
    return err_set(err, ERR_DAMAGED, "%s: __metadata__.%s: %s", path, key, why);
}

/* Reads the job and refuses unknown fields: such a field may have decided what the model computes.
 */
static int read_job(struct config *c, const char *text, const char *path, struct err *err)
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

static int read_shape(struct config *c, const char *text, const char *path, struct err *err)
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

static int read_classes(struct config *c, const char *text, const char *path, struct err *err)
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

static int read_names(struct config *c, const char *text, const char *path, struct err *err)
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

int config_read(struct config *c, const struct st_file *f, const char *path, struct err *err)
{
    static const struct {
        const char *key;
        int (*read)(struct config *c, const char *text, const char *path, struct err *err);
    } items[] = {{"spec", read_job},
                 {"shape", read_shape},
                 {"classes", read_classes},
                 {"classNames", read_names}};
    const char *version = st_meta_get(f, "version");

    *c = (struct config){.version = version ? version : ""};
    for (size_t i = 0; i < ARRAY_LEN(items); i++) {
        const char *text = st_meta_get(f, items[i].key);

        if (text && items[i].read(c, text, path, err) != 0) {
            config_release(c);
            return -1;
        }
    }
    return 0;
}

void config_release(struct config *c)
{
    job_free(c->job);
    cJSON_Delete(c->names);
    *c = (struct config){0};
}
