/* Expressions of rules: a recursive-descent parser, and their value on a job. */
#include "common/rule_expr.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "paceline/json.h"
#include "paceline/mem.h"

#define MAX_VARIABLES 2

enum rule_op {
    OP_OR,
    OP_AND,
    OP_EQUAL,
    OP_DIFFERENT,
    OP_AT_MOST,
    OP_AT_LEAST,
    OP_BELOW,
    OP_ABOVE,
    OP_IN,
    OP_ADD,
    OP_SUBTRACT,
    OP_MULTIPLY,
    OP_MODULO,
    OP_NOT,
    OP_CHOOSE,     /* a ? b : c */
    OP_CONSTANT,   /* value */
    OP_LIST,       /* an element a, and the list b after it; a NULL: no element */
    OP_FIELD,      /* field, or a where it is absent */
    OP_LANES,      /* {#lanes} */
    OP_LAYERS,     /* {#layers} */
    OP_VARIABLE,   /* the variable-th of all(), exists_one() */
    OP_MEMBER,     /* a.name */
    OP_INDEX,      /* a[b] */
    OP_HAS,        /* has(a) */
    OP_SIZE,       /* size(a) */
    OP_NUMBER,     /* double(a) */
    OP_ALL,        /* a.all(variable, b) */
    OP_EXISTS_ONE, /* a.exists_one(variable, b) */
    OP_SORTED,     /* a.isSorted() */
    OP_STARTS      /* a.startsWith(b) */
};

/* A text, an object or list, or else a number; nothing at all is a number with absent set. */
struct rule_value {
    const char *text;
    const cJSON *tree;
    double number;
    bool absent;
};

struct rule_expr {
    enum rule_op op;
    const struct rule_expr *a, *b, *c;
    struct rule_value value;
    const struct field *field;
    const char *name;
    size_t variable;
};

/* What is being read. */
struct rule_text {
    struct arena *arena;
    const char *at;
    const char *variables[MAX_VARIABLES];
    size_t n_variables;
};

static const struct rule_expr *read_choice(struct rule_text *t);

static bool rule_text_take(struct rule_text *t, const char *token)
{
    t->at += strspn(t->at, " ");
    if (strncmp(t->at, token, strlen(token)) != 0)
        return false;
    t->at += strlen(token);
    return true;
}

static void rule_text_need(struct rule_text *t, const char *token)
{
    if (!rule_text_take(t, token))
        abort(); /* the table is wrong; its test reads every rule */
}

/* The next bytes up to one of these, which is left. */
static char *rule_text_until(struct rule_text *t, const char *stops)
{
    const size_t n = strcspn(t->at, stops);
    char *part = arena_printf(t->arena, "%.*s", (int)n, t->at);

    t->at += n;
    return part;
}

static char *rule_text_word(struct rule_text *t)
{
    return rule_text_until(t, " .,()[]{}|&!?:=<>+-*%'");
}

static struct rule_expr *rule_expr_new(struct rule_text *t, enum rule_op op,
                                       const struct rule_expr *a, const struct rule_expr *b)
{
    struct rule_expr *e = arena_alloc(t->arena, sizeof *e);

    *e = (struct rule_expr){.op = op, .a = a, .b = b};
    return e;
}

static const struct rule_expr *read_constant(struct rule_text *t)
{
    struct rule_expr *e = rule_expr_new(t, OP_CONSTANT, NULL, NULL);
    char *end;

    if (rule_text_take(t, "'")) {
        e->value.text = rule_text_until(t, "'");
        rule_text_need(t, "'");
    } else if (rule_text_take(t, "true")) {
        e->value.number = 1;
    } else if (!rule_text_take(t, "false")) {
        e->value.number = strtod(t->at, &end);
        if (end == t->at)
            abort();
        t->at = end;
    }
    return e;
}

/* The default of a field in the table, where words have no quotes; NULL: it has none. */
static const struct rule_expr *default_of(struct rule_text *t, const struct field *f)
{
    struct rule_text rest = {.arena = t->arena, .at = f->default_};
    struct rule_expr *word;

    if (!f->default_)
        return NULL;
    if (f->kind != FIELD_STRING && f->kind != FIELD_ENUM)
        return read_constant(&rest);
    word = rule_expr_new(t, OP_CONSTANT, NULL, NULL);
    word->value.text = f->default_;
    return word;
}

