/* The rules of the table as the API server's x-kubernetes-validations. */
#include <string.h>

#include "cli/crd/crd.h"
#include "paceline/mem.h"
#include "paceline/net.h"

#define VALIDATIONS "x-kubernetes-validations"

static const char *below_spec(const char *path) { return path + strlen("spec"); }

/* Whether the first len bytes of path name something that may be absent. The last part counts with
 * leaf only. */
static bool may_lack(const char *path, size_t len, bool leaf)
{
    AUTO(auto_free) char *part = xasprintf("%.*s", (int)len, path);
    const struct field *f = spec_field_find(part);

    return f && !f->present && (path[len] || (leaf && !f->default_));
}

/* Appends "has(self.a)" or "self.?a.?b.hasValue()": whether path is there or, without leaf, what it
 * is in; nothing when all of it is always there. */
static void add_presence(const char *path, bool leaf, const char *self, struct buf *out)
{
    AUTO(buf_release) struct buf way;
    size_t lacking = 0, way_len = 0, path_len = 0; /* up to the last part that may be absent */

    buf_init(&way, 0);
    for (const char *dot = strchr(path, '.'); dot; dot = strchr(dot + 1, '.')) {
        const size_t len = (size_t)(strchrnul(dot + 1, '.') - path);
        const bool lacks = may_lack(path, len, leaf);

        buf_printf(&way, ".%s%.*s", lacks ? "?" : "", (int)(path + len - dot - 1), dot + 1);
        if (!lacks)
            continue;
        lacking++;
        way_len = way.len;
        path_len = len;
    }
    if (lacking == 1)
        buf_printf(out, "has(%s%.*s)", self, (int)(path_len - strlen("spec")), below_spec(path));
    else if (lacking)
        buf_printf(out, "%s%.*s.hasValue()", self, (int)way_len, way.data);
}

/* A default as CEL writes it. */
static void add_literal(const struct field *f, struct buf *out)
{
    bool text = f->kind == FIELD_STRING || f->kind == FIELD_ENUM;
    const char *value = f->default_ ? f->default_ : "";
    bool whole = f->kind == FIELD_FLOAT && !strpbrk(value, ".e");

    buf_printf(out, "%s%s%s", text ? "'" : "", value, text ? "'" : whole ? ".0" : "");
}

/* The value of a field: "self.?a.b.orValue(3)". The API server takes a text from orValue() for one
 * of any length, so its estimate is too high for matches(), or for == with another text that is no
 * literal. */
static void crd_rules_add_value(const char *path, const char *fallback, const char *self,
                                struct buf *out)
{
    const struct field *f = spec_field_find(path);
    bool known = fallback || (f && f->default_), lacks = false;

    buf_puts(out, self);
    for (const char *dot = strchr(path, '.'); dot; dot = strchr(dot + 1, '.')) {
        const char *end = strchrnul(dot + 1, '.');
        bool optional = known && may_lack(path, (size_t)(end - path), fallback != NULL);

        buf_printf(out, ".%s%.*s", optional ? "?" : "", (int)(end - dot - 1), dot + 1);
        lacks |= optional;
    }
    if (!lacks)
        return;
    buf_puts(out, ".orValue(");
    if (fallback)
        buf_puts(out, fallback);
    else
        add_literal(f, out);
    buf_puts(out, ")");
}

/* What job_lanes() finds, but for batch normalisation, which wants more samples in a lane. */
static void add_lanes(struct buf *out)
{
    crd_cel("({spec.training.lanes} > 0 ? {spec.training.lanes} : [64, 32, 16, 8, 4, 2, 1].filter("
            "n, n == 1 || 4 * n <= {spec.training.batchSize})[0])",
            "self", out);
}

