#include "cli/study/result.h"

#include <math.h>
#include <string.h>

#include "paceline/mem.h"

/* Student's t for 95%, two-sided, by degrees of freedom; beyond the table that of the normal
 * distribution, 3% too small at worst. */
static const double t95[] = {NAN,   12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262,
                             2.228, 2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093,
                             2.086, 2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045};
#define T95_NORMAL 1.96

void study_results_init(struct study_results *r, const struct study *s, int seeds)
{
    const size_t n = s->n_variants * (size_t)seeds;

    *r = (struct study_results){.study = s, .seeds = seeds};
    r->runs = xcalloc(n + 1, sizeof *r->runs);
    for (size_t i = 0; i < n; i++)
        history_init(&r->runs[i]);
}

void study_results_release(struct study_results *r)
{
    for (size_t i = 0; r->runs && i < r->study->n_variants * (size_t)r->seeds; i++)
        history_release(&r->runs[i]);
    free(r->runs);
    *r = (struct study_results){0};
}

struct history *study_run(const struct study_results *r, int variant, int seed)
{
    return &r->runs[variant * r->seeds + seed];
}

bool study_has_run(const struct study_results *r, int variant)
{
    for (int seed = 0; seed < r->seeds; seed++)
        if (study_run(r, variant, seed)->done)
            return true;
    return false;
}

bool study_is_part(const struct history *h) { return event_integer(h->start, "resumedStep") > 0; }

/* --- measures --- */

/* The event that a field is of; *field loses its name. */
static const cJSON *event_of(const struct history *h, const char **field)
{
    const char *dot = strchr(*field, '.');
    const size_t len = dot ? (size_t)(dot - *field) : 0;

    if (len == 5 && memcmp(*field, "epoch", len) == 0) {
        *field = dot + 1;
        return cJSON_GetArrayItem(h->epochs, cJSON_GetArraySize(h->epochs) - 1);
    }
    if (len == 5 && memcmp(*field, "start", len) == 0) {
        *field = dot + 1;
        return h->start;
    }
    return h->done;
}

static double largest(const cJSON *list)
{
    const cJSON *item;
    double most = NAN;

    cJSON_ArrayForEach(item, list) if (cJSON_IsNumber(item)) most = fmax(most, item->valuedouble);
    return most;
}

/* "perRank.forward.1" of an event: of rank 1. */
static double study_result_number_at(const cJSON *at, const char *path, int rank)
{
    while (at && path) {
        const char *dot = strchr(path, '.');
        struct format_text key;

        snprintf(key.s, sizeof key.s, "%.*s", dot ? (int)(dot - path) : (int)strlen(path), path);
        at = cJSON_IsArray(at) ? cJSON_GetArrayItem(at, (int)strtol(key.s, NULL, 10))
                               : cJSON_GetObjectItemCaseSensitive(at, key.s);
        path = dot ? dot + 1 : NULL;
    }
    if (!at)
        return NAN;
    if (cJSON_IsArray(at) && !rank)
        return largest(at);
    if (cJSON_IsArray(at))
        at = cJSON_GetArrayItem(at, rank - 1);
    return cJSON_IsNumber(at) ? at->valuedouble : NAN;
}

/* Whether it is the largest amount at a time, which a part of a run may have as well. */
static bool is_memory(const char *field)
{
    return strstr(field, "memoryBytes") || strstr(field, "MemoryBytes") ||
           strstr(field, "peakBytes") || strstr(field, "PeakBytes");
}

/* Whether done counts it from where its process began: of a run that went on from a checkpoint that
 * is a part, which is no figure of the run. */
static bool is_sum(const char *field)
{
    static const char *const sums[] = {"seconds", "trainSeconds", "perRank", "bytesSent", "bytesTo",
                                       "pushed",  "applied",      "dropped", "staleness", "lead"};
    const size_t len = strcspn(field, ".");

    for (size_t i = 0; i < ARRAY_LEN(sums); i++)
        if (strlen(sums[i]) == len && memcmp(sums[i], field, len) == 0)
            return !is_memory(field);
    return false;
}

static double field_value(const struct history *h, const char *field, int rank)
{
    const cJSON *event = event_of(h, &field);

    if (event == h->done && study_is_part(h) && is_sum(field))
        return NAN;
    return study_result_number_at(event, field, rank);
}

static double own_value(const struct history *h, const struct study_measure *m)
{
    double value = field_value(h, m->field, m->rank);

    if (m->less)
        value -= field_value(h, m->less, m->rank);
    return m->per ? value / field_value(h, m->per, m->rank) : value;
}

double study_value(const struct study_results *r, const struct study_measure *m, int variant,
                   int seed)
{
    const double value = own_value(study_run(r, variant, seed), m);

    return m->against < 0 ? value : value / own_value(study_run(r, m->against, seed), m);
}

/* --- over seeds --- */

struct study_mean study_mean(const double *values, int n)
{
    struct study_mean m = {.mean = NAN, .half = NAN};
    double sum = 0, squares = 0, t;

    for (int i = 0; i < n; i++)
        if (isfinite(values[i])) {
            sum += values[i];
            m.n++;
        }
    if (m.n)
        m.mean = sum / m.n;
    if (m.n < 2)
        return m;
    for (int i = 0; i < n; i++)
        if (isfinite(values[i]))
            squares += (values[i] - m.mean) * (values[i] - m.mean);
    t = (size_t)m.n - 1 < ARRAY_LEN(t95) ? t95[m.n - 1] : T95_NORMAL;
    m.half = t * sqrt(squares / (m.n - 1) / m.n);
    return m;
}

