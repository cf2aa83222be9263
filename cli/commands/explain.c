/* paceline explain: the tables of fields as text, as JSON and as the reference pages. */
#include "cli/base/options.h"
#include "common/spec_table.h"
#include "operator/api/status_table.h"
#include "paceline/json.h"
#include "paceline/mem.h"
#include "paceline/nearest.h"
#include "paceline/suggest.h"

static const struct option_row option_rows[] = {
    JSON_OPTION("print the fields as JSON"),
    FLAG_OPTION("markdown", markdown,
                "print the reference page of all fields that a job may have, or of status"),
};

static const struct command_line command = {
    COMMAND_OPTIONS(option_rows),
    COMMAND_OPERANDS(1, NULL),
    .before =
        "usage: paceline explain [FIELD] [--json]\n"
        "       paceline explain [status] --markdown\n"
        "What a field of a TrainingJob means, what it allows, and the fields below it. FIELD is a\n"
        "path as in spec.training.batchSize; \"spec.\" may be left out. status and the fields "
        "below it\n"
        "are what the operator writes.\n",
    .after = "examples:\n"
             "  paceline explain training.optimizer\n"
             "  paceline explain status.progress\n"
             "  paceline explain model.layers.type\n",
};

/* The table that has the field at the path. */
struct rows {
    const struct field *fields;
    size_t n;
};

static bool in_status(const char *path)
{
    return strncmp(path, "status", 6) == 0 && (path[6] == '.' || path[6] == '\0');
}

static struct rows rows_of(const char *path)
{
    return in_status(path) ? (struct rows){status_fields, n_status_fields}
                           : (struct rows){spec_fields, n_spec_fields};
}

/* The default as people read it; by the selector's value where it depends on one. */
static void default_text(const struct field *f, struct buf *out)
{
    bool first = true;
    size_t n;
    const struct choice *choices = field_choices(f, &n);

    if (f->default_)
        buf_puts(out, f->default_);
    for (size_t i = 0; i < n; i++) {
        if (!choices[i].default_)
            continue;
        buf_printf(out, "%s%s (%s)", first ? "" : ", ", choices[i].default_, choices[i].values);
        first = false;
    }
}

/* "only with type conv, dense": empty for a field that always applies. */
static void applies_text(const struct field *f, struct buf *out)
{
    size_t n;
    const struct choice *choices = field_choices(f, &n);

    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s %s", i ? "" : field_key(spec_field_find(choices[i].selector)),
                   choices[i].values);
}

/* Whether the field stands directly below the object or list at path ("" for the top). */
static bool is_below(const struct field *f, const char *path)
{
    size_t len = strlen(path);
    const char *rest = f->path + len;

    if (strncmp(f->path, path, len) != 0)
        return false;
    rest += strncmp(rest, "[]", 2) == 0 ? 2 : 0;
    if (len && *rest++ != '.')
        return false;
    return !strchr(rest, '.');
}

static void explain_print_children(const char *path)
{
    const struct rows rows = rows_of(path);
    bool any = false;

    for (size_t i = 0; i < rows.n; i++) {
        const struct field *f = &rows.fields[i];
        AUTO(buf_release) struct buf preset = {0};

        if (!is_below(f, path) || f->kind == FIELD_IGNORED)
            continue;
        buf_init(&preset, 0);
        default_text(f, &preset);
        printf("%s  %-22s <%s>%s%s%s\n      %s\n", any ? "" : "\nFIELDS:\n", field_key(f),
               field_kind_name(f->kind), f->required ? " required" : "",
               preset.len ? " default " : "", preset.data, f->doc);
        any = true;
    }
}

static const char *const resumed_texts[] = {
    [ON_RESUME_SAME] = "only with the same value",
    [ON_RESUME_TUNED] = "with the same value, or with --resume another",
    [ON_RESUME_ASKED] = "with the same value, or with --resume another",
    [ON_RESUME_FREE] = "with the same value or another",
};

/* The parts of a field's page besides its description. */
struct field_texts {
    struct buf allowed, preset, applies;
};

static void field_texts_init(struct field_texts *t, const struct field *f)
{
    buf_init(&t->allowed, 0);
    buf_init(&t->preset, 0);
    buf_init(&t->applies, 0);
    field_allowed(f, &t->allowed);
    default_text(f, &t->preset);
    applies_text(f, &t->applies);
}

