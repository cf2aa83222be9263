// LINK: operator/api common
/*
 * The table of status: what holds for each row, so that a new row is tested when it is there.
 * Random statuses read back as they were written; a copy is equal and shares nothing; one field
 * alone makes a difference; a value of a foreign type or size changes its own field at most.
 */
#include <string.h>

#include "operator/api/status_table.h"
#include "operator/api/trainingjob.h"
#include "paceline/json.h"
#include "paceline/losses.h"
#include "paceline/mem.h"
#include "tests/test.h"

#define T0 1795244400000
#define HEAD                                                                                   \
    "\"apiVersion\":\"paceline.dev/v1\",\"kind\":\"TrainingJob\",\"metadata\":{\"name\":"      \
    "\"j\",\"namespace\":\"ns\",\"uid\":\"u\",\"resourceVersion\":\"7\"},\"spec\":{\"model\":" \
    "{\"name\":\"mlp\"},\"dataset\":{\"name\":\"fashion-mnist\"}}"

static uint32_t state = 2463534242;

static uint32_t below(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state % n;
}

static void auto_tj(struct tj **tj) { tj_free(*tj); }

static bool in_list(const struct field *f) { return field_in_layer(f); }

static const struct field *row(const char *path)
{
    for (size_t i = 0; i < n_status_fields; i++)
        if (strcmp(status_fields[i].path, path) == 0)
            return &status_fields[i];
    TEST_FAIL("no row %s", path);
    exit(1);
}

static const struct field *list_of(const struct field *element)
{
    const struct field *f = element;

    while (f->kind != FIELD_LIST)
        f--;
    return f;
}

static void *at(const struct field *f, void *base) { return (char *)base + f->offset; }

static unsigned *mask_at(const struct field *f, void *base)
{
    return (unsigned *)((char *)base + f->n_offset);
}

static void change(const struct field *f, void *base, struct arena *a);

static void change_list(const struct field *f, void *base, struct arena *a)
{
    int n = 1 + (int)below(3);
    char *elements = arena_alloc(a, (size_t)n * f->size);

    memset(elements, 0, (size_t)n * f->size);
    for (int i = 0; i < n; i++) {
        const struct field *end = status_field_end(f);

        for (const struct field *e = f + 1; e < end; e++)
            if (e->size)
                change(e, elements + (size_t)i * f->size, a);
        field_put_int(f + 1, elements + (size_t)i * f->size, 1 + i + below(2) + i);
    }
    memcpy(at(f, base), &elements, sizeof elements);
    *(int *)mask_at(f, base) = n;
}

static void change_conditions(struct condition *c, struct arena *a)
{
    for (int i = 0; i < N_CONDITIONS; i++)
        c[i] = below(2) ? (struct condition){0}
                        : (struct condition){.present = true,
                                             .status = below(2),
                                             .reason = arena_printf(a, "Reason%u", below(1000)),
                                             .message = arena_printf(a, "a \"%u\"\n", below(9)),
                                             .since_ms = T0 + below(1000000)};
}

/* Gives the field a value that is not zero, and almost surely another one. */
static void change(const struct field *f, void *base, struct arena *a)
{
    struct index_map *l = at(f, base);

    switch (f->kind) {
    case FIELD_TEXT:
        *(const char **)l = arena_printf(a, "text \"%u\"", below(1000000));
        break;
    case FIELD_WORD:
        field_put_int(f, base, (field_get_int(f, base) + 1) % 5);
        break;
    case FIELD_FLOAT:
        *(double *)l = (1 + below(1000000)) / 64.0;
        if (f->mask)
            *mask_at(f, base) |= f->mask;
        break;
    case FIELD_TIME:
        field_put_int(f, base, T0 + below(1000000));
        break;
    case FIELD_INDICES:
    case FIELD_COUNTS:
        *l = (struct index_map){0};
        for (int i = 0; i < 5; i++)
            index_map_set(l, (int)below(4096), f->kind == FIELD_COUNTS ? 1 + below(9) : 1, a);
        break;
    case FIELD_LIST:
        change_list(f, base, a);
        break;
    case FIELD_CONDITIONS:
        change_conditions((struct condition *)l, a);
        break;
    default:
        field_put_int(f, base, 1 + below((uint32_t)(f->bound < 1e9 ? f->bound : 1e9)));
    }
}