/* Those of the built-in networks are written out; of none: 0. */
static void add_layers(struct buf *out)
{
    buf_puts(out, "(has(self.model.layers) ? size(self.model.layers) : has(self.model.hidden) ? "
                  "2 * size(self.model.hidden) + 2 : {'': 0");
    for (size_t i = 0; i < n_net_defs; i++) {
        AUTO(layer_list_release) struct layer_list list = {0};

        net_def_layers(&list, &net_defs[i], 0);
        buf_printf(out, ", '%s': %zu", net_defs[i].name, list.n);
    }
    crd_cel("}[{spec.model.name|''}])", "self", out);
}

void crd_cel(const char *text, const char *self, struct buf *out)
{
    const char *open, *close;

    for (; (open = strchr(text, '{')); text = close + 1) {
        AUTO(auto_free) char *inside = NULL;
        char *fallback;

        buf_add(out, text, (size_t)(open - text));
        close = strchrnul(open, '}');
        inside = xasprintf("%.*s", (int)(close - open - 1), open + 1);
        fallback = strchr(inside, '|');
        if (fallback)
            *fallback++ = '\0';
        if (strcmp(inside, "#lanes") == 0) {
            add_lanes(out);
        } else if (strcmp(inside, "#layers") == 0) {
            add_layers(out);
        } else if (inside[0] == '?') {
            add_presence(inside + 1, true, self, out);
        } else {
            crd_rules_add_value(inside, fallback, self, out);
        }
    }
    buf_puts(out, text);
}

static void crd_rules_add_rule(cJSON *schema, const char *rule, const char *message_key,
                               const char *message, const char *path)
{
    cJSON *list = cJSON_GetObjectItem(schema, VALIDATIONS), *entry = cJSON_CreateObject();

    if (!list)
        list = cJSON_AddArrayToObject(schema, VALIDATIONS);
    cJSON_AddStringToObject(entry, "rule", rule);
    cJSON_AddStringToObject(entry, message_key, message);
    if (*path)
        cJSON_AddStringToObject(entry, "fieldPath", path);
    cJSON_AddItemToArray(list, entry);
}

/*
 * "found X; allowed" as a CEL string. format() is the only way to join numbers: the API server
 * takes the length of string(n) for unbounded, and refuses the cost of any + after it.
 */
static void add_found(const struct rule *r, struct buf *out)
{
    const char *text = r->found, *open, *close;
    AUTO(buf_release) struct buf numbers;

    buf_init(&numbers, 0);
    buf_puts(out, "'found ");
    for (; (open = strstr(text, "[[")); text = close + 2) {
        AUTO(auto_free) char *number = NULL;

        close = strstr(open, "]]");
        number = xasprintf("%.*s", (int)(close - open - 2), open + 2);
        buf_printf(out, "%.*s%%d", (int)(open - text), text);
        buf_puts(&numbers, numbers.len ? ", " : "");
        crd_cel(number, "self", &numbers);
    }
    buf_printf(out, "%s; %s'.format([%s])", text, r->allowed, numbers.data);
}

static void add_table_rule(cJSON *spec, const struct rule *r)
{
    static const char *const only[] = {[RULE_ANY] = "",
                                       [RULE_BUILTIN] = "!has(self.model) || ",
                                       [RULE_IMAGE] = "has(self.model) || ",
                                       [RULE_MPI] = "!has(self.mpi) || "};
    bool constant = !strstr(r->found, "[[");
    AUTO(buf_release) struct buf rule, message;

    buf_init(&rule, 0);
    buf_init(&message, 0);
    buf_printf(&rule, "%s%s", only[r->job], r->job == RULE_ANY ? "" : "(");
    crd_cel(r->holds, "self", &rule);
    buf_puts(&rule, r->job == RULE_ANY ? "" : ")");
    if (constant)
        buf_printf(&message, "found %s; %s", r->found, r->allowed);
    else
        add_found(r, &message);
    crd_rules_add_rule(spec, rule.data, constant ? "message" : "messageExpression", message.data,
                       below_spec(r->paths[0]));
}

