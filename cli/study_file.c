#include "cli/study_file.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "cli/table.h"
#include "paceline/json.h"
#include "paceline/mem.h"

#define API_VERSION "paceline.dev/v1"

/* Reading stops at the first fault; what is read after it has no meaning and does no harm. */
struct reader {
    const struct yaml_doc *doc;
    const char *file;
    struct err *err;
    bool failed;
};

__attribute__((format(printf, 3, 4))) static void fault(struct reader *r, const cJSON *at,
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

static const cJSON *get(const cJSON *map, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(map, key);
}

/* Every key is one of the names separated by spaces. */
static void only(struct reader *r, const cJSON *map, const char *names)
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

static const char *text_or(struct reader *r, const cJSON *map, const char *key,
                           const char *otherwise)
{
    const cJSON *item = get(map, key);

    if (!item)
        return otherwise;
    if (!cJSON_IsString(item) || !*item->valuestring)
        fault(r, item, "%s: found no text; needed: one (a number wants quotes)", key);
    return cJSON_IsString(item) ? item->valuestring : "";
}

static const char *text_of(struct reader *r, const cJSON *map, const char *key)
{
    const char *text = text_or(r, map, key, NULL);

    if (!text)
        fault(r, map, "%s: found nothing; needed: a text", key);
    return text ? text : "";
}

static const cJSON *map_of(struct reader *r, const cJSON *map, const char *key)
{
    const cJSON *item = get(map, key);

    if (item && !cJSON_IsObject(item))
        fault(r, item, "%s: found no mapping; needed: one", key);
    return cJSON_IsObject(item) ? item : NULL;
}

/* The entries of a list, of at least `least`. */
static const cJSON *list_of(struct reader *r, const cJSON *map, const char *key, int least,
                            int most)
{
    const cJSON *item = get(map, key);
    const int n = cJSON_IsArray(item) ? cJSON_GetArraySize(item) : 0;

    if ((item && !cJSON_IsArray(item)) || n < least || n > most)
        fault(r, item ? item : map, "%s: found %d entries; needed: a list of %d to %d", key, n,
              least, most);
    return n >= least && n <= most ? item : NULL;
}

static size_t count(const cJSON *list) { return (size_t)cJSON_GetArraySize(list); }

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

static int variant_of(struct reader *r, const struct study *s, const cJSON *at, const char *name)
{
    const int i = study_variant(s, name);

    if (i < 0)
        fault(r, at, "found \"%.60s\"; needed: the name of a variant", name);
    return i;
}

#define MEASURE_KEYS "measure per against format"

static struct study_measure measure_of(struct reader *r, const struct study *s, const cJSON *map)
{
    static const char *const formats[] = {
        [STUDY_NUMBER] = "number", [STUDY_PERCENT] = "percent", [STUDY_SECONDS] = "seconds",
        [STUDY_RATE] = "rate",     [STUDY_LOSS] = "loss",       [STUDY_BYTES] = "bytes"};
    const char *format = text_or(r, map, "format", "number");
    const char *against = text_or(r, map, "against", NULL);
    struct study_measure m = {.field = text_of(r, map, "measure"),
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
static int *variants_of(struct reader *r, const struct study *s, const cJSON *map, const char *key,
                        int least, size_t *n)
{
    const cJSON *list =
        least || get(map, key) ? list_of(r, map, key, least, STUDY_VARIANTS_MAX) : NULL;
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

static double *published_of(struct reader *r, const struct study *s, const cJSON *map)
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

static void read_scales(struct reader *r, struct study *s)
{
    const cJSON *list = list_of(r, s->doc.root, "scales", 1, 16), *item;

    s->scales = xcalloc(count(list) + 1, sizeof *s->scales);
    cJSON_ArrayForEach(item, list)
    {
        const cJSON *seeds = get(item, "seeds");

        only(r, item, "name note seeds set");
        if (!cJSON_IsNumber(seeds) || seeds->valuedouble < 1 ||
            seeds->valuedouble > STUDY_SEEDS_MAX)
            fault(r, item, "seeds: needed: a number from 1 to %d", STUDY_SEEDS_MAX);
        s->scales[s->n_scales++] = (struct study_scale){.name = text_of(r, item, "name"),
                                                        .note = text_or(r, item, "note", ""),
                                                        .seeds = seeds ? seeds->valueint : 1,
                                                        .set = map_of(r, item, "set")};
    }
}

/* Names are names of folders, too. */
static bool is_plain(const char *name)
{
    return *name && name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789-_")] == '\0';
}

static void read_variants(struct reader *r, struct study *s)
{
    const cJSON *list = list_of(r, s->doc.root, "variants", 1, STUDY_VARIANTS_MAX), *item;

    s->variants = xcalloc(count(list) + 1, sizeof *s->variants);
    cJSON_ArrayForEach(item, list)
    {
        const cJSON *x = get(item, "x");
        const char *name = text_of(r, item, "name");

        only(r, item, "name series x set");
        if (!is_plain(name) || study_variant(s, name) >= 0)
            fault(r, item, "name: found \"%.60s\"; needed: letters, digits, - and _, once", name);
        s->variants[s->n_variants++] = (struct study_variant){
            .name = name,
            .series = text_or(r, item, "series", NULL),
            .x = cJSON_IsNumber(x) ? x->valuedouble : NAN,
            .set = map_of(r, item, "set"),
        };
    }
}

static void read_tables(struct reader *r, struct study *s)
{
    const cJSON *list = list_of(r, s->doc.root, "tables", 1, 32), *item, *column;

    s->tables = xcalloc(count(list) + 1, sizeof *s->tables);
    cJSON_ArrayForEach(item, list)
    {
        struct study_table *t = &s->tables[s->n_tables++];
        const cJSON *columns = list_of(r, item, "columns", 1, TABLE_COLUMNS - 1);

        only(r, item, "title variants columns");
        t->title = text_of(r, item, "title");
        t->variants = variants_of(r, s, item, "variants", 0, &t->n_variants);
        t->columns = xcalloc(count(columns) + 1, sizeof *t->columns);
        cJSON_ArrayForEach(column, columns)
        {
            only(r, column, "title published " MEASURE_KEYS);
            t->columns[t->n_columns++] =
                (struct study_column){.title = text_of(r, column, "title"),
                                      .measure = measure_of(r, s, column),
                                      .published = published_of(r, s, column)};
        }
    }
}

static void read_plots(struct reader *r, struct study *s)
{
    const cJSON *list = get(s->doc.root, "plots") ? list_of(r, s->doc.root, "plots", 0, 32) : NULL;
    const cJSON *item;

    s->plots = xcalloc(count(list) + 1, sizeof *s->plots);
    cJSON_ArrayForEach(item, list)
    {
        const char *over = text_of(r, item, "over");

        only(r, item, "title over " MEASURE_KEYS);
        s->plots[s->n_plots++] = (struct study_plot){.title = text_of(r, item, "title"),
                                                     .x_label = over,
                                                     .measure = measure_of(r, s, item),
                                                     .over_epochs = strcmp(over, "epoch") == 0};
    }
}

static void read_orderings(struct reader *r, struct study *s)
{
    const cJSON *list =
        get(s->doc.root, "orderings") ? list_of(r, s->doc.root, "orderings", 0, 64) : NULL;
    const cJSON *item;

    s->orderings = xcalloc(count(list) + 1, sizeof *s->orderings);
    cJSON_ArrayForEach(item, list)
    {
        struct study_ordering *o = &s->orderings[s->n_orderings++];

        only(r, item, "text rising " MEASURE_KEYS);
        o->text = text_of(r, item, "text");
        o->measure = measure_of(r, s, item);
        o->variants = variants_of(r, s, item, "rising", 2, &o->n_variants);
    }
}

static void read_head(struct reader *r, struct study *s)
{
    const cJSON *root = s->doc.root, *metadata = map_of(r, root, "metadata");

    only(r, root,
         "apiVersion kind metadata title source about job scales variants tables plots orderings");
    if (strcmp(text_of(r, root, "apiVersion"), API_VERSION) != 0 ||
        strcmp(text_of(r, root, "kind"), "Study") != 0)
        fault(r, root, "found another apiVersion or kind; needed: " API_VERSION " and Study");
    s->name = text_of(r, metadata ? metadata : root, "name");
    if (!is_plain(s->name))
        fault(r, metadata, "name: needed: letters, digits, - and _");
    s->title = text_of(r, root, "title");
    s->source = text_or(r, root, "source", "");
    s->about = text_or(r, root, "about", "");
    s->job = map_of(r, root, "job");
    if (!s->job)
        fault(r, root, "job: found nothing; needed: the spec that all variants share");
}

int study_parse(struct study *s, const char *text, size_t len, const char *file, struct err *err)
{
    struct reader r = {.doc = &s->doc, .file = file, .err = err};

    *s = (struct study){0};
    if (yaml_parse(&s->doc, text, len, file, err) < 0)
        return -1;
    read_head(&r, s);
    read_scales(&r, s);
    read_variants(&r, s);
    read_tables(&r, s);
    read_plots(&r, s);
    read_orderings(&r, s);
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
    free(s->scales);
    free(s->variants);
    free(s->tables);
    free(s->plots);
    free(s->orderings);
    yaml_release(&s->doc);
    *s = (struct study){0};
}