/* Every field with a value, or each with one or none. */
static void make(struct tj_status *s, bool full, struct arena *a)
{
    memset(s, 0, sizeof *s);
    for (const struct field *f = status_fields; f < status_fields + n_status_fields; f++) {
        if (in_list(f) || !f->size || (!full && below(2)))
            continue;
        if (f->kind == FIELD_OBJECT)
            *(bool *)at(f, s) = true;
        else
            change(f, s, a);
    }
    for (const struct field *f = status_fields; f < status_fields + n_status_fields; f++) {
        const struct field *end = status_field_end(f);

        if (f->kind != FIELD_OBJECT || !f->size || *(bool *)at(f, s))
            continue;
        for (f++; f < end; f++) /* an object that is not there has nothing in it */
            if (f->size) {
                memset(at(f, s), 0, f->size);
                *mask_at(f, s) &= ~f->mask;
            }
        f--;
    }
    s->launch.generation += s->launch.generation == 0;
}

static cJSON *encoded(const struct tj *tj, const struct tj_status *s)
{
    AUTO(buf_release) struct buf patch;
    cJSON *object = cJSON_Parse("{" HEAD "}"), *body = NULL;
    struct err err;

    buf_init(&patch, 0);
    status_encode_patch(tj, s, &patch);
    CHECK_INT(json_parse(&body, patch.data, patch.len, "patch", &err), 0);
    cJSON_AddItemToObject(object, "status", cJSON_DetachItemFromObject(body, "status"));
    cJSON_Delete(body);
    return object;
}

static struct tj *decoded(const cJSON *object)
{
    struct tj *tj = NULL;
    struct err err;

    if (tj_decode(&tj, object, &err)) {
        TEST_FAIL("%s", err.msg);
        exit(1);
    }
    return tj;
}

static void check_read_back(const struct tj *tj, const struct tj_status *s, const char *what)
{
    AUTO(auto_json) cJSON *object = encoded(tj, s);
    AUTO(auto_tj) struct tj *back = decoded(object);

    CHECK(back->problem == NULL);
    if (!status_equal(&back->status, s) || !status_equal_durable(&back->status, s)) {
        AUTO(buf_release) struct buf text;

        buf_init(&text, 0);
        json_print(object, 0, &text);
        TEST_FAIL("%s: reads back as another one: %s", what, text.data);
    }
}

/* Each member of struct tj_status has a row: bytes that no row covers are padding. */
static void test_members(void)
{
    static bool covered[sizeof(struct tj_status)];
    size_t gap = 0;

    for (size_t i = 0; i < n_status_fields; i++) {
        const struct field *f = &status_fields[i];

        if (in_list(f) || !f->size)
            continue;
        memset(covered + f->offset, 1, f->kind == FIELD_LIST ? sizeof(void *) : f->size);
        if (f->n_offset)
            memset(covered + f->n_offset, 1, sizeof(int));
    }
    /* The training loss, which is not a metric of an epoch, has a row and a member of its own. */
    memset(covered + offsetof(struct tj_status, progress.metrics), 1, sizeof(double));
    for (size_t i = 0; i < sizeof covered; i++) {
        gap = covered[i] ? 0 : gap + 1;
        if (gap == sizeof(int64_t))
            TEST_FAIL("no row has the member at offset %zu of struct tj_status", i + 1 - gap);
        test_checked++;
    }
}

static void test_rows(void)
{
    int words = 0;

    CHECK_STR(status_fields[0].path, "status");
    CHECK(status_field_end(status_fields) == status_fields + n_status_fields);
    for (const struct field *f = status_fields + 1; f < status_fields + n_status_fields; f++) {
        AUTO(auto_free) char *above = xstrdup(f->path);
        const struct field *parent;

        *strrchr(above, '.') = '\0';
        if (strchr(above, '['))
            *strchr(above, '[') = '\0';
        parent = row(above);
        CHECK(parent < f && f < status_field_end(parent));
        CHECK(f->doc && *f->doc);
        if (f->size && (f->kind == FIELD_INT || f->kind == FIELD_TEXT))
            CHECK(f->bound >= 1 && f->bound <= f->max);
    }
    while (row("status.launch.reason")->names[words])
        words++;
    CHECK_INT(words, N_LAUNCH_REASONS);
    for (int m = METRIC_LOSS + 1; m < N_METRICS; m++) {
        AUTO(auto_free) char *path = xasprintf("status.progress.%s", metric_defs[m].name);

        CHECK_INT(row(path)->mask, 1u << m);
        CHECK(row(path)->offset ==
              offsetof(struct tj_status, progress.metrics) + (size_t)m * sizeof(double));
    }
}

static void check_copy(const struct tj_status *s)
{
    AUTO(arena_release) struct arena a = {0};
    struct tj_status copy;

    status_copy(&copy, s, &a);
    CHECK(status_equal(&copy, s) && status_equal_durable(&copy, s));
    for (const struct field *f = status_fields; f < status_fields + n_status_fields; f++) {
        bool points = f->kind == FIELD_TEXT || f->kind == FIELD_INDICES ||
                      f->kind == FIELD_COUNTS || f->kind == FIELD_LIST;

        if (in_list(f) || !f->size || !points || status_field_is_zero(f, s))
            continue;
        if (*(void **)at(f, &copy) == *(void *const *)((const char *)s + f->offset))
            TEST_FAIL("%s: the copy shares it", f->path);
        CHECK(true);
    }
}