/* Sections of the built-in engine without a model. */
static void add_sections(cJSON *spec)
{
    for (size_t i = 1; i < N_BUILTIN_SECTIONS; i++) {
        const char *path = below_spec(spec_builtin_sections[i]);
        AUTO(auto_free) char *rule = xasprintf("has(self.model) || !has(self%s)", path);

        crd_rules_add_rule(spec, rule, "message", SPEC_NEEDS_MODEL, path);
    }
}

/* The value of a field with a default: "(has(self.a) ? self.a.b : 3)", whose length the API server
 * knows. */
static void add_bounded(const struct field *f, const char *self, struct buf *out)
{
    AUTO(buf_release) struct buf presence;

    buf_init(&presence, 0);
    add_presence(f->path, false, self, &presence);
    if (presence.len)
        buf_printf(out, "(%s ? ", presence.data);
    buf_printf(out, "%s%s", self, below_spec(f->path));
    if (!presence.len)
        return;
    buf_puts(out, " : ");
    add_literal(f, out);
    buf_puts(out, ")");
}

/*
 * Immutability of an optional field is a rule on the spec, for a rule on the field itself is not
 * asked when the field comes or goes. Equality is asked both ways: the API server looks for the
 * left side's fields on the right and, where it does not know a field, only if it is there. What a
 * suspended job may change is asked of one that was suspended before: its pods are going or gone.
 */
static void add_fixed(cJSON *spec, const struct field *f)
{
    const char *path = below_spec(f->path);
    const bool is_scalar = f->kind == FIELD_STRING || f->kind == FIELD_ENUM;
    AUTO(buf_release) struct buf rule;
    AUTO(auto_free) char *there = xasprintf("{?%s}", f->path);

    buf_init(&rule, 0);
    if (f->paused)
        crd_cel("{spec.runPolicy.suspend} || ", "oldSelf", &rule);
    if (f->default_) {
        add_bounded(f, "self", &rule);
        buf_puts(&rule, " == ");
        add_bounded(f, "oldSelf", &rule);
    } else {
        crd_cel(there, "self", &rule);
        buf_puts(&rule, " == ");
        crd_cel(there, "oldSelf", &rule);
        buf_puts(&rule, " && (!");
        crd_cel(there, "self", &rule);
        buf_printf(&rule, " || self%s == oldSelf%s", path, path);
        if (!is_scalar)
            buf_printf(&rule, " && oldSelf%s == self%s", path, path);
        buf_puts(&rule, ")");
    }
    crd_rules_add_rule(spec, rule.data, "message", f->paused ? SPEC_PAUSED : SPEC_FIXED,
                       below_spec(f->path));
}

/* Servers may become more or fewer, but a job keeps having them or not. */
static void add_fixed_servers(cJSON *spec)
{
    static const char path[] = "spec.replicas.ps.replicas",
                      value[] = "({spec.replicas.ps.replicas} > 0)";
    AUTO(buf_release) struct buf rule;

    buf_init(&rule, 0);
    crd_cel(value, "self", &rule);
    buf_puts(&rule, " == ");
    crd_cel(value, "oldSelf", &rule);
    crd_rules_add_rule(spec, rule.data, "message",
                       "may not change between 0 and more after creation", below_spec(path));
}

/* The values of a field's choices by this selector, as a CEL list; "" when there are none. */
static void choice_values(const struct field *f, const char *selector, bool only_without_default,
                          struct buf *out)
{
    size_t n;
    const struct choice *choices = field_choices(f, &n);

    for (size_t i = 0; i < n; i++) {
        const struct choice *c = &choices[i];

        if (strcmp(c->selector, selector) != 0 || (only_without_default && c->default_))
            continue;
        buf_puts(out, out->len ? ", '" : "'");
        for (const char *w = c->values; *w; w++) {
            if (*w == ' ')
                buf_puts(out, "', '");
            else
                buf_add(out, w, 1);
        }
        buf_puts(out, "'");
    }
}

