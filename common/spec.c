/* From YAML to a job: every field checked against the table, every problem collected. */
#include "paceline/spec.h"

#include <limits.h>
#include <stdarg.h>

#include "common/spec_parse.h"
#include "common/spec_rules.h"
#include "paceline/json.h"
#include "paceline/mem.h"
#include "paceline/suggest.h"
#include "paceline/text.h"

#define MAX_SHOWN 60   /* bytes of a value in a message */
#define MAX_LISTED 100 /* bytes of the allowed values, beside a suggestion */
#define APPLIED_COPY "kubectl.kubernetes.io/last-applied-configuration"

/* One object of fields: the job, or one of its layers. */
struct scope {
    void *base;
    const cJSON **nodes;
    bool *bad;
    const cJSON *owner; /* where a missing field is reported */
    const char *prefix; /* of table paths: "" or "spec.model.layers[]." */
    const char *shown;  /* of paths in messages: "" or "spec.model.layers[2]." */
};

void problems_add(struct problems *p, const char *fmt, ...)
{
    AUTO(auto_free) char *raw = NULL;
    va_list args;

    va_start(args, fmt);
    if (vasprintf(&raw, fmt, args) < 0)
        raw = xstrdup(fmt);
    va_end(args);
    const size_t room = 4 * strlen(raw) + 1;
    char *text = xmalloc(room);
    text_escape(text, room, raw);
    p->items = xrealloc(p->items, (p->n + 1) * sizeof *p->items);
    p->items[p->n++] = text;
}

void problems_release(struct problems *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->items[i]);
    free(p->items);
    *p = (struct problems){0};
}

/* Above 0: a line of the file; -1 - i: override i; 0: unknown. */
static int spec_line_of(const struct parse *p, const cJSON *node)
{
    return node ? yaml_line(&p->doc, node) : 0;
}

void spec_report(struct parse *p, int line, const char *fmt, ...)
{
    struct spec_problem *problem = &p->problems[p->n_problems];
    AUTO(auto_free) char *what = NULL;
    va_list args;

    if (p->n_problems == MAX_PROBLEMS) {
        p->n_left_out++;
        return;
    }
    va_start(args, fmt);
    if (vasprintf(&what, fmt, args) < 0)
        what = xstrdup(fmt);
    va_end(args);
    problem->order = line < 0 ? INT_MAX / 2 - line : line;
    problem->index = p->n_problems++;
    if (line < 0)
        problem->text = xasprintf("--set %s: %s", p->sets[-1 - line], what);
    else if (line > 0)
        problem->text = xasprintf("%s:%d: %s", p->file, line, what);
    else if (p->file)
        problem->text = xasprintf("%s: %s", p->file, what);
    else
        problem->text = STEAL(what);
}