static void test_random(void)
{
    AUTO(auto_json) cJSON *object = cJSON_Parse("{" HEAD "}");
    AUTO(auto_tj) struct tj *tj = decoded(object);

    for (int i = 0; i < 300; i++) {
        AUTO(arena_release) struct arena a = {0};
        struct tj_status s;

        make(&s, i == 0, &a);
        check_read_back(tj, &s, "random");
        check_copy(&s);
    }
}

/* A change of one field, of an element of a list too. */
static void check_change(const struct tj *tj, const struct field *f, struct arena *a)
{
    const struct field *list = in_list(f) ? list_of(f) : NULL;
    struct tj_status s, t;
    void *base = &t;

    make(&s, true, a);
    status_copy(&t, &s, a);
    if (list)
        base = *(void **)at(list, &t);
    if (f->kind == FIELD_OBJECT)
        *(bool *)at(f, base) ^= true;
    else if (f->kind == FIELD_INT)
        field_put_int(f, base, field_get_int(f, base) + (list ? -1 : 1)); /* ascending */
    else
        for (int i = 0; i < 3 && status_equal(&s, &t); i++)
            change(f, base, a);
    if (status_equal(&s, &t) || status_equal(&t, &s))
        TEST_FAIL("%s: a change makes no difference", f->path);
    if (f->kind != FIELD_CONDITIONS && status_equal_durable(&s, &t) == f->durable)
        TEST_FAIL("%s: durable %d", f->path, f->durable);
    if (f->kind != FIELD_OBJECT && !list)
        check_read_back(tj, &t, f->path);
    if (!f->mask)
        return;
    status_copy(&t, &s, a);
    *mask_at(f, &t) &= ~f->mask;
    if (status_equal(&s, &t) || status_equal(&t, &s))
        TEST_FAIL("%s: its absence makes no difference", f->path);
}

static void test_change(void)
{
    AUTO(auto_json) cJSON *object = cJSON_Parse("{" HEAD "}");
    AUTO(auto_tj) struct tj *tj = decoded(object);

    for (const struct field *f = status_fields; f < status_fields + n_status_fields; f++) {
        AUTO(arena_release) struct arena a = {0};

        if (!f->size)
            continue;
        check_change(tj, f, &a);
        test_checked++;
    }
}

/* The item at the path, first elements of lists; in *parent the object that has it. */
static cJSON *item_at(cJSON *object, const char *path, cJSON **parent)
{
    AUTO(auto_free) char *copy = xstrdup(path);
    char *rest = copy, *key;

    while ((key = strsep(&rest, "."))) {
        char *brackets = strchr(key, '[');

        if (brackets)
            *brackets = '\0';
        *parent = object;
        object = cJSON_GetObjectItemCaseSensitive(object, key);
        if (brackets)
            object = object->child;
    }
    return object;
}

/* Gives the field of t the value that s has. */
static void restore(const struct field *f, struct tj_status *t, struct tj_status *s)
{
    memcpy(at(f, t), at(f, s), f->kind == FIELD_LIST ? sizeof(void *) : f->size);
    if (f->n_offset)
        *mask_at(f, t) = *mask_at(f, s);
}

static void check_bounds(const struct field *f, void *base)
{
    const char *text;

    switch (f->kind) {
    case FIELD_INT:
        CHECK(field_get_int(f, base) >= 0 && field_get_int(f, base) <= (int64_t)f->bound);
        break;
    case FIELD_WORD:
        CHECK(field_get_int(f, base) >= 0 && field_get_int(f, base) < N_LAUNCH_REASONS);
        break;
    case FIELD_TEXT:
        text = *(const char **)at(f, base);
        CHECK(!text || strlen(text) <= (size_t)f->bound);
        break;
    case FIELD_FLOAT:
        CHECK(*(double *)at(f, base) > -1e300 && *(double *)at(f, base) < 1e300);
        break;
    case FIELD_LIST:
        CHECK(*(int *)mask_at(f, base) >= 0 && *(int *)mask_at(f, base) <= (int)f->max_items);
        break;
    default:
        break;
    }
}

