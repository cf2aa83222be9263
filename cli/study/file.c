#include "cli/study/file.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "cli/report/table.h"
#include "paceline/json.h"
#include "paceline/mem.h"

#define API_VERSION "paceline.dev/v1"

/* Reading stops at the first fault; what is read after it has no meaning and does no harm. */
struct study_reader {
    const struct yaml_doc *doc;
    const char *file;
    struct err *err;
    bool failed;
};

__attribute__((format(printf, 3, 4))) static void fault(struct study_reader *r, const cJSON *at,
                                                        const char *fmt, ...)
{
    char text[200];
    va_list args;

    if (r->failed)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    err_set(r->err, ERR_INVALID, "%.200s:%d: %s", r->file, at ? yaml_line(r->doc, at) : 1, text);
    r->failed = true;
}

/* --- values of a mapping --- */

static const cJSON *study_file_get(const cJSON *map, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(map, key);
}

/* Every key is one of the names separated by spaces. */
static void only(struct study_reader *r, const cJSON *map, const char *names)
{
    const cJSON *item;

    if (!cJSON_IsObject(map)) {
        fault(r, map, "found no mapping; needed: one of %s", names);
        return;
    }
    cJSON_ArrayForEach(item, map)
    {
        const size_t len = strlen(item->string);
        const char *at = names;

        while (at && (strncmp(at, item->string, len) != 0 || (at[len] != ' ' && at[len])))
            at = (at = strchr(at, ' ')) ? at + 1 : NULL;
        if (!at)
            fault(r, item, "found the key \"%.60s\"; allowed: %s", item->string, names);
    }
}

static const char *text_or(struct study_reader *r, const cJSON *map, const char *key,
                           const char *otherwise)
{
    const cJSON *item = study_file_get(map, key);

    if (!item)
        return otherwise;
    if (!cJSON_IsString(item) || !*item->valuestring)
        fault(r, item, "%s: found no text; needed: one (a number wants quotes)", key);
    return cJSON_IsString(item) ? item->valuestring : "";
}

static const char *study_file_text_of(struct study_reader *r, const cJSON *map, const char *key)
{
    const char *text = text_or(r, map, key, NULL);

    if (!text)
        fault(r, map, "%s: found nothing; needed: a text", key);
    return text ? text : "";
}

static const cJSON *map_of(struct study_reader *r, const cJSON *map, const char *key)
{
    const cJSON *item = study_file_get(map, key);

    if (item && !cJSON_IsObject(item))
        fault(r, item, "%s: found no mapping; needed: one", key);
    return cJSON_IsObject(item) ? item : NULL;
}

/* The entries of a list, of at least `least`. */
static const cJSON *study_file_list_of(struct study_reader *r, const cJSON *map, const char *key,
                                       int least, int most)
{
    const cJSON *item = study_file_get(map, key);
    const int n = cJSON_IsArray(item) ? cJSON_GetArraySize(item) : 0;

    if ((item && !cJSON_IsArray(item)) || n < least || n > most)
        fault(r, item ? item : map, "%s: found %d entries; needed: a list of %d to %d", key, n,
              least, most);
    return n >= least && n <= most ? item : NULL;
}

static size_t study_file_count(const cJSON *list) { return (size_t)cJSON_GetArraySize(list); }

/* --- parts of a study --- */

int study_variant(const struct study *s, const char *name)
{
    for (size_t i = 0; i < s->n_variants; i++)
        if (strcmp(s->variants[i].name, name) == 0)
            return (int)i;
    return -1;
}

const struct study_scale *study_scale(const struct study *s, const char *name)
{
    for (size_t i = 0; i < s->n_scales; i++)
        if (strcmp(s->scales[i].name, name) == 0)
            return &s->scales[i];
    return NULL;
}

bool study_runs(const struct study_scale *scale, const struct study_variant *v)
{
    const cJSON *point;

    cJSON_ArrayForEach(point, scale->points)
    {
        if (cJSON_IsNumber(point) && point->valuedouble == v->x)
            return true;
    }
    return !v->point || !scale->points;
}

const cJSON *study_preset(const struct study *s, const struct study_scale *scale, const char *name)
{
    const cJSON *own = cJSON_GetObjectItemCaseSensitive(scale->presets, name);

    return own ? own : cJSON_GetObjectItemCaseSensitive(s->presets, name);
}