static void field_texts_release(struct field_texts *t)
{
    buf_release(&t->allowed);
    buf_release(&t->preset);
    buf_release(&t->applies);
}

/* Prints the values that a user may write there. */
static void print_allowed(const struct field *f)
{
    AUTO(field_texts_release) struct field_texts t;

    field_texts_init(&t, f);
    if (f->kind != FIELD_OBJECT)
        printf("ALLOWED:  %s\n", t.allowed.data);
    if (t.preset.len)
        printf("DEFAULT:  %s\n", t.preset.data);
    if (t.applies.len)
        printf("WITH:     %s\n", t.applies.data);
    if (f->fixed)
        puts("CHANGES:  not after creation");
    if (f->paused)
        puts("CHANGES:  only while the job is suspended");
    if (field_builtin(f) && f->kind != FIELD_OBJECT)
        printf("RESUMED:  %s\n", resumed_texts[field_on_resume(f)]);
}

static void print_field(const struct field *f)
{
    printf("FIELD:    %s <%s>%s\n", f->path, field_kind_name(f->kind),
           f->required ? " required" : "");
    if (!in_status(f->path))
        print_allowed(f);
    printf("\n%s\n", f->doc);
    explain_print_children(f->path);
}

static void explain_add_text(cJSON *object, const char *key, const struct field *f,
                             void (*write)(const struct field *, struct buf *))
{
    AUTO(buf_release) struct buf text;

    buf_init(&text, 0);
    write(f, &text);
    if (text.len)
        cJSON_AddStringToObject(object, key, text.data);
}

static void explain_print_json(const char *prefix)
{
    AUTO(auto_json) cJSON *list = cJSON_CreateArray();
    const struct rows rows = rows_of(prefix);

    for (size_t i = 0; i < rows.n; i++) {
        const struct field *f = &rows.fields[i];
        cJSON *object;

        if (strncmp(f->path, prefix, strlen(prefix)) != 0)
            continue;
        object = cJSON_CreateObject();
        cJSON_AddStringToObject(object, "path", f->path);
        cJSON_AddStringToObject(object, "type", field_kind_name(f->kind));
        cJSON_AddBoolToObject(object, "required", f->required);
        if (rows.fields == spec_fields) {
            explain_add_text(object, "allowed", f, field_allowed);
            explain_add_text(object, "default", f, default_text);
            explain_add_text(object, "with", f, applies_text);
        }
        cJSON_AddStringToObject(object, "description", f->doc);
        cJSON_AddItemToArray(list, object);
    }
    cli_print_json(list);
}

/* In a cell of a Markdown table "|" would end the cell. */
static void explain_print_cell(const char *text)
{
    for (; *text; text++)
        printf("%s%c", *text == '|' ? "\\" : "", *text);
}

static void print_row(const struct field *f)
{
    AUTO(field_texts_release) struct field_texts t;

    field_texts_init(&t, f);
    printf("| `%s` | ", field_key(f));
    explain_print_cell(t.allowed.data);
    printf(" | %s | ", f->required ? "required" : t.preset.data);
    explain_print_cell(f->doc);
    if (t.applies.len)
        printf(" With %s.", t.applies.data);
    puts(" |");
}

static void print_section(const char *path, const char *title, const char *doc)
{
    printf("\n## %s\n\n%s\n\n| field | allowed | default | meaning |\n|---|---|---|---|\n", title,
           doc);
    for (size_t i = 0; i < n_spec_fields; i++)
        if (is_below(&spec_fields[i], path) && spec_fields[i].kind != FIELD_IGNORED)
            print_row(&spec_fields[i]);
}

static void print_fixed(void)
{
    puts("\n## What may not change after creation\n\n"
         "The API server refuses a change of these; delete the job and create it anew. `ps` keeps\n"
         "having servers or none. Everything else may change: `kubectl scale`, "
         "`runPolicy.suspend`.\n");
    for (size_t i = 0; i < n_spec_fields; i++)
        if (spec_fields[i].fixed)
            printf("- `%s`\n", spec_fields[i].path);
    puts("\nThese may change only while the job is suspended (`runPolicy.suspend`), and hold for "
         "the\n"
         "pods that are made when it goes on:\n");
    for (size_t i = 0; i < n_spec_fields; i++)
        if (spec_fields[i].paused)
            printf("- `%s`\n", spec_fields[i].path);
}