/* After "{". */
static const struct rule_expr *read_place(struct rule_text *t)
{
    const bool has = rule_text_take(t, "?");
    struct rule_expr *e = rule_expr_new(t, OP_FIELD, NULL, NULL);

    if (rule_text_take(t, "#lanes"))
        e->op = OP_LANES;
    else if (rule_text_take(t, "#layers"))
        e->op = OP_LAYERS;
    else if (!(e->field = spec_field_find(rule_text_until(t, "|}"))))
        abort();
    else
        e->a = rule_text_take(t, "|") ? read_constant(t) : default_of(t, e->field);
    if (has && e->a)
        abort(); /* it is always there, and the API server would not know */
    rule_text_need(t, "}");
    return has ? rule_expr_new(t, OP_HAS, e, NULL) : e;
}

/* After "[": constants. */
static const struct rule_expr *rule_text_list(struct rule_text *t)
{
    struct rule_expr *list = rule_expr_new(t, OP_LIST, NULL, NULL);

    if (rule_text_take(t, "]"))
        return list;
    list->a = read_constant(t);
    rule_text_take(t, ",");
    list->b = rule_text_list(t);
    return list;
}

/* A function's call, or a variable. */
static const struct rule_expr *rule_text_call(struct rule_text *t)
{
    static const struct {
        const char *name;
        enum rule_op op;
    } calls[] = {{"has(", OP_HAS}, {"size(", OP_SIZE}, {"double(", OP_NUMBER}};
    struct rule_expr *e = NULL;
    const char *name;

    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        if (!rule_text_take(t, calls[i].name))
            continue;
        e = rule_expr_new(t, calls[i].op, read_choice(t), NULL);
        rule_text_need(t, ")");
        return e;
    }
    name = rule_text_word(t);
    for (size_t i = 0; i < t->n_variables; i++)
        if (strcmp(name, t->variables[i]) == 0) {
            e = rule_expr_new(t, OP_VARIABLE, NULL, NULL);
            e->variable = i;
            return e;
        }
    abort();
}

static const struct rule_expr *read_primary(struct rule_text *t)
{
    const struct rule_expr *inside;

    t->at += strspn(t->at, " ");
    if (rule_text_take(t, "(")) {
        inside = read_choice(t);
        rule_text_need(t, ")");
        return inside;
    }
    if (rule_text_take(t, "["))
        return rule_text_list(t);
    if (rule_text_take(t, "{"))
        return read_place(t);
    if (*t->at == '\'' || isdigit((unsigned char)*t->at) || strncmp(t->at, "true", 4) == 0 ||
        strncmp(t->at, "false", 5) == 0)
        return read_constant(t);
    return rule_text_call(t);
}

/* After "a.all(" and its like. */
static struct rule_expr *read_macro(struct rule_text *t, enum rule_op op, const struct rule_expr *a)
{
    struct rule_expr *e = rule_expr_new(t, op, a, NULL);

    if (t->n_variables == MAX_VARIABLES)
        abort();
    e->variable = t->n_variables;
    t->variables[t->n_variables++] = rule_text_word(t);
    rule_text_need(t, ",");
    e->b = read_choice(t);
    t->n_variables--;
    return e;
}

/* After "a.". */
static const struct rule_expr *read_member(struct rule_text *t, const struct rule_expr *a)
{
    struct rule_expr *e;

    if (rule_text_take(t, "all("))
        e = read_macro(t, OP_ALL, a);
    else if (rule_text_take(t, "exists_one("))
        e = read_macro(t, OP_EXISTS_ONE, a);
    else if (rule_text_take(t, "startsWith("))
        e = rule_expr_new(t, OP_STARTS, a, read_choice(t));
    else if (rule_text_take(t, "isSorted("))
        e = rule_expr_new(t, OP_SORTED, a, NULL);
    else {
        e = rule_expr_new(t, OP_MEMBER, a, NULL);
        e->name = rule_text_word(t);
        return e;
    }
    rule_text_need(t, ")");
    return e;
}

static const struct rule_expr *read_unary(struct rule_text *t)
{
    const struct rule_expr *e;

    if (rule_text_take(t, "!"))
        return rule_expr_new(t, OP_NOT, read_unary(t), NULL);
    e = read_primary(t);
    for (;;) {
        if (rule_text_take(t, ".")) {
            e = read_member(t, e);
        } else if (rule_text_take(t, "[")) {
            e = rule_expr_new(t, OP_INDEX, e, read_choice(t));
            rule_text_need(t, "]");
        } else {
            return e;
        }
    }
}