static void check_hostile(const struct field *f, struct tj_status *s, const char *value)
{
    AUTO(auto_json) cJSON *none = cJSON_Parse("{" HEAD "}");
    AUTO(auto_tj) struct tj *tj = decoded(none);
    AUTO(auto_json) cJSON *object = encoded(tj, s);
    AUTO(auto_tj) struct tj *back = NULL;
    cJSON *parent = NULL, *item = item_at(object, f->path, &parent);

    CHECK(item != NULL);
    cJSON_ReplaceItemInObjectCaseSensitive(parent, field_key(f), cJSON_Parse(value));
    back = decoded(object);
    CHECK(back->job != NULL);
    check_bounds(f, &back->status);
    restore(f, &back->status, s);
    if (!status_equal(&back->status, s))
        TEST_FAIL("%s: %s changes more than this field", f->path, value);
}

static void test_hostile(void)
{
    static char longest[3000];
    static const char *const values[] = {"-1",    "0.5",  "1e300", "-1e300", "1e15",      "null",
                                         "true",  "[]",   "{}",    "\"\"",   "\"0-3,7\"", "\"3:1\"",
                                         "\"x\"", "[{}]", "[7]",   longest,  "[1,2,3]"};
    AUTO(arena_release) struct arena a = {0};
    struct tj_status s;

    memset(longest, 'a', sizeof longest - 1);
    longest[0] = longest[sizeof longest - 2] = '"';
    make(&s, true, &a);
    for (const struct field *f = status_fields; f < status_fields + n_status_fields; f++)
        for (size_t i = 0; i < ARRAY_LEN(values); i++)
            if (f->size && !in_list(f) && f->kind != FIELD_OBJECT && f->kind != FIELD_CONDITIONS)
                check_hostile(f, &s, values[i]);
}

/* More elements than are kept, out of order, and of foreign types. */
static void test_hostile_list(void)
{
    AUTO(buf_release) struct buf text;
    AUTO(auto_json) cJSON *object = NULL;
    AUTO(auto_tj) struct tj *tj = NULL;
    struct err err;

    buf_init(&text, 0);
    buf_puts(&text, "{" HEAD ",\"status\":{\"launch\":{\"generation\":1},\"scaling\":[7,{},");
    buf_puts(&text, "{\"workers\":2,\"samplesPerSecond\":\"x\"},{\"workers\":1},{\"workers\":2}");
    for (int i = 3; i < 400; i++)
        buf_printf(&text, ",{\"workers\":%d,\"samplesPerSecond\":%d}", i, 10 * i);
    buf_puts(&text, "]}}");
    CHECK_INT(json_parse(&object, text.data, text.len, "job", &err), 0);
    tj = decoded(object);
    CHECK_INT(tj->status.n_scaling, SCALING_MAX);
    for (int i = 0; i < tj->status.n_scaling; i++) {
        CHECK_INT(tj->status.scaling[i].workers, i + 2);
        CHECK(tj->status.scaling[i].samples_per_second == (i ? 10 * (i + 2) : 0));
    }
}

static void check_written(const struct tj *tj, const struct tj_status *s, const char *part)
{
    AUTO(buf_release) struct buf patch;

    buf_init(&patch, 0);
    status_encode_patch(tj, s, &patch);
    CHECK_CONTAINS(patch.data, part);
}

/* Absent fields, and the words of launch.reason, which docs and dashboards name. */
static void test_written(void)
{
    static const char *const words[N_LAUNCH_REASONS] = {
        [LAUNCH_START] = "\"reason\":\"Start\"",   [LAUNCH_RESUME] = "\"reason\":\"Resume\"",
        [LAUNCH_LOSS] = "\"reason\":\"Loss\"",     [LAUNCH_RESCALE] = "\"reason\":\"Rescale\"",
        [LAUNCH_SWITCH] = "\"reason\":\"Switch\"",
    };
    static const struct scaling two = {2, 5};
    AUTO(auto_json) cJSON *object = cJSON_Parse("{" HEAD "}");
    AUTO(auto_tj) struct tj *tj = decoded(object);
    struct tj_status s = {.launch.generation = 1};

    for (s.launch.reason = 0; s.launch.reason < N_LAUNCH_REASONS; s.launch.reason++)
        check_written(tj, &s, words[s.launch.reason]);
    s.launch.reason = LAUNCH_START;
    check_written(tj, &s, "\"ps\":null");
    s.world.replicas[ROLE_PS] = 1; /* its server does not run yet */
    check_written(tj, &s, "\"ps\":{\"active\":0,");
    s.scaling = &two; /* one worker was not measured */
    s.n_scaling = 1;
    check_written(tj, &s, "\"scaling\":[{\"workers\":2,\"samplesPerSecond\":5}]");
}

int main(void)
{
    test_written();
    test_rows();
    test_members();
    test_random();
    test_change();
    test_hostile();
    test_hostile_list();
    return test_result();
}
