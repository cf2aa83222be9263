/* Which rows of the tables belong together: they name each other by path. Found once, for every job
 * that is read asks it of every field. */
#include "common/spec_table.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "paceline/mem.h"

static struct spec_place {
    const struct field *field, *above;
    const struct choice *choices;
    size_t n_choices;
} places[SPEC_MAX_FIELDS];                                 /* by rising paths */
static const struct spec_place *of_field[SPEC_MAX_FIELDS]; /* as the fields are in their table */
static const struct field **selectors;                     /* as the choices are in theirs */

static int compare_places(const void *a, const void *b)
{
    return strcmp(((const struct spec_place *)a)->field->path,
                  ((const struct spec_place *)b)->field->path);
}

static int compare_path(const void *path, const void *place)
{
    return strcmp(path, ((const struct spec_place *)place)->field->path);
}

static struct spec_place *spec_index_find(const char *path)
{
    return bsearch(path, places, n_spec_fields, sizeof *places, compare_path);
}

static const struct field *spec_index_field_of(const struct spec_place *place)
{
    return place ? place->field : NULL;
}

static const struct field *find_above(const struct field *f)
{
    const size_t len = (size_t)(field_key(f) - f->path);
    AUTO(auto_free) char *path = xstrdup(f->path);

    path[len ? len - 1 : 0] = '\0';
    return spec_index_field_of(spec_index_find(path));
}

static void spec_index_fill(void)
{
    for (size_t i = 0; i < n_spec_fields; i++)
        places[i].field = &spec_fields[i];
    qsort(places, n_spec_fields, sizeof *places, compare_places);
    for (size_t i = 0; i < n_spec_fields; i++)
        places[i].above = find_above(places[i].field);
    for (size_t i = 0; i < n_spec_fields; i++)
        of_field[i] = spec_index_find(spec_fields[i].path);
    selectors = xcalloc(n_spec_choices, sizeof(void *));
    for (size_t i = 0; i < n_spec_choices; i++) {
        struct spec_place *place = spec_index_find(spec_choices[i].path);

        selectors[i] = spec_index_field_of(spec_index_find(spec_choices[i].selector));
        if (place && !place->n_choices++)
            place->choices = &spec_choices[i];
    }
}

static void fill_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, spec_index_fill);
}

/* The status has fields that are not in the table, and the CRD copies of those that are: these are
 * found by their paths. */
static const struct spec_place *spec_index_place_of(const struct field *f)
{
    const uintptr_t at = (uintptr_t)f - (uintptr_t)spec_fields;

    fill_once();
    return at / sizeof *f < n_spec_fields ? of_field[at / sizeof *f] : spec_index_find(f->path);
}

const struct field *spec_field_find(const char *path)
{
    fill_once();
    return spec_index_field_of(spec_index_find(path));
}

const struct field *field_above(const struct field *f)
{
    const struct spec_place *place = spec_index_place_of(f);

    return place ? place->above : NULL;
}

const struct choice *field_choices(const struct field *f, size_t *n)
{
    const struct spec_place *place = spec_index_place_of(f);

    *n = place ? place->n_choices : 0;
    return place ? place->choices : NULL;
}

const struct field *choice_selector(const struct choice *choice)
{
    fill_once();
    return selectors[choice - spec_choices];
}