/*
 * Whether a rule can ask: selector and field stand in one object (the choices of
 * dataset.normalize leave nothing out), and CEL sees the field (it does not see pairs).
 */
static bool can_ask(const struct field *f, const struct field *selector)
{
    size_t len = (size_t)(field_key(f) - f->path);

    return f->kind != FIELD_PAIR && (size_t)(field_key(selector) - selector->path) == len &&
           strncmp(f->path, selector->path, len) == 0;
}

/* Whether choice i is the first one by its selector. */
static bool is_first_by(size_t i, const struct choice *choices)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(choices[k].selector, choices[i].selector) == 0)
            return false;
    return true;
}

/* "self.type in ['a', 'b']", or "self.type == 'a'". */
static void add_in(const struct field *selector, const char *values, struct buf *rule)
{
    const bool several = strchr(values, ',');

    buf_printf(rule, "self.%s %s%s%s", field_key(selector), several ? "in [" : "== ", values,
               several ? "]" : "");
}

/* " || self.type in ['a', 'b']": a word of the selector with which the field belongs there. */
static void add_belongs(const struct field *f, const struct field *selector, struct buf *rule)
{
    const char *by = field_key(selector);
    AUTO(buf_release) struct buf values;

    buf_init(&values, 0);
    choice_values(f, selector->path, false, &values);
    buf_puts(rule, " || ");
    if (!selector->default_ && !selector->required)
        buf_printf(rule, "has(self.%s) && ", by);
    add_in(selector, values.data, rule);
}

/* Words of the selector that need the field. */
static void add_needed(cJSON *schema, const struct field *f, const struct field *selector)
{
    AUTO(auto_free) char *path = xasprintf(".%s", field_key(f));
    AUTO(buf_release) struct buf values, rule, message;

    buf_init(&values, 0);
    buf_init(&rule, 0);
    buf_init(&message, 0);
    choice_values(f, selector->path, true, &values);
    buf_printf(&rule, "has(self.%s) || !(", field_key(f));
    add_in(selector, values.data, &rule);
    buf_puts(&rule, ")");
    buf_puts(&message, "found nothing; needed: ");
    field_allowed(f, &message);
    crd_rules_add_rule(schema, rule.data, "message", message.data, path);
}

/* A field belongs to some words of its selectors, and some of those need it. */
static void add_choices(cJSON *root, const struct field *f)
{
    AUTO(auto_free) char *above = xasprintf("%.*s", (int)(field_key(f) - f->path - 1), f->path);
    AUTO(auto_free) char *path = xasprintf(".%s", field_key(f));
    AUTO(buf_release) struct buf rule, message;
    const struct field *selector = NULL;
    size_t n;
    const struct choice *choices = field_choices(f, &n);

    buf_init(&rule, 0);
    buf_init(&message, 0);
    buf_printf(&rule, "!has(self.%s)", field_key(f));
    for (size_t i = 0; i < n; i++) {
        const struct field *by =
            is_first_by(i, choices) ? spec_field_find(choices[i].selector) : NULL;

        if (!by || !can_ask(f, by))
            continue;
        add_belongs(f, by, &rule);
        selector = by;
    }
    if (!selector)
        return;
    field_belongs(f, &message);
    crd_rules_add_rule(crd_schema_at(root, above), rule.data, "message", message.data, path);
    if (f->required)
        add_needed(crd_schema_at(root, above), f, selector);
}

void crd_add_rules(cJSON *schema)
{
    cJSON *spec = crd_schema_at(schema, "spec");
    const struct rule *rule;

    add_sections(spec);
    for (size_t i = 0; (rule = spec_rule(i)); i++)
        if (!rule->warning)
            add_table_rule(spec, rule);
    for (size_t i = 0; i < n_spec_fields; i++) {
        if (spec_fields[i].fixed || spec_fields[i].paused)
            add_fixed(spec, &spec_fields[i]);
        add_choices(schema, &spec_fields[i]);
    }
    add_fixed_servers(spec);
}
