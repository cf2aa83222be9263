#include "operator/api/status_json.h"

#include <math.h>
#include <string.h>

#include "operator/api/field.h"
#include "operator/api/status_table.h"
#include "paceline/json.h"
#include "paceline/mem.h"
#include "paceline/predict.h"

#define MAX_REASON 256

static void *status_json_at(const struct field *f, void *base) { return (char *)base + f->offset; }

static const void *status_json_at_const(const struct field *f, const void *base)
{
    return (const char *)base + f->offset;
}

/* Whether status has anything to say of launches. */
static bool has_launch(const struct tj_status *s)
{
    return s->launch.generation || s->launch.from_ms;
}

/* Reading */

struct status_reader {
    struct tj *tj;
    bool launched;
    struct err *err;
    int result;
};

/* N_CONDITIONS: somebody else's. */
static int condition_type_of(const char *name)
{
    int type = 0;

    while (type < N_CONDITIONS && strcmp(name, condition_names[type]) != 0)
        type++;
    return type;
}

static void read_conditions(struct tj *tj, struct condition *conditions, const cJSON *list)
{
    AUTO(buf_release) struct buf foreign;
    const cJSON *item;

    buf_init(&foreign, 0);
    cJSON_ArrayForEach(item, list)
    {
        const char *name = field_string(item, "type");
        const char *value = field_string(item, "status");
        int type = name ? condition_type_of(name) : N_CONDITIONS;

        if (type < N_CONDITIONS) {
            conditions[type] = (struct condition){
                .present = true,
                .status = value && strcmp(value, "True") == 0,
                .reason = field_text(item, "reason", MAX_REASON, &tj->arena),
                .message = field_text(item, "message", STATUS_MAX_MESSAGE, &tj->arena),
                .since_ms = field_time(item, "lastTransitionTime"),
            };
        } else if (name) {
            buf_puts(&foreign, foreign.len ? "," : "");
            json_print(item, 0, &foreign);
        }
    }
    tj->foreign_conditions = foreign.len ? arena_strdup(&tj->arena, foreign.data) : NULL;
}

/* Absent: empty. */
static void read_index_map(struct status_reader *r, const struct field *f, struct index_map *l,
                           const cJSON *item)
{
    const char *text = cJSON_GetStringValue(item);
    struct err err;

    if (!item || cJSON_IsNull(item))
        return;
    if (!text)
        err_set(&err, ERR_INVALID, "not a string");
    else if (index_map_parse(l, text, f->kind == FIELD_COUNTS, &r->tj->arena, &err) == 0)
        return;
    if (r->result == 0) {
        *r->err = err;
        r->result = err_wrap(r->err, "%s", f->path);
    }
}

static void read_fields(struct status_reader *r, const struct field *f, const struct field *end,
                        void *base, const cJSON *from);

/* The elements ascend by their first field; one that is out of order is not ours and is skipped. */
static void read_list(struct status_reader *r, const struct field *f, void *base, const cJSON *list)
{
    const struct field *first = f + 1, *end = status_field_end(f);
    int *n = (int *)((char *)base + f->n_offset);
    int64_t last = 0;
    const cJSON *item;
    char *elements;

    if (!cJSON_IsArray(list) || !list->child)
        return;
    elements = arena_alloc(&r->tj->arena, f->max_items * f->size);
    memcpy(status_json_at(f, base), &elements, sizeof elements);
    cJSON_ArrayForEach(item, list)
    {
        char *element = elements + (size_t)*n * f->size;

        if ((size_t)*n == f->max_items)
            return;
        memset(element, 0, f->size);
        read_fields(r, first, end, element, item);
        if (field_get_int(first, element) <= last)
            continue;
        last = field_get_int(first, element);
        ++*n;
    }
}

static void read_float(const struct field *f, void *base, const cJSON *from)
{
    *(double *)status_json_at(f, base) = field_number(from, field_key(f));
    if (f->mask && cJSON_IsNumber(field_get(from, field_key(f))))
        *(unsigned *)((char *)base + f->n_offset) |= f->mask;
}

static void read_word(const struct field *f, void *base, const cJSON *from)
{
    const char *word = field_string(from, field_key(f));
    int index = word ? field_name_index(f, word) : -1;

    field_put_int(f, base, index < 0 ? 0 : index);
}

static void status_json_read_object(struct status_reader *r, const struct field *f, void *base,
                                    const cJSON *object)
{
    if (f->size)
        *(bool *)status_json_at(f, base) = cJSON_IsObject(object);
    read_fields(r, f + 1, status_field_end(f), base, object);
}

/* Reads the field from the object that has its key. A field that is not stored is computed: it is
 * not read. */