/* Operators from the one that binds least. */
#define RULE_LEVELS 5
static const struct {
    const char *token;
    enum rule_op op;
    int level;
} operators[] = {
    {"||", OP_OR, 0},      {"&&", OP_AND, 1},      {"==", OP_EQUAL, 2},   {"!=", OP_DIFFERENT, 2},
    {"<=", OP_AT_MOST, 2}, {">=", OP_AT_LEAST, 2}, {"<", OP_BELOW, 2},    {">", OP_ABOVE, 2},
    {"in ", OP_IN, 2},     {"+", OP_ADD, 3},       {"-", OP_SUBTRACT, 3}, {"*", OP_MULTIPLY, 4},
    {"%", OP_MODULO, 4},
};

static const struct rule_expr *read_binary(struct rule_text *t, int level)
{
    const struct rule_expr *left = level < RULE_LEVELS ? read_binary(t, level + 1) : read_unary(t);

    for (size_t i = 0; i < ARRAY_LEN(operators); i++)
        if (operators[i].level == level && rule_text_take(t, operators[i].token)) {
            const struct rule_expr *right =
                level < RULE_LEVELS ? read_binary(t, level + 1) : read_unary(t);

            left = rule_expr_new(t, operators[i].op, left, right);
            i = (size_t)-1; /* another of this level may follow */
        }
    return left;
}

static const struct rule_expr *read_choice(struct rule_text *t)
{
    const struct rule_expr *condition = read_binary(t, 0);
    struct rule_expr *e;

    if (!rule_text_take(t, "?"))
        return condition;
    e = rule_expr_new(t, OP_CHOOSE, condition, read_choice(t));
    rule_text_need(t, ":");
    e->c = read_choice(t);
    return e;
}

const struct rule_expr *rule_expr_parse(struct arena *arena, const char *text, const char **end)
{
    struct rule_text t = {.arena = arena, .at = text};
    const struct rule_expr *e = read_choice(&t);

    if (end)
        *end = t.at;
    else if (*t.at)
        abort();
    return e;
}

void rule_facts_release(struct rule_facts *facts)
{
    for (size_t i = 0; i < n_spec_fields; i++)
        cJSON_Delete(facts->values[i]);
}

static cJSON *rule_facts_read(const struct job *job, const struct field *f)
{
    AUTO(auto_json) cJSON *value = NULL;
    cJSON *tree = NULL;
    struct err err;

    if (f->kind == FIELD_LAYERS)
        return job->model.n_layers ? cJSON_CreateArray() : NULL;
    if (strcmp(f->path, spec_builtin_sections[0]) == 0)
        return job_builtin(job) ? cJSON_CreateObject() : NULL;
    value = field_load(f, job);
    if (!cJSON_IsRaw(value))
        return STEAL(value);
    if (json_parse(&tree, value->valuestring, strlen(value->valuestring), f->path, &err))
        return NULL;
    return tree;
}

static struct rule_value rule_value_of(const cJSON *tree)
{
    if (!tree || cJSON_IsNull(tree))
        return (struct rule_value){.absent = true};
    if (cJSON_IsString(tree))
        return (struct rule_value){.text = tree->valuestring};
    if (cJSON_IsArray(tree) || cJSON_IsObject(tree))
        return (struct rule_value){.tree = tree};
    return (struct rule_value){.number =
                                   cJSON_IsBool(tree) ? cJSON_IsTrue(tree) : tree->valuedouble};
}

/* The values of the variables around an expression. */
struct rule_scope {
    struct rule_facts *facts;
    struct rule_value variables[MAX_VARIABLES];
};

static struct rule_value rule_expr_value(const struct rule_expr *e, struct rule_scope *s);

static struct rule_value field_rule_value(const struct rule_expr *e, struct rule_scope *s)
{
    const size_t i = (size_t)(e->field - spec_fields);
    struct rule_value value;

    if (!s->facts->known[i])
        s->facts->values[i] = rule_facts_read(s->facts->job, e->field);
    s->facts->known[i] = true;
    value = rule_value_of(s->facts->values[i]);
    return value.absent && e->a ? e->a->value : value;
}

static double number_of_layers(const struct job *job)
{
    AUTO(layer_list_release) struct layer_list list = {0};

    job_layers(job, 0, &list);
    return (double)list.n;
}

static double value_size(struct rule_value value)
{
    return value.text ? (double)strlen(value.text) : cJSON_GetArraySize(value.tree);
}

