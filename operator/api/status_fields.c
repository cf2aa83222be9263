/* The fields of a status in memory: comparing and copying them. */
#include <string.h>

#include "operator/api/status_table.h"
#include "operator/api/trainingjob.h"
#include "paceline/mem.h"

static const void *status_fields_at(const struct field *f, const void *base)
{
    return (const char *)base + f->offset;
}

static const char *status_fields_text_at(const struct field *f, const void *base)
{
    const char *text = *(const char *const *)status_fields_at(f, base);

    return text ? text : ""; /* the JSON form does not tell them apart */
}

static double float_at(const struct field *f, const void *base)
{
    return *(const double *)status_fields_at(f, base);
}

/* The length of a list. */
static int length_at(const struct field *f, const void *base)
{
    return *(const int *)((const char *)base + f->n_offset);
}

static const char *elements_at(const struct field *f, const void *base)
{
    return *(const char *const *)status_fields_at(f, base);
}

static bool bit_at(const struct field *f, const void *base)
{
    return *(const unsigned *)((const char *)base + f->n_offset) & f->mask;
}

/* Zero */

static bool object_is_zero(const struct field *f, const void *base)
{
    if (f->size)
        return !*(const bool *)status_fields_at(f, base);
    if (f->n_offset && *(const int64_t *)((const char *)base + f->n_offset))
        return false;
    for (const struct field *below = f + 1; status_field_is_below(below, f);
         below = status_field_next(below))
        if (below->kind != FIELD_OBJECT && !status_field_is_zero(below, base))
            return false;
    return true;
}

static bool conditions_are_zero(const struct field *f, const void *base)
{
    const struct condition *c = status_fields_at(f, base);

    for (int i = 0; i < N_CONDITIONS; i++)
        if (c[i].present)
            return false;
    return true;
}

bool status_field_is_zero(const struct field *f, const void *base)
{
    if (f->kind == FIELD_OBJECT)
        return object_is_zero(f, base);
    if (f->size == 0)
        return true;
    if (f->mask)
        return !bit_at(f, base);
    switch (f->kind) {
    case FIELD_TEXT:
        return !*status_fields_text_at(f, base);
    case FIELD_FLOAT:
        return float_at(f, base) == 0;
    case FIELD_TIME:
        return field_get_int(f, base) <= 0;
    case FIELD_INDICES:
    case FIELD_COUNTS:
        return ((const struct index_map *)status_fields_at(f, base))->n == 0;
    case FIELD_LIST:
        return length_at(f, base) == 0;
    case FIELD_CONDITIONS:
        return conditions_are_zero(f, base);
    default:
        return field_get_int(f, base) == 0;
    }
}

/* Equal */

static bool condition_equal(const struct condition *a, const struct condition *b)
{
    return a->present == b->present && a->status == b->status && a->since_ms == b->since_ms &&
           strcmp(a->reason ? a->reason : "", b->reason ? b->reason : "") == 0 &&
           strcmp(a->message ? a->message : "", b->message ? b->message : "") == 0;
}

static bool conditions_equal(const struct condition *a, const struct condition *b, bool durable)
{
    for (int i = 0; i < N_CONDITIONS; i++)
        if ((!durable || condition_durable[i]) && !condition_equal(&a[i], &b[i]))
            return false;
    return true;
}

static bool fields_equal(const struct field *f, const struct field *end, const void *a,
                         const void *b, bool durable);

static bool lists_equal(const struct field *f, const void *a, const void *b, bool durable)
{
    const char *first = elements_at(f, a), *second = elements_at(f, b);
    int n = length_at(f, a);

    if (n != length_at(f, b))
        return false;
    for (size_t at = 0; at < (size_t)n * f->size; at += f->size)
        if (!fields_equal(f + 1, status_field_end(f), first + at, second + at, durable))
            return false;
    return true;
}

static bool field_equal(const struct field *f, const void *a, const void *b, bool durable)
{
    if (f->size == 0 || (durable && !f->durable))
        return true;
    if (f->mask && bit_at(f, a) != bit_at(f, b))
        return false;
    switch (f->kind) {
    case FIELD_TEXT:
        return strcmp(status_fields_text_at(f, a), status_fields_text_at(f, b)) == 0;
    case FIELD_FLOAT:
        return float_at(f, a) == float_at(f, b);
    case FIELD_INDICES:
    case FIELD_COUNTS:
        return index_map_equal(status_fields_at(f, a), status_fields_at(f, b));
    case FIELD_LIST:
        return lists_equal(f, a, b, durable);
    case FIELD_CONDITIONS:
        return conditions_equal(status_fields_at(f, a), status_fields_at(f, b), durable);
    case FIELD_OBJECT:
        return *(const bool *)status_fields_at(f, a) == *(const bool *)status_fields_at(f, b);
    default:
        return field_get_int(f, a) == field_get_int(f, b);
    }
}

/* All fields from f to end, those of objects too. */
static bool fields_equal(const struct field *f, const struct field *end, const void *a,
                         const void *b, bool durable)
{
    for (; f < end; f = status_field_next(f))
        if (!field_equal(f, a, b, durable))
            return false;
    return true;
}

bool status_equal_durable(const struct tj_status *a, const struct tj_status *b)
{
    return fields_equal(status_fields, status_fields + n_status_fields, a, b, true);
}

bool status_equal(const struct tj_status *a, const struct tj_status *b)
{
    return fields_equal(status_fields, status_fields + n_status_fields, a, b, false);
}

/* Copied */

static void conditions_own(struct condition *c, struct arena *a)
{
    for (int i = 0; i < N_CONDITIONS; i++) {
        c[i].reason = arena_strdup(a, c[i].reason);
        c[i].message = arena_strdup(a, c[i].message);
    }
}

static void index_map_own(struct index_map *l, struct arena *a)
{
    const struct index_map from = *l;

    index_map_copy(l, &from, a);
}

static void fields_own(const struct field *f, const struct field *end, void *base, struct arena *a);

static void list_own(const struct field *f, void *base, struct arena *a)
{
    size_t bytes = (size_t)length_at(f, base) * f->size;
    char *copy;

    if (bytes == 0)
        return;
    copy = memcpy(arena_alloc(a, bytes), elements_at(f, base), bytes);
    memcpy((char *)base + f->offset, &copy, sizeof copy);
    for (size_t at = 0; at < bytes; at += f->size)
        fields_own(f + 1, status_field_end(f), copy + at, a);
}

/* Copies the memory that the fields from f to end point to into the arena; they then point there.
 */
static void fields_own(const struct field *f, const struct field *end, void *base, struct arena *a)
{
    for (; f < end; f = status_field_next(f)) {
        void *place = (char *)base + f->offset;

        if (f->size == 0)
            continue;
        if (f->kind == FIELD_TEXT)
            *(const char **)place = arena_strdup(a, *(const char **)place);
        else if (f->kind == FIELD_INDICES || f->kind == FIELD_COUNTS)
            index_map_own(place, a);
        else if (f->kind == FIELD_LIST)
            list_own(f, base, a);
        else if (f->kind == FIELD_CONDITIONS)
            conditions_own(place, a);
    }
}

void status_copy(struct tj_status *out, const struct tj_status *in, struct arena *a)
{
    *out = *in;
    fields_own(status_fields, status_fields + n_status_fields, out, a);
}