static void read_field(struct status_reader *r, const struct field *f, void *base,
                       const cJSON *from)
{
    const char *key = field_key(f);

    if (f->kind == FIELD_OBJECT) {
        status_json_read_object(r, f, base, field_get(from, key));
        return;
    }
    if (f->size == 0)
        return;
    switch (f->kind) {
    case FIELD_TEXT:
        *(const char **)status_json_at(f, base) =
            field_text(from, key, (size_t)f->bound, &r->tj->arena);
        break;
    case FIELD_WORD:
        read_word(f, base, from);
        break;
    case FIELD_FLOAT:
        read_float(f, base, from);
        break;
    case FIELD_TIME:
        field_put_int(f, base, field_time(from, key));
        break;
    case FIELD_INDICES:
    case FIELD_COUNTS:
        read_index_map(r, f, status_json_at(f, base), field_get(from, key));
        break;
    case FIELD_LIST:
        read_list(r, f, base, field_get(from, key));
        break;
    case FIELD_CONDITIONS:
        read_conditions(r->tj, status_json_at(f, base), field_get(from, key));
        break;
    default:
        field_put_int(f, base, field_int(from, key, 0, (int64_t)f->bound));
    }
}

static void read_fields(struct status_reader *r, const struct field *f, const struct field *end,
                        void *base, const cJSON *from)
{
    for (; f < end; f = status_field_end(f))
        if (!f->launched || r->launched)
            read_field(r, f, base, from);
}

int status_decode(struct tj *tj, const cJSON *status, struct err *err)
{
    const cJSON *launch = field_get(status, "launch");
    struct status_reader r = {
        .tj = tj,
        .launched = field_int(launch, "generation", 0, 1) || field_time(launch, "from"),
        .err = err,
    };

    status_json_read_object(&r, status_fields, &tj->status, status);
    return r.result;
}

/* Writing */

struct writer {
    struct buf *out;
    const struct tj *tj;
    const struct tj_status *status;
    bool launched; /* the status has a launch, or the one that it replaces has */
};

static void write_time(struct buf *out, int64_t ms)
{
    char text[TIME_SIZE];

    time_encode(ms, text);
    buf_printf(out, "\"%s\"", text);
}

static void write_conditions(const struct writer *w, const struct condition *conditions)
{
    const char *comma = "";

    buf_puts(w->out, "[");
    for (int i = 0; i < N_CONDITIONS; i++) {
        const struct condition *c = &conditions[i];

        if (!c->present)
            continue;
        buf_printf(w->out, "%s{\"type\":\"%s\",\"status\":\"%s\",\"reason\":", comma,
                   condition_names[i], c->status ? "True" : "False");
        json_print_string(c->reason ? c->reason : condition_names[i], w->out);
        buf_puts(w->out, ",\"message\":");
        json_print_string(c->message ? c->message : "", w->out);
        buf_puts(w->out, ",\"lastTransitionTime\":");
        write_time(w->out, c->since_ms > 0 ? c->since_ms : 1);
        buf_puts(w->out, "}");
        comma = ",";
    }
    if (w->tj->foreign_conditions)
        buf_printf(w->out, "%s%s", comma, w->tj->foreign_conditions);
    buf_puts(w->out, "]");
}

/* Against one worker; 0 where that was not measured. */
static double status_json_speedup_of(const struct tj_status *s, double samples_per_second)
{
    const struct scaling *one = s->scaling;

    return s->n_scaling && one->workers == 1 && one->samples_per_second > 0
               ? round(100 * samples_per_second / one->samples_per_second) / 100
               : 0;
}

/*
 * The same by the estimate for the strategy (study 003), as `paceline speedup` predicts it: from
 * what one worker reached, and how long a transfer takes. NAN: it is not known, or nobody has a
 * formula.
 */
static double predicted_of(const struct tj *tj, const struct tj_status *s, int64_t workers)
{
    const struct scaling *one = s->scaling;
    struct estimate_costs costs = {.transfer_s = s->transfer_s};
    struct job job;

    if (!tj->job || s->transfer_s <= 0 || one->workers != 1 || one->samples_per_second <= 0)
        return NAN;
    job = *tj->job;
    job.replicas[ROLE_WORKER].replicas = 1;
    costs.gradient_s = predict_gradient(&job, &costs, one->samples_per_second);
    job.replicas[ROLE_WORKER].replicas = workers;
    return round(100 * predict_rate(&job, &costs) / one->samples_per_second) / 100;
}

/* The fields that are not stored. base is the status, or the element of the list. */
static void compute_state(const struct writer *w, const void *base, struct buf *out)
{
    (void)base;
    json_print_string(status_state(w->status), out);
}

static void compute_message(const struct writer *w, const void *base, struct buf *out)
{
    (void)base;
    json_print_string(status_why(w->status), out);
}

static void compute_selector(const struct writer *w, const void *base, struct buf *out)
{
    AUTO(buf_release) struct buf selector;

    (void)base;
    buf_init(&selector, 0);
    tj_selector(w->tj, &selector);
    json_print_string(selector.data, out);
}

/* Appends nothing when the ratio is not known. */
static void write_ratio(double ratio, struct buf *out)
{
    if (ratio > 0)
        json_print_number(ratio, out);
}

static void compute_speedup(const struct writer *w, const void *base, struct buf *out)
{
    (void)base;
    write_ratio(status_json_speedup_of(w->status, w->status->progress.samples_per_second), out);
}