static int compare_problems(const void *a, const void *b)
{
    const struct spec_problem *x = a, *y = b;

    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

static void show_value(const cJSON *value, struct buf *out)
{
    AUTO(buf_release) struct buf text;

    buf_init(&text, 0);
    json_print(value, 0, &text);
    buf_printf(out, "%.*s%s", MAX_SHOWN, cJSON_IsNull(value) ? "nothing" : text.data,
               text.len > MAX_SHOWN ? "..." : "");
}

static size_t index_of(const struct field *f) { return (size_t)(f - spec_fields); }

/* A value that stands alone where an object or a list holds it: "optimizer: adam". */
static void suggest_form(const struct field *f, const cJSON *value, struct buf *out)
{
    static const char *const keys[] = {"name", "type", "kind"};
    const bool list = f->kind == FIELD_INTS || f->kind == FIELD_FLOATS || f->kind == FIELD_STRINGS;
    AUTO(buf_release) struct buf text;

    buf_init(&text, 0);
    show_value(value, &text);
    if (list && f->max_items && !cJSON_IsArray(value) && !cJSON_IsObject(value))
        buf_printf(out, "did you mean [%s]?", text.data);
    for (size_t i = 0; i < ARRAY_LEN(keys) && f->kind == FIELD_OBJECT && !out->len; i++) {
        AUTO(auto_free) char *path = xasprintf("%s.%s", f->path, keys[i]);

        if (cJSON_IsString(value) && spec_field_find(path))
            buf_printf(out, "did you mean {%s: %.*s}?", keys[i], MAX_SHOWN, value->valuestring);
    }
}

/* Names the command that shows a list of words too long for a message. Brackets are left out, since
 * the shell would interpret them. */
static void put_explain(const struct field *f, struct buf *out)
{
    buf_puts(out, "; `paceline explain ");
    for (const char *c = f->path; *c; c++)
        if (*c != '[' && *c != ']')
            buf_printf(out, "%c", *c);
    buf_puts(out, "` lists what is allowed");
}

/* "path: found X; allowed: Y", with what may have been meant. */
static void report_found(struct parse *p, const struct field *f, const char *path,
                         const cJSON *value)
{
    AUTO(buf_release) struct buf text, hint, allowed;

    buf_init(&text, 0);
    buf_init(&hint, 0);
    buf_init(&allowed, 0);
    show_value(value, &text);
    if (!f->names || !cJSON_IsString(value) || !suggest_value(f, value->valuestring, &hint))
        suggest_form(f, value, &hint);
    if (hint.len)
        buf_printf(&text, " (%s)", hint.data);
    field_allowed(f, &allowed);
    if (hint.len && allowed.len > MAX_LISTED)
        put_explain(f, &text);
    else
        buf_printf(&text, "; allowed: %s", allowed.data);
    spec_report(p, spec_line_of(p, value), "%s: found %s", path, text.data);
}

/* Points at the element of a list where one is wrong, as the API server does. */
static void report_value(struct parse *p, const struct field *f, const char *path,
                         const cJSON *value)
{
    struct field each = *f;
    size_t index;
    const cJSON *element = field_bad_element(f, value, &index);
    AUTO(auto_free) char *element_path = xasprintf("%s[%zu]", path, index);

    each.max_items = 0;
    if (element)
        report_found(p, &each, element_path, element);
    else
        report_found(p, f, path, value);
}

/* The fields directly below a table path, as keys. */
static size_t keys_below(const char *prefix, const char **keys)
{
    size_t n = 0, len = strlen(prefix);

    for (size_t i = 0; i < n_spec_fields; i++)
        if (strncmp(spec_fields[i].path, prefix, len) == 0 &&
            spec_fields[i].kind != FIELD_IGNORED && !strpbrk(spec_fields[i].path + len, ".["))
            keys[n++] = spec_fields[i].path + len;
    return n;
}

static void report_unknown(struct parse *p, const char *prefix, const char *path,
                           const cJSON *value)
{
    const char *keys[SPEC_MAX_FIELDS] = {0};
    size_t n = keys_below(prefix, keys);
    AUTO(buf_release) struct buf hint;

    buf_init(&hint, 0);
    if (!suggest_field(prefix, value->string, &hint)) {
        buf_puts(&hint, "allowed: ");
        for (size_t i = 0; i < n; i++)
            buf_printf(&hint, "%s%s", i ? ", " : "", keys[i]);
    }
    spec_report(p, spec_line_of(p, value), "%s: unknown field; %s", path, hint.data);
}

static void read_layers(struct parse *p, const struct field *f, const char *path,
                        const cJSON *list);

/* The fields of one object; prefix and shown end in a dot unless empty. */
static void spec_read_object(struct parse *p, struct scope *s, const cJSON *object,
                             const char *prefix, const char *shown)
{
    for (const cJSON *c = object->child; c; c = c->next) {
        AUTO(auto_free) char *path = xasprintf("%s%s", prefix, c->string);
        AUTO(auto_free) char *name = xasprintf("%s%.*s", shown, MAX_SHOWN, c->string);
        const struct field *f = spec_field_find(path);

        if (!f) {
            if (!p->from_api)
                report_unknown(p, prefix, name, c);
            continue;
        }
        s->nodes[index_of(f)] = c;
        if (f->kind == FIELD_LAYERS) {
            read_layers(p, f, name, c);
        } else if (f->kind == FIELD_OBJECT && cJSON_IsObject(c)) {
            AUTO(auto_free) char *below = xasprintf("%s.", path);

            field_store_present(f, s->base);
            spec_read_object(p, s, c, below, below);
        } else if (f->kind == FIELD_OBJECT || !field_store(f, s->base, c)) {
            s->bad[index_of(f)] = true;
            report_value(p, f, name, c);
        }
    }
}

/* Whether the file has the object that the field belongs to; missing objects report themselves. */
static bool has_parent(const struct scope *s, const struct field *f)
{
    const struct field *above = field_above(f);

    if ((size_t)(field_key(f) - f->path) == strlen(s->prefix))
        return true;
    return s->nodes[index_of(above)] || !above->required;
}

/* Defaults are JSON, but words stand without quotes. */
static void store_default(struct scope *s, const struct field *f, const char *text)
{
    bool word = f->kind == FIELD_STRING || f->kind == FIELD_ENUM;
    AUTO(auto_json) cJSON *value = word ? cJSON_CreateString(text) : cJSON_Parse(text);

    if (!value || !field_store(f, s->base, value))
        abort(); /* the table is wrong; its test reads every default */
}

static void fill_absent(struct parse *p, struct scope *s, const struct field *f,
                        const struct choice *choice)
{
    const char *text = choice ? choice->default_ : f->default_;

    if (text) {
        store_default(s, f, text);
    } else if (f->required) {
        AUTO(buf_release) struct buf allowed = {0};

        s->bad[index_of(f)] = true;
        if (!has_parent(s, f))
            return;
        buf_init(&allowed, 0);
        field_allowed(f, &allowed);
        spec_report(p, spec_line_of(p, s->owner), "%s%s: found nothing; needed: %s", s->shown,
                    f->path + strlen(s->prefix), allowed.data);
    } else if (f->size) {
        field_store_absent(f, s->base);
    }
}

static void report_not_applicable(struct parse *p, struct scope *s, const struct field *f,
                                  const struct choice *choice)
{
    AUTO(auto_json) cJSON *selected = field_load(choice_selector(choice), s->base);
    AUTO(buf_release) struct buf why;

    buf_init(&why, 0);
    field_belongs(f, &why);
    if (cJSON_IsString(selected))
        suggest_instead(f, selected->valuestring, &why);
    s->bad[index_of(f)] = true;
    spec_report(p, spec_line_of(p, s->nodes[index_of(f)]), "%s%s: %s", s->shown,
                f->path + strlen(s->prefix), why.data);
}

static const cJSON *node_at(const struct parse *p, const char *path)
{
    return p->nodes[index_of(spec_field_find(path))];
}

static bool has_model(const struct parse *p) { return node_at(p, spec_builtin_sections[0]); }

/* Sections of the built-in engine in a job of any image; as the CRD's rule says it. */
static void check_sections(struct parse *p)
{
    for (size_t i = 1; i < N_BUILTIN_SECTIONS && !has_model(p); i++)
        if (node_at(p, spec_builtin_sections[i]))
            spec_report(p, spec_line_of(p, node_at(p, spec_builtin_sections[i])), "%s: %s",
                        spec_builtin_sections[i], SPEC_NEEDS_MODEL);
}

/* Defaults, missing fields, and fields that do not go with their selector's value. */
static void finish_scope(struct parse *p, struct scope *s)
{
    bool layer = s->prefix[0] != '\0';

    for (size_t i = 0; i < n_spec_fields; i++) {
        const struct field *f = &spec_fields[i];
        const struct choice *choice;
        bool applies;

        if (field_in_layer(f) != layer)
            continue;
        applies = field_applies(f, s->base, &choice);
        if (choice && s->bad[index_of(choice_selector(choice))])
            continue;
        if (applies && !s->nodes[i])
            fill_absent(p, s, f, choice);
        else if (s->nodes[i] && choice && !applies && strcmp(choice->path, f->path) == 0)
            report_not_applicable(p, s, f, choice); /* else its object is reported */
        else if (!applies && f->size)
            field_store_absent(f, s->base);
    }
}

static void read_layer(struct parse *p, struct layer_spec *layer, const cJSON *value, size_t index)
{
    const cJSON *nodes[SPEC_MAX_FIELDS] = {0};
    bool bad[SPEC_MAX_FIELDS] = {0};
    AUTO(auto_free) char *name = xasprintf("spec.model.layers[%zu].", index);
    struct scope s = {layer, nodes, bad, value, "spec.model.layers[].", name};

    if (!cJSON_IsObject(value)) {
        AUTO(buf_release) struct buf found;

        buf_init(&found, 0);
        show_value(value, &found);
        spec_report(p, spec_line_of(p, value), "%.*s: found %s; allowed: an object with a type",
                    (int)strlen(name) - 1, name, found.data);
        return;
    }
    spec_read_object(p, &s, value, s.prefix, s.shown);
    finish_scope(p, &s);
}

static void read_layers(struct parse *p, const struct field *f, const char *path, const cJSON *list)
{
    size_t n = cJSON_IsArray(list) ? (size_t)cJSON_GetArraySize(list) : 0, before = p->n_problems;
    struct job *job = p->job;

    if (n == 0 || n > f->max_items) {
        p->bad[index_of(f)] = true;
        report_value(p, f, path, list);
        return;
    }
    job->model.layers = xcalloc(n, sizeof *job->model.layers);
    job->model.n_layers = n;
    n = 0;
    for (const cJSON *c = list->child; c; c = c->next, n++)
        read_layer(p, &job->model.layers[n], c, n);
    p->bad[index_of(f)] = p->n_problems > before;
}

static const cJSON *rule_node(const struct parse *p, const struct rule *rule)
{
    for (size_t i = 0; rule->paths[i]; i++)
        if (node_at(p, rule->paths[i]))
            return node_at(p, rule->paths[i]);
    return node_at(p, "spec");
}

/* Returns false after a rule that ends the checks. */
static bool check_rules(struct parse *p)
{
    AUTO(rule_facts_release) struct rule_facts facts = {.job = p->job};
    const struct rule *rule;

    for (size_t i = 0; node_at(p, "spec") && (rule = spec_rule(i)); i++) {
        AUTO(buf_release) struct buf found;
        bool unreadable = false;

        buf_init(&found, 0);
        for (size_t k = 0; rule->paths[k]; k++)
            unreadable |= p->bad[index_of(spec_field_find(rule->paths[k]))];
        if (!rule_is_for(rule, has_model(p), p->job->mpi.present))
            continue;
        if (unreadable || rule->warning || !rule_is_broken(i, &facts, &found))
            continue;
        spec_report(p, spec_line_of(p, rule_node(p, rule)), "%s: found %s; %s", rule->paths[0],
                    found.data, rule->allowed);
        if (rule->alone)
            return false;
    }
    return true;
}

static void hand_over_problems(struct parse *p, struct problems *out)
{
    qsort(p->problems, p->n_problems, sizeof *p->problems, compare_problems);
    for (size_t i = 0; i < p->n_problems; i++) {
        problems_add(out, "%s", p->problems[i].text);
        free(p->problems[i].text);
    }
    if (p->n_left_out)
        problems_add(out, "%s%s%zu more problems", p->file ? p->file : "", p->file ? ": " : "",
                     p->n_left_out);
}

/* Reports an object of another kind; its contents are not checked. */
static bool is_other_kind(struct parse *p)
{
    static const struct {
        const char *kind, *hint;
    } kinds[] = {
        {"PyTorchJob", "; examples/pytorch.yaml is such a job as a TrainingJob"},
        {"TFJob", "; examples/tensorflow-ps.yaml is such a job as a TrainingJob"},
        {"MPIJob", "; examples/mpi.yaml is such a job as a TrainingJob"},
        {"Study", "; `paceline study FILE` takes a study"},
    };
    const cJSON *kind = cJSON_GetObjectItemCaseSensitive(p->root, "kind");
    const char *hint = "";

    if (p->from_api || !cJSON_IsString(kind) || strcmp(kind->valuestring, "TrainingJob") == 0)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(kind->valuestring, kinds[i].kind) == 0)
            hint = kinds[i].hint;
    spec_report(p, spec_line_of(p, kind), "kind: found \"%.*s\"; allowed: TrainingJob%s", MAX_SHOWN,
                kind->valuestring, hint);
    return true;
}