static void print_rows(enum on_resume on_resume)
{
    for (size_t i = 0; i < n_spec_resume_rows; i++)
        if (spec_resume_rows[i].on_resume == on_resume &&
            field_builtin(spec_field_find(spec_resume_rows[i].path)))
            printf("- `%s`\n", spec_resume_rows[i].path);
}

static void print_resumed(void)
{
    puts("\n## What may change when a run is resumed\n\n"
         "`paceline run --resume` takes these fields, and all below them, as the job has them now. "
         "The\n"
         "training goes on with the new value:\n");
    print_rows(ON_RESUME_TUNED);
    puts("\nIt takes these, too. A checkpoint does not record them, since it means the same with "
         "any value:\n");
    print_rows(ON_RESUME_ASKED);
    puts(
        "\nThese say where the data are, how long to train and how to share the work. A checkpoint "
        "does\nnot record them either:\n");
    print_rows(ON_RESUME_FREE);
    puts("\nAny other change of `spec.model`, `spec.dataset` and `spec.training` is refused, with "
         "the "
         "field\nand both values; so is one of these:\n");
    print_rows(ON_RESUME_SAME);
    puts(
        "\nA job that is deleted and created again with the same name resumes from the checkpoints "
        "in its\n`spec.output.volume`, although nobody asked for it. So only the fields of the "
        "third list may\ndiffer there, and those that are not of the training, such as "
        "`spec.replicas`. Any other change is\nrefused. `spec.training.epochs` must be the same "
        "with a `cosine` schedule, and both `epochs` and\n`steps` with a `StrategySwitch` after "
        "a share of the training (`fraction`, `plateau`), because what\na step does then "
        "depends on their number.");
}

/* Rules that the CRD cannot have; tests/api/test_crd.sh has a case of each. */
static const char offline[] =
    "\n## What the API server cannot check\n\n"
    "`paceline validate` finds these. The operator finds them too, and such a job ends with the\n"
    "condition `Failed`; shapes show when a worker starts.\n\n"
    "- whether the layers' shapes fit, and whether anything is left to train;\n"
    "- `kernel` and `stride` where the layer has none, a convolution without `kernel`, and `true`\n"
    "  or `false` as one of them: the API server cannot hold a number or a pair and look at it "
    "too;\n"
    "- numbers above 1e300.\n\n"
    "A field without a value (`epochs:`) is a mistake for `paceline validate`; the API server "
    "takes\n"
    "it for absent where the field has a default.";

static bool is_same_rule(const struct rule *a, const struct rule *b)
{
    const char *x = a->paths[0], *y = b->paths[0];

    return x && y && strcmp(x, y) == 0 && strcmp(a->allowed, b->allowed) == 0;
}

static void print_markdown(void)
{
    const struct rule *rule;

    puts("# The TrainingJob\n\n"
         "Every field, its values and its default. This page is printed by "
         "`paceline explain --markdown`; `paceline explain FIELD` shows one field.");
    print_section("", "The file", "One object of this kind per file, in YAML or JSON.");
    for (size_t i = 0; i < n_spec_fields; i++)
        if (spec_fields[i].kind == FIELD_OBJECT || spec_fields[i].kind == FIELD_LAYERS)
            print_section(spec_fields[i].path, spec_fields[i].path, spec_fields[i].doc);
    puts("\n## Rules across fields\n\n| fields | rule |\n|---|---|");
    for (size_t i = 0; (rule = spec_rule(i)); i++) {
        if (i && is_same_rule(rule, spec_rule(i - 1)))
            continue; /* two ways to break one rule */
        printf("| ");
        for (size_t k = 0; rule->paths[k]; k++)
            printf("%s`%s`", k ? ", " : "", rule->paths[k]);
        printf(" | %s%s |\n", rule->warning ? "a warning: " : "", rule->allowed);
    }
    print_fixed();
    print_resumed();
    puts(offline);
}