static void compute_scaling_speedup(const struct writer *w, const void *base, struct buf *out)
{
    const struct scaling *point = base;

    write_ratio(status_json_speedup_of(w->status, point->samples_per_second), out);
}

static void compute_predicted(const struct writer *w, const void *base, struct buf *out)
{
    const struct scaling *point = base;

    write_ratio(predicted_of(w->tj, w->status, point->workers), out);
}

static const struct {
    const char *path;
    void (*write)(const struct writer *w, const void *base, struct buf *out);
} computed[] = {
    {"status.state", compute_state},
    {"status.message", compute_message},
    {"status.selector", compute_selector},
    {"status.progress.speedup", compute_speedup},
    {"status.scaling[].speedup", compute_scaling_speedup},
    {"status.scaling[].predicted", compute_predicted},
};

static void write_computed(const struct writer *w, const struct field *f, const void *base)
{
    for (size_t i = 0; i < ARRAY_LEN(computed); i++)
        if (strcmp(computed[i].path, f->path) == 0)
            computed[i].write(w, base, w->out);
}

static void write_object(const struct writer *w, const struct field *f, const void *base,
                         bool nulls);

static void write_list(const struct writer *w, const struct field *f, const void *base)
{
    const char *element = *(const char *const *)status_json_at_const(f, base);
    int n = *(const int *)((const char *)base + f->n_offset);

    buf_puts(w->out, "[");
    for (int i = 0; i < n; i++, element += f->size) {
        buf_puts(w->out, i ? "," : "");
        write_object(w, f, element, false);
    }
    buf_puts(w->out, "]");
}

static void write_index_map(struct buf *out, const struct field *f, const struct index_map *l)
{
    buf_puts(out, "\"");
    index_map_encode(l, f->kind == FIELD_COUNTS, out);
    buf_puts(out, "\"");
}

static void write_text(struct buf *out, const char *text)
{
    json_print_string(text ? text : "", out);
}

static void write_value(const struct writer *w, const struct field *f, const void *base)
{
    const void *place = status_json_at_const(f, base);

    switch (f->kind) {
    case FIELD_OBJECT:
        write_object(w, f, base, true);
        break;
    case FIELD_TEXT:
        write_text(w->out, *(const char *const *)place);
        break;
    case FIELD_WORD:
        write_text(w->out, f->names[field_get_int(f, base)]);
        break;
    case FIELD_FLOAT:
        json_print_number(*(const double *)place, w->out);
        break;
    case FIELD_TIME:
        write_time(w->out, field_get_int(f, base));
        break;
    case FIELD_INDICES:
    case FIELD_COUNTS:
        write_index_map(w->out, f, place);
        break;
    case FIELD_LIST:
        write_list(w, f, base);
        break;
    case FIELD_CONDITIONS:
        write_conditions(w, place);
        break;
    default:
        buf_printf(w->out, "%lld", (long long)field_get_int(f, base));
    }
}

/* Appends "key":value. An absent field is null, or left out where nulls is false. */
static void write_field(const struct writer *w, const struct field *f, const void *base, bool nulls)
{
    size_t before = w->out->len, start;

    buf_puts(w->out, before && w->out->data[before - 1] == '{' ? "\"" : ",\"");
    buf_puts(w->out, field_key(f));
    buf_puts(w->out, "\":");
    start = w->out->len;
    if (f->size == 0 && f->kind != FIELD_OBJECT)
        write_computed(w, f, base);
    else if (!f->optional || !status_field_is_zero(f, base))
        write_value(w, f, base);
    if (w->out->len > start)
        return;
    if (nulls) {
        buf_puts(w->out, "null");
        return;
    }
    w->out->len = before;
    w->out->data[before] = '\0';
}

/* The fields below f, which is an object or a list of them. */
static void write_object(const struct writer *w, const struct field *f, const void *base,
                         bool nulls)
{
    const struct field *end = status_field_end(f);

    buf_puts(w->out, "{");
    for (f++; f < end; f = status_field_end(f))
        if (!f->launched || w->launched)
            write_field(w, f, base, nulls);
    buf_puts(w->out, "}");
}

void tj_selector(const struct tj *tj, struct buf *out)
{
    buf_printf(out, "%s=%s,%s=%s", LABEL_JOB, tj->meta.name, LABEL_ROLE,
               cluster_role_names[ROLE_WORKER]);
}

void status_encode_patch(const struct tj *tj, const struct tj_status *s, struct buf *out)
{
    const struct writer w = {
        .out = out,
        .tj = tj,
        .status = s,
        .launched = has_launch(s) || has_launch(&tj->status),
    };

    buf_puts(out, "{\"metadata\":{\"uid\":");
    json_print_string(tj->meta.uid, out);
    buf_puts(out, ",\"resourceVersion\":");
    json_print_string(tj->meta.resource_version, out);
    buf_puts(out, "},\"status\":");
    write_object(&w, status_fields, s, true);
    buf_puts(out, "}");
}
