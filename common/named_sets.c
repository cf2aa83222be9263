#include "paceline/named_sets.h"

#include <string.h>

#include "paceline/mem.h"
#include "paceline/spec.h"

#define ROW_OF_SET(name, kind, of, origin, samples, classes, c, h, w) \
    {name, SAMPLES_##of, ORIGIN_##origin, samples, classes, {c, h, w}},
static const struct named_set named_sets[] = {NAMED_SETS(ROW_OF_SET)};

const struct named_set *named_set_find(const char *name)
{
    for (size_t i = 0; name && i < ARRAY_LEN(named_sets); i++)
        if (strcmp(named_sets[i].name, name) == 0)
            return &named_sets[i];
    return NULL;
}

const struct named_set *job_named_set(const struct job *job)
{
    static const struct named_set none = {.name = "", .origin = ORIGIN_FOLDER};
    const struct named_set *set = named_set_find(job->dataset.name);

    return set ? set : &none;
}

static const struct {
    const char *dataset;
    const char *const names[10];
} classes_of_sets[] = {
    {"fashion-mnist",
     {"T-shirt", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag",
      "Ankle boot"}},
    {"cifar10",
     {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"}},
};

const char *const *named_set_classes(const char *name, size_t *n)
{
    *n = 0;
    for (size_t i = 0; name && i < ARRAY_LEN(classes_of_sets); i++)
        if (strcmp(name, classes_of_sets[i].dataset) == 0) {
            *n = ARRAY_LEN(classes_of_sets[i].names);
            return classes_of_sets[i].names;
        }
    return NULL;
}