static bool is_series(const cJSON *name, const char *series)
{
    return series && cJSON_IsString(name) && strcmp(name->valuestring, series) == 0;
}

bool study_shows(const cJSON *list, const char *series)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, list)
    {
        if (is_series(item, series))
            return true;
    }
    return !list;
}

static int variant_of(struct study_reader *r, const struct study *s, const cJSON *at,
                      const char *name)
{
    const int i = study_variant(s, name);

    if (i < 0)
        fault(r, at, "found \"%.60s\"; needed: the name of a variant", name);
    return i;
}

#define MEASURE_KEYS "measure less per against format"

static struct study_measure measure_of(struct study_reader *r, const struct study *s,
                                       const cJSON *map)
{
    static const char *const formats[] = {
        [STUDY_NUMBER] = "number", [STUDY_PERCENT] = "percent", [STUDY_SECONDS] = "seconds",
        [STUDY_RATE] = "rate",     [STUDY_LOSS] = "loss",       [STUDY_BYTES] = "bytes"};
    const char *format = text_or(r, map, "format", "number");
    const char *against = text_or(r, map, "against", NULL);
    struct study_measure m = {.field = study_file_text_of(r, map, "measure"),
                              .less = text_or(r, map, "less", NULL),
                              .per = text_or(r, map, "per", NULL),
                              .against = against ? variant_of(r, s, map, against) : -1};
    size_t i = 0;

    while (i < ARRAY_LEN(formats) && strcmp(format, formats[i]) != 0)
        i++;
    if (i == ARRAY_LEN(formats))
        fault(r, map,
              "format: found \"%.40s\"; allowed: number, percent, seconds, rate, loss, bytes",
              format);
    m.format = (enum study_format)i;
    return m;
}

/* The variants that a list names; without one all. */
static int *variants_of(struct study_reader *r, const struct study *s, const cJSON *map,
                        const char *key, int least, size_t *n)
{
    const cJSON *list = least || study_file_get(map, key)
                            ? study_file_list_of(r, map, key, least, STUDY_VARIANTS_MAX)
                            : NULL;
    const cJSON *item;
    int *all = xcalloc(STUDY_VARIANTS_MAX, sizeof *all);

    *n = 0;
    cJSON_ArrayForEach(item, list)
    {
        all[(*n)++] = variant_of(r, s, item, cJSON_IsString(item) ? item->valuestring : "");
    }
    for (size_t i = 0; !list && i < s->n_variants; i++)
        all[(*n)++] = (int)i;
    return all;
}

static double *published_of(struct study_reader *r, const struct study *s, const cJSON *map)
{
    const cJSON *published = map_of(r, map, "published"), *item;
    double *values = NULL;

    if (!published)
        return NULL;
    values = xcalloc(STUDY_VARIANTS_MAX, sizeof *values);
    for (size_t i = 0; i < s->n_variants; i++)
        values[i] = NAN;
    cJSON_ArrayForEach(item, published)
    {
        const int i = variant_of(r, s, item, item->string);

        if (!cJSON_IsNumber(item))
            fault(r, item, "published: found no number; needed: one for each variant");
        else if (i >= 0)
            values[i] = item->valuedouble;
    }
    return values;
}

/* Fields of the job by name. */
static const cJSON *presets_of(struct study_reader *r, const cJSON *map)
{
    const cJSON *presets = map_of(r, map, "presets"), *item;

    cJSON_ArrayForEach(item, presets) map_of(r, presets, item->string);
    return presets;
}

/* A list of some that are all of one kind; NULL: there is no such key. */
static const cJSON *all_of(struct study_reader *r, const cJSON *map, const char *key,
                           cJSON_bool (*is)(const cJSON *), const char *kind)
{
    const cJSON *list = study_file_get(map, key) ? study_file_list_of(r, map, key, 1, 32) : NULL,
                *item;

    cJSON_ArrayForEach(item, list)
    {
        if (!is(item))
            fault(r, item, "%s: found something else; needed: a list of %s", key, kind);
    }
    return list;
}

static const cJSON *texts_of(struct study_reader *r, const cJSON *map, const char *key)
{
    return all_of(r, map, key, cJSON_IsString, "texts");
}

static const cJSON *numbers_of(struct study_reader *r, const cJSON *map, const char *key)
{
    return all_of(r, map, key, cJSON_IsNumber, "numbers");
}