static bool value_equals(struct rule_value a, struct rule_value b)
{
    if (a.text && b.text)
        return strcmp(a.text, b.text) == 0;
    return !a.text && !b.text && a.number == b.number;
}

static bool value_in(struct rule_value value, const struct rule_expr *list)
{
    for (; list->a; list = list->b)
        if (value_equals(value, list->a->value))
            return true;
    return false;
}

/* How many elements of the list e->a satisfy e->b. */
static int count_true(const struct rule_expr *e, struct rule_scope *s)
{
    const cJSON *list = rule_expr_value(e->a, s).tree;
    int n = 0;

    for (const cJSON *c = list ? list->child : NULL; c; c = c->next) {
        s->variables[e->variable] = rule_value_of(c);
        n += rule_expr_value(e->b, s).number != 0;
    }
    return n;
}

static bool value_is_sorted(const cJSON *list)
{
    for (const cJSON *c = list ? list->child : NULL; c && c->next; c = c->next)
        if (c->next->valuedouble < c->valuedouble)
            return false;
    return true;
}

static bool starts_with(const char *text, const char *start)
{
    return text && strncmp(text, start, strlen(start)) == 0;
}

/* Operators on two values. */
static double binary_value(const struct rule_expr *e, struct rule_scope *s)
{
    const struct rule_value a = rule_expr_value(e->a, s), b = rule_expr_value(e->b, s);

    switch (e->op) {
    case OP_EQUAL:
        return value_equals(a, b);
    case OP_DIFFERENT:
        return !value_equals(a, b);
    case OP_AT_MOST:
        return a.number <= b.number;
    case OP_AT_LEAST:
        return a.number >= b.number;
    case OP_BELOW:
        return a.number < b.number;
    case OP_ABOVE:
        return a.number > b.number;
    case OP_ADD:
        return a.number + b.number;
    case OP_SUBTRACT:
        return a.number - b.number;
    case OP_MULTIPLY:
        return a.number * b.number;
    case OP_MODULO:
        return fmod(a.number, b.number);
    case OP_STARTS:
        return starts_with(a.text, b.text);
    default:
        abort();
    }
}

static double number_value(const struct rule_expr *e, struct rule_scope *s)
{
    switch (e->op) {
    case OP_OR:
        return rule_expr_value(e->a, s).number != 0 || rule_expr_value(e->b, s).number != 0;
    case OP_AND:
        return rule_expr_value(e->a, s).number != 0 && rule_expr_value(e->b, s).number != 0;
    case OP_NOT:
        return rule_expr_value(e->a, s).number == 0;
    case OP_IN:
        return value_in(rule_expr_value(e->a, s), e->b);
    case OP_LANES:
        return job_lanes(s->facts->job);
    case OP_LAYERS:
        return number_of_layers(s->facts->job);
    case OP_HAS:
        return !rule_expr_value(e->a, s).absent;
    case OP_SIZE:
        return value_size(rule_expr_value(e->a, s));
    case OP_NUMBER:
        return rule_expr_value(e->a, s).number;
    case OP_ALL:
        return count_true(e, s) == cJSON_GetArraySize(rule_expr_value(e->a, s).tree);
    case OP_EXISTS_ONE:
        return count_true(e, s) == 1;
    case OP_SORTED:
        return value_is_sorted(rule_expr_value(e->a, s).tree);
    default:
        return binary_value(e, s);
    }
}

static struct rule_value rule_expr_value(const struct rule_expr *e, struct rule_scope *s)
{
    switch (e->op) {
    case OP_CONSTANT:
        return e->value;
    case OP_FIELD:
        return field_rule_value(e, s);
    case OP_VARIABLE:
        return s->variables[e->variable];
    case OP_CHOOSE:
        return rule_expr_value(rule_expr_value(e->a, s).number != 0 ? e->b : e->c, s);
    case OP_MEMBER:
        return rule_value_of(
            cJSON_GetObjectItemCaseSensitive(rule_expr_value(e->a, s).tree, e->name));
    case OP_INDEX:
        return rule_value_of(cJSON_GetArrayItem(rule_expr_value(e->a, s).tree,
                                                (int)rule_expr_value(e->b, s).number));
    default:
        return (struct rule_value){.number = number_value(e, s)};
    }
}

double rule_expr_number(const struct rule_expr *expr, struct rule_facts *facts)
{
    struct rule_scope s = {.facts = facts};

    return rule_expr_value(expr, &s).number;
}