struct study_mean study_mean_of(const struct study_results *r, const struct study_measure *m,
                                int variant)
{
    double values[STUDY_SEEDS_MAX];

    for (int seed = 0; seed < r->seeds; seed++)
        values[seed] = study_value(r, m, variant, seed);
    return study_mean(values, r->seeds);
}

/* --- rows --- */

static struct study_row study_result_row_of(const struct study_results *r, int variant, int rank,
                                            int workers)
{
    const char *name = r->study->variants[variant].name;
    struct study_row row = {.variant = variant, .rank = rank};

    if (!rank)
        snprintf(row.label, sizeof row.label, "%.60s", name);
    else
        snprintf(row.label, sizeof row.label, "%.60s, %s %d", name,
                 rank <= workers ? "worker" : "server",
                 rank <= workers ? rank - 1 : rank - 1 - workers);
    return row;
}

size_t study_rows(const struct study_results *r, const struct study_table *t,
                  struct study_row *rows, size_t most)
{
    size_t n = 0;

    for (size_t i = 0; i < t->n_variants; i++) {
        const int v = t->variants[i];
        const cJSON *start = study_run(r, v, 0)->start;
        const int ranks = t->by_rank ? (int)event_integer(start, "ranks") : 1;

        for (int k = 0; study_has_run(r, v) && k < ranks && n < most; k++)
            rows[n++] = study_result_row_of(r, v, t->by_rank ? k + 1 : 0,
                                            (int)event_integer(start, "workers"));
    }
    return n;
}

struct study_mean study_cell(const struct study_results *r, const struct study_column *column,
                             const struct study_row *row)
{
    struct study_measure m = column->measure;

    m.rank = row->rank;
    return study_mean_of(r, &m, row->variant);
}

/* --- what went from rank to rank --- */

static double entry(const cJSON *matrix, int row, int column)
{
    const cJSON *item = cJSON_GetArrayItem(cJSON_GetArrayItem(matrix, row), column);

    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

void study_add_traffic(struct history *h)
{
    const cJSON *matrix = cJSON_GetObjectItemCaseSensitive(h->done, "bytesTo");
    cJSON *ranks = cJSON_GetObjectItemCaseSensitive(h->done, "perRank");
    const int n = cJSON_GetArraySize(matrix);
    cJSON *sent, *received;

    if (!n || !ranks)
        return;
    sent = cJSON_AddArrayToObject(ranks, "sentBytes");
    received = cJSON_AddArrayToObject(ranks, "receivedBytes");
    for (int i = 0; i < n; i++) {
        double out = 0, in = 0;

        for (int k = 0; k < n; k++) {
            out += entry(matrix, i, k);
            in += entry(matrix, k, i);
        }
        cJSON_AddItemToArray(sent, cJSON_CreateNumber(out));
        cJSON_AddItemToArray(received, cJSON_CreateNumber(in));
    }
}

enum study_verdict study_rises(const struct study_results *r, const struct study_measure *m,
                               int from, int to)
{
    double differences[STUDY_SEEDS_MAX];
    struct study_mean d;

    for (int seed = 0; seed < r->seeds; seed++)
        differences[seed] = study_value(r, m, to, seed) - study_value(r, m, from, seed);
    d = study_mean(differences, r->seeds);
    if (d.mean - d.half > 0)
        return STUDY_HELD;
    return d.mean + d.half < 0 ? STUDY_NOT_HELD : STUDY_UNDECIDED;
}

enum study_verdict study_judge(const struct study_results *r, const struct study_ordering *o)
{
    enum study_verdict all = STUDY_HELD;

    for (size_t i = 1; i < o->n_variants; i++) {
        const enum study_verdict v =
            study_rises(r, &o->measure, o->variants[i - 1], o->variants[i]);

        if (v == STUDY_NOT_HELD)
            return v;
        if (v == STUDY_UNDECIDED)
            all = v;
    }
    return all;
}

const char *study_verdict_text(enum study_verdict v)
{
    static const char *const texts[] = {"held", "NOT held", "undecided"};

    return texts[v];
}

struct format_text study_cell_text(const struct study_results *r, const struct study_column *column,
                                   const struct study_row *row)
{
    const struct study_mean mean = study_cell(r, column, row);

    for (int seed = 0; seed < r->seeds; seed++)
        if (*event_text(study_run(r, row->variant, seed)->done, STUDY_NOT_COMPARED))
            return (struct format_text){"not compared"};
    return study_format_mean(column->measure.format, mean);
}

struct format_text study_format(enum study_format format, double value)
{
    struct format_text text = {"-"};

    if (!isfinite(value))
        return text;
    switch (format) {
    case STUDY_PERCENT:
        return format_percent(value);
    case STUDY_SECONDS:
        if (fabs(value) >= 0.1 || value == 0)
            return format_seconds(value);
        snprintf(text.s, sizeof text.s, "%.3g ms", 1e3 * value);
        return text;
    case STUDY_RATE:
        return format_rate(value);
    case STUDY_LOSS:
        return format_loss(value);
    case STUDY_BYTES:
        return format_bytes(value);
    case STUDY_NUMBER:
        break;
    }
    snprintf(text.s, sizeof text.s, fabs(value) < 100 ? "%.3g" : "%.0f", value);
    return text;
}

struct format_text study_format_mean(enum study_format format, struct study_mean m)
{
    struct format_text text = study_format(format, m.mean);

    if (isfinite(m.half))
        snprintf(text.s + strlen(text.s), sizeof text.s - strlen(text.s), " ± %.20s",
                 study_format(format, m.half).s);
    return text;
}
