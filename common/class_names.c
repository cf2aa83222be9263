#include "paceline/class_names.h"

#include <string.h>

#include "paceline/mem.h"

static const struct {
    const char *dataset;
    const char *const names[10];
} known[] = {
    {"fashion-mnist",
     {"T-shirt", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag",
      "Ankle boot"}},
    {"cifar10",
     {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"}},
};

const char *const *class_names_of(const char *dataset, size_t *n)
{
    *n = 0;
    for (size_t i = 0; dataset && i < ARRAY_LEN(known); i++)
        if (strcmp(dataset, known[i].dataset) == 0) {
            *n = ARRAY_LEN(known[i].names);
            return known[i].names;
        }
    return NULL;
}