static void read_scales(struct study_reader *r, struct study *s)
{
    const cJSON *list = study_file_list_of(r, s->doc.root, "scales", 1, 16), *item;

    s->scales = xcalloc(study_file_count(list) + 1, sizeof *s->scales);
    cJSON_ArrayForEach(item, list)
    {
        const cJSON *seeds = study_file_get(item, "seeds");

        only(r, item, "name note seeds set presets points");
        if (!cJSON_IsNumber(seeds) || seeds->valuedouble < 1 ||
            seeds->valuedouble > STUDY_SEEDS_MAX)
            fault(r, item, "seeds: needed: a number from 1 to %d", STUDY_SEEDS_MAX);
        s->scales[s->n_scales++] = (struct study_scale){.name = study_file_text_of(r, item, "name"),
                                                        .note = text_or(r, item, "note", ""),
                                                        .seeds = seeds ? seeds->valueint : 1,
                                                        .set = map_of(r, item, "set"),
                                                        .presets = presets_of(r, item),
                                                        .points = numbers_of(r, item, "points")};
    }
}

/* Names are names of folders, too. */
static bool study_file_is_plain(const char *name)
{
    return *name && name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789-_")] == '\0';
}

/* The presets that a variant uses are there, in every scale. */
static const cJSON *use_of(struct study_reader *r, const struct study *s, const cJSON *map)
{
    const cJSON *use = texts_of(r, map, "use"), *item;

    cJSON_ArrayForEach(item, use)
    {
        for (size_t i = 0; i < s->n_scales; i++)
            if (!r->failed && !study_preset(s, &s->scales[i], item->valuestring))
                fault(r, item, "use: found \"%.60s\"; needed: a preset of the study or of scale %s",
                      item->valuestring, s->scales[i].name);
    }
    return use;
}

/* The variant before that calibrates for this one. */
static int calibration_of(struct study_reader *r, const struct study *s, const cJSON *map)
{
    const char *name = text_or(r, map, "calibration", NULL);
    const int i = name ? study_variant(s, name) : -1;

    if (name && (i < 0 || !s->variants[i].calibrates))
        fault(r, map, "calibration: found \"%.60s\"; needed: a variant before that calibrates",
              name);
    return i;
}

static void add_variant(struct study_reader *r, struct study *s, const cJSON *at,
                        const struct study_variant *v)
{
    if (!study_file_is_plain(v->name) || study_variant(s, v->name) >= 0)
        fault(r, at, "name: found \"%.60s\"; needed: letters, digits, - and _, once", v->name);
    if (s->n_variants == STUDY_VARIANTS_MAX)
        fault(r, at, "found more variants; needed: at most %d", STUDY_VARIANTS_MAX);
    if (r->failed)
        free(v->name);
    else
        s->variants[s->n_variants++] = *v;
}

static void read_variants(struct study_reader *r, struct study *s)
{
    const cJSON *list = study_file_list_of(r, s->doc.root, "variants", 1, STUDY_VARIANTS_MAX),
                *item, *point;

    s->variants = xcalloc(STUDY_VARIANTS_MAX, sizeof *s->variants);
    cJSON_ArrayForEach(item, list)
    {
        const cJSON *x = study_file_get(item, "x"), *points = numbers_of(r, item, "points");
        const char *name = study_file_text_of(r, item, "name");
        struct study_variant v = {
            .series = text_or(r, item, "series", NULL),
            .x = cJSON_IsNumber(x) ? x->valuedouble : NAN,
            .use = use_of(r, s, item),
            .set = map_of(r, item, "set"),
            .at = texts_of(r, item, "at"),
            .point = points,
            .calibrates = cJSON_IsTrue(study_file_get(item, "calibrate")),
            .peer = text_or(r, item, "peer", NULL),
            .calibration = calibration_of(r, s, item),
        };

        only(r, item, "name series x use set points at calibrate calibration peer");
        if (!points) {
            v.name = xstrdup(name);
            add_variant(r, s, item, &v);
        }
        cJSON_ArrayForEach(point, points)
        {
            v.x = point->valuedouble;
            v.name = xasprintf("%s-%g", name, v.x);
            add_variant(r, s, item, &v);
        }
    }
}