static void spec_read_job(struct parse *p, size_t n_sets)
{
    struct scope s = {p->job, p->nodes, p->bad, p->root, "", ""};

    if (!cJSON_IsObject(p->root)) {
        spec_report(p, 0,
                    "found no object; allowed: a TrainingJob with apiVersion, kind, metadata "
                    "and spec");
        return;
    }
    if (is_other_kind(p))
        return;
    for (size_t i = 0; i < n_sets; i++)
        spec_apply_set(p, i);
    spec_read_object(p, &s, p->root, "", "");
    finish_scope(p, &s);
    if (check_rules(p))
        check_sections(p);
}

/* place: the file whose folder relative paths count from; NULL: they stay relative. */
static struct job *parse_text(const char *text, size_t len, const char *file, const char *place,
                              const char *const *sets, size_t n_sets, struct problems *problems)
{
    AUTO(auto_free) struct parse *p = xcalloc(1, sizeof *p);
    AUTO(auto_job) struct job *job = xcalloc(1, sizeof *job);
    size_t before = problems->n;
    struct err err;

    *p = (struct parse){.file = file, .sets = sets, .job = job};
    if (yaml_parse(&p->doc, text, len, file, &err))
        problems_add(problems, "%s", err.msg);
    else {
        p->root = p->doc.root;
        spec_read_job(p, n_sets);
        if (place)
            spec_place(p, place);
    }
    yaml_release(&p->doc);
    hand_over_problems(p, problems);
    return problems->n > before ? NULL : STEAL(job);
}

