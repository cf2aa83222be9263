/* Which rows of the tables belong together: they name each other by path. Found once, for every job
 * that is read asks it of every field. */
#include "common/spec_table.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "paceline/mem.h"

static struct place {
    const struct field *field, *above;
    const struct choice *choices;
    size_t n_choices;
} places[SPEC_MAX_FIELDS]; /* by rising paths */

static int compare_places(const void *a, const void *b)
{
    return strcmp(((const struct place *)a)->field->path, ((const struct place *)b)->field->path);
}

static int compare_path(const void *path, const void *place)
{
    return strcmp(path, ((const struct place *)place)->field->path);
}

static struct place *find(const char *path)
{
    return bsearch(path, places, n_spec_fields, sizeof *places, compare_path);
}

static const struct field *field_of(const struct place *place)
{
    return place ? place->field : NULL;
}

static const struct field *find_above(const struct field *f)
{
    const size_t len = (size_t)(field_key(f) - f->path);
    AUTO(auto_free) char *path = xstrdup(f->path);

    path[len ? len - 1 : 0] = '\0';
    return field_of(find(path));
}

static void fill(void)
{
    for (size_t i = 0; i < n_spec_fields; i++)
        places[i].field = &spec_fields[i];
    qsort(places, n_spec_fields, sizeof *places, compare_places);
    for (size_t i = 0; i < n_spec_fields; i++)
        places[i].above = find_above(places[i].field);
    for (size_t i = 0; i < n_spec_choices; i++) {
        struct place *place = find(spec_choices[i].path);

        if (place && !place->n_choices++)
            place->choices = &spec_choices[i];
    }
}

static const struct place *place_of(const char *path)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, fill);
    return find(path);
}

const struct field *spec_field_find(const char *path) { return field_of(place_of(path)); }

/* By the path: the status has fields that are not in the table, and the CRD copies of those that
 * are. */
const struct field *field_above(const struct field *f)
{
    const struct place *place = place_of(f->path);

    return place ? place->above : NULL;
}

const struct choice *field_choices(const struct field *f, size_t *n)
{
    const struct place *place = place_of(f->path);

    *n = place ? place->n_choices : 0;
    return place ? place->choices : NULL;
}