static bool has_fields(const struct field *f)
{
    return f->kind == FIELD_OBJECT || f->kind == FIELD_LIST || f->kind == FIELD_CONDITIONS;
}

static bool same_fields(const struct field *a, const struct field *b)
{
    const struct field *end = status_field_end(a);
    const ptrdiff_t n = end - a;

    if (status_field_end(b) - b != n)
        return false;
    for (ptrdiff_t i = 1; i < n; i++)
        if (strcmp(field_key(&a[i]), field_key(&b[i])) != 0 || strcmp(a[i].doc, b[i].doc) != 0)
            return false;
    return true;
}

static void print_status_section(const struct field *f)
{
    printf("\n## %s\n\n%s", f->path, f->doc);
    for (const struct field *before = status_fields; before < f; before++)
        if (has_fields(before) && same_fields(before, f)) {
            printf(" It has the fields of `%s`.\n", before->path);
            return;
        }
    puts("\n\n| field | type | meaning |\n|---|---|---|");
    for (size_t i = 0; i < n_status_fields; i++)
        if (is_below(&status_fields[i], f->path)) {
            printf("| `%s` | %s | ", field_key(&status_fields[i]),
                   field_kind_name(status_fields[i].kind));
            explain_print_cell(status_fields[i].doc);
            puts(" |");
        }
}

static void print_status_markdown(void)
{
    puts("# The status of a TrainingJob\n\n"
         "What the operator writes into a TrainingJob, for `kubectl get`, dashboards and itself. "
         "This page is printed by\n`paceline explain status --markdown`; `kubectl explain "
         "trainingjob.status` says the same. A field that is not\nthere is zero, or is not "
         "known yet.");
    for (size_t i = 0; i < n_status_fields; i++)
        if (has_fields(&status_fields[i]))
            print_status_section(&status_fields[i]);
}

/* As spec_field_find, without "spec." and the "[]" of lists, which kubectl has not either. */
static const struct field *explain_find(const char *word)
{
    AUTO(auto_free) char *long_form = xasprintf("spec.%s", word);
    const char *forms[] = {word, long_form};
    const struct rows rows = rows_of(word);

    for (size_t k = 0; k < ARRAY_LEN(forms); k++)
        for (size_t i = 0; i < rows.n; i++) {
            const char *path = rows.fields[i].path, *at = forms[k];

            while (*path && *at) {
                if (strncmp(path, "[]", 2) == 0 && *at == '.')
                    path += 2;
                if (*path != *at)
                    break;
                path++;
                at++;
            }
            if (!*path && !*at)
                return &rows.fields[i];
        }
    return NULL;
}

/* The nearest path, or a field that its last word may mean. */
static int explain_unknown(const char *word)
{
    const char *names[SPEC_MAX_FIELDS] = {0};
    const char *dot = strrchr(word, '.'), *near;
    const struct rows rows = rows_of(word);

    for (size_t i = 0; i < rows.n; i++)
        names[i] = rows.fields[i].path;
    near = nearest(word, names, rows.n);
    if (!near)
        near = suggest_path(dot ? dot + 1 : word);
    if (near)
        return cli_usage_error("explain", "found no field \"%s\"; did you mean %s?", word, near);
    return cli_usage_error("explain", "found no field \"%s\"", word);
}

int cmd_explain(int argc, char **argv)
{
    const struct field *f;
    AUTO(options_release) struct options o;
    int code;

    if (!options_parse(&o, argc, argv, &command, &code))
        return code;
    if (o.markdown) {
        if (o.operand && strcmp(o.operand, "status") != 0)
            return cli_usage_error("explain", "--markdown prints the page of all fields, or of "
                                              "status; it takes no other field");
        if (o.operand)
            print_status_markdown();
        else
            print_markdown();
        return EXIT_OK;
    }
    f = o.operand ? explain_find(o.operand) : NULL;
    if (o.operand && !f)
        return explain_unknown(o.operand);
    if (o.json) {
        explain_print_json(f ? f->path : "");
    } else if (f) {
        print_field(f);
    } else {
        puts("TrainingJob (paceline.dev/v1): one training of one network.");
        explain_print_children("");
    }
    return EXIT_OK;
}