struct job *job_parse(const char *text, size_t len, const char *file, const char *const *sets,
                      size_t n_sets, struct problems *problems)
{
    return parse_text(text, len, file, NULL, sets, n_sets, problems);
}

/* kubectl keeps the applied file in an annotation: as large as the job, and of no use to it. */
static void drop_applied_copy(struct job *job)
{
    AUTO(auto_json) cJSON *map = NULL;
    struct buf text;
    struct err err;

    if (!job->annotations || !strstr(job->annotations, APPLIED_COPY) ||
        json_parse(&map, job->annotations, strlen(job->annotations), "annotations", &err))
        return;
    cJSON_DeleteItemFromObjectCaseSensitive(map, APPLIED_COPY);
    buf_init(&text, 0);
    json_print(map, 0, &text);
    free(job->annotations);
    job->annotations = text.data;
}

struct job *job_from_json(const cJSON *object, struct problems *problems)
{
    AUTO(auto_free) struct parse *p = xcalloc(1, sizeof *p);
    AUTO(auto_job) struct job *job = xcalloc(1, sizeof *job);
    size_t before = problems->n;

    *p = (struct parse){.root = object, .job = job, .from_api = true};
    spec_read_job(p, 0);
    hand_over_problems(p, problems);
    if (problems->n > before)
        return NULL;
    drop_applied_copy(job);
    return STEAL(job);
}