/* Of a list of series each is one of a variant. */
static const cJSON *series_of(struct study_reader *r, const struct study *s, const cJSON *map)
{
    const cJSON *list = texts_of(r, map, "series"), *item;

    cJSON_ArrayForEach(item, list)
    {
        size_t v = 0;

        while (v < s->n_variants && !is_series(item, s->variants[v].series))
            v++;
        if (v == s->n_variants)
            fault(r, item, "series: found \"%.60s\"; needed: the series of a variant",
                  cJSON_IsString(item) ? item->valuestring : "");
    }
    return list;
}

/* Rows of other series go. */
static void keep_series(const struct study *s, struct study_table *t, const cJSON *series)
{
    size_t n = 0;

    for (size_t i = 0; i < t->n_variants; i++)
        if (study_shows(series, s->variants[t->variants[i]].series))
            t->variants[n++] = t->variants[i];
    t->n_variants = n;
}

static bool by_rank(struct study_reader *r, const cJSON *map)
{
    const char *by = text_or(r, map, "by", "variant");
    const bool rank = strcmp(by, "rank") == 0;

    if (!rank && strcmp(by, "variant") != 0)
        fault(r, map, "by: found \"%.40s\"; allowed: variant, rank", by);
    return rank;
}

static void read_tables(struct study_reader *r, struct study *s)
{
    const cJSON *list = study_file_list_of(r, s->doc.root, "tables", 1, 32), *item, *column;

    s->tables = xcalloc(study_file_count(list) + 1, sizeof *s->tables);
    cJSON_ArrayForEach(item, list)
    {
        struct study_table *t = &s->tables[s->n_tables++];
        const cJSON *columns = study_file_list_of(r, item, "columns", 1, TABLE_COLUMNS - 1);

        only(r, item, "title variants series by columns");
        t->title = study_file_text_of(r, item, "title");
        t->by_rank = by_rank(r, item);
        t->variants = variants_of(r, s, item, "variants", 0, &t->n_variants);
        keep_series(s, t, series_of(r, s, item));
        t->columns = xcalloc(study_file_count(columns) + 1, sizeof *t->columns);
        cJSON_ArrayForEach(column, columns)
        {
            only(r, column, "title published " MEASURE_KEYS);
            t->columns[t->n_columns++] =
                (struct study_column){.title = study_file_text_of(r, column, "title"),
                                      .measure = measure_of(r, s, column),
                                      .published = published_of(r, s, column)};
        }
    }
}

static void read_plots(struct study_reader *r, struct study *s)
{
    const cJSON *list = study_file_get(s->doc.root, "plots")
                            ? study_file_list_of(r, s->doc.root, "plots", 0, 32)
                            : NULL;
    const cJSON *item;

    s->plots = xcalloc(study_file_count(list) + 1, sizeof *s->plots);
    cJSON_ArrayForEach(item, list)
    {
        const char *over = study_file_text_of(r, item, "over");
        const cJSON *beside = map_of(r, item, "beside");
        struct study_plot *p = &s->plots[s->n_plots++];

        only(r, item, "title over series beside " MEASURE_KEYS);
        *p = (struct study_plot){.title = study_file_text_of(r, item, "title"),
                                 .x_label = over,
                                 .measure = measure_of(r, s, item),
                                 .over_epochs = strcmp(over, "epoch") == 0,
                                 .series = series_of(r, s, item)};
        if (!beside)
            continue;
        only(r, beside, "title " MEASURE_KEYS);
        p->beside = measure_of(r, s, beside);
        p->beside_title = study_file_text_of(r, beside, "title");
    }
}

static void read_orderings(struct study_reader *r, struct study *s)
{
    const cJSON *list = study_file_get(s->doc.root, "orderings")
                            ? study_file_list_of(r, s->doc.root, "orderings", 0, 64)
                            : NULL;
    const cJSON *item;

    s->orderings = xcalloc(study_file_count(list) + 1, sizeof *s->orderings);
    cJSON_ArrayForEach(item, list)
    {
        struct study_ordering *o = &s->orderings[s->n_orderings++];

        only(r, item, "text rising " MEASURE_KEYS);
        o->text = study_file_text_of(r, item, "text");
        o->measure = measure_of(r, s, item);
        o->variants = variants_of(r, s, item, "rising", 2, &o->n_variants);
    }
}