struct job *job_load(const char *path, const char *const *sets, size_t n_sets,
                     struct problems *problems)
{
    AUTO(buf_release) struct buf text;
    struct err err;

    if (buf_read_file(&text, path, YAML_MAX_BYTES, &err)) {
        problems_add(problems, "%s", err.msg);
        return NULL;
    }
    return parse_text(text.data, text.len, path, path, sets, n_sets, problems);
}

static void free_scope(void *base, bool layer)
{
    for (size_t i = 0; i < n_spec_fields; i++)
        if (field_in_layer(&spec_fields[i]) == layer)
            field_free(&spec_fields[i], base);
}

/* The text of a field whose content only the API server understands; or NULL. */
static char **carried_text(const struct field *f, struct job *job)
{
    bool carried = f->kind == FIELD_MAP || f->kind == FIELD_OPAQUE || f->kind == FIELD_OPAQUES;

    return carried && f->size && !field_in_layer(f) ? (char **)((char *)job + f->offset) : NULL;
}

/* Frees a carried text. A short list of rules stays: others than pods need it. A long one becomes
 * one that allows everything, since what it allows is not known any more. */
static void drop_carried(const struct field *f, char **text, size_t most)
{
    bool rules = f->kind == FIELD_OPAQUES;

    if (!*text || (rules && strlen(*text) <= most))
        return;
    free(*text);
    *text = xstrdup(rules ? "[{}]" : "{}");
}

bool job_strip(struct job *job, size_t most)
{
    size_t bytes = job->model.n_layers * sizeof *job->model.layers;
    char **text;

    for (size_t i = 0; i < n_spec_fields; i++)
        if ((text = carried_text(&spec_fields[i], job)) && *text)
            bytes += strlen(*text);
    if (bytes <= most)
        return false;
    for (size_t i = 0; i < n_spec_fields; i++) {
        text = carried_text(&spec_fields[i], job);
        if (text)
            drop_carried(&spec_fields[i], text, most);
    }
    while (job->model.n_layers > 1)
        free_scope(&job->model.layers[--job->model.n_layers], true);
    if (job->model.n_layers)
        job->model.layers = xrealloc(job->model.layers, sizeof *job->model.layers);
    return true;
}

void job_free(struct job *job)
{
    if (!job)
        return;
    for (size_t i = 0; i < job->model.n_layers; i++)
        free_scope(&job->model.layers[i], true);
    free_scope(job, false);
    free(job);
}

void auto_job(struct job **job) { job_free(*job); }