/* The variants of a series, as they stand: by x, each beyond the last. */
static int *variants_by_x(struct study_reader *r, const struct study *s, const cJSON *at,
                          const char *series, size_t *n)
{
    int *all = xcalloc(STUDY_VARIANTS_MAX, sizeof *all);

    *n = 0;
    for (size_t v = 0; v < s->n_variants; v++) {
        if (!s->variants[v].series || strcmp(s->variants[v].series, series) != 0)
            continue;
        if (*n && !(s->variants[v].x > s->variants[all[*n - 1]].x))
            fault(r, at, "series: found x of %.40s out of order; needed: rising ones",
                  s->variants[v].name);
        all[(*n)++] = (int)v;
    }
    if (!*n)
        fault(r, at, "series: found \"%.60s\"; needed: the series of a variant", series);
    return all;
}

static void read_searches(struct study_reader *r, struct study *s)
{
    const cJSON *list = study_file_get(s->doc.root, "searches")
                            ? study_file_list_of(r, s->doc.root, "searches", 0, 8)
                            : NULL;
    const cJSON *item;

    s->searches = xcalloc(study_file_count(list) + 1, sizeof *s->searches);
    cJSON_ArrayForEach(item, list)
    {
        struct study_search *search = &s->searches[s->n_searches++];
        const cJSON *within = study_file_get(item, "within");

        only(r, item, "title series reference within " MEASURE_KEYS);
        if (!cJSON_IsNumber(within) || within->valuedouble < 0)
            fault(r, item, "within: found no number; needed: one from 0");
        search->title = study_file_text_of(r, item, "title");
        search->measure = measure_of(r, s, item);
        search->reference = variant_of(r, s, item, study_file_text_of(r, item, "reference"));
        search->within = within ? within->valuedouble : 0;
        search->variants =
            variants_by_x(r, s, item, study_file_text_of(r, item, "series"), &search->n_variants);
    }
}

static void study_file_read_head(struct study_reader *r, struct study *s)
{
    const cJSON *root = s->doc.root, *metadata = map_of(r, root, "metadata");

    only(r, root,
         "apiVersion kind metadata title source about job presets scales variants tables plots "
         "orderings searches");
    if (strcmp(study_file_text_of(r, root, "apiVersion"), API_VERSION) != 0 ||
        strcmp(study_file_text_of(r, root, "kind"), "Study") != 0)
        fault(r, root, "found another apiVersion or kind; needed: " API_VERSION " and Study");
    s->name = study_file_text_of(r, metadata ? metadata : root, "name");
    if (!study_file_is_plain(s->name))
        fault(r, metadata, "name: needed: letters, digits, - and _");
    s->title = study_file_text_of(r, root, "title");
    s->source = text_or(r, root, "source", "");
    s->about = text_or(r, root, "about", "");
    s->job = map_of(r, root, "job");
    s->presets = presets_of(r, root);
    if (!s->job)
        fault(r, root, "job: found nothing; needed: the spec that all variants share");
}

int study_parse(struct study *s, const char *text, size_t len, const char *file, struct err *err)
{
    struct study_reader r = {.doc = &s->doc, .file = file, .err = err};

    *s = (struct study){0};
    if (yaml_parse(&s->doc, text, len, file, err) < 0)
        return -1;
    study_file_read_head(&r, s);
    read_scales(&r, s);
    read_variants(&r, s);
    read_tables(&r, s);
    read_plots(&r, s);
    read_orderings(&r, s);
    read_searches(&r, s);
    return r.failed ? -1 : 0;
}

void study_release(struct study *s)
{
    for (size_t i = 0; i < s->n_tables; i++) {
        for (size_t c = 0; c < s->tables[i].n_columns; c++)
            free(s->tables[i].columns[c].published);
        free(s->tables[i].columns);
        free(s->tables[i].variants);
    }
    for (size_t i = 0; i < s->n_orderings; i++)
        free(s->orderings[i].variants);
    for (size_t i = 0; i < s->n_variants; i++)
        free(s->variants[i].name);
    free(s->scales);
    free(s->variants);
    free(s->tables);
    free(s->plots);
    for (size_t i = 0; i < s->n_searches; i++)
        free(s->searches[i].variants);
    free(s->searches);
    free(s->orderings);
    yaml_release(&s->doc);
    *s = (struct study){0};
}
