#include "cli/classes.h"

#include <stdio.h>
#include <string.h>

#include "paceline/mem.h"

static const struct {
    const char *dataset;
    const char *classes[10];
} known[] = {
    {"fashion-mnist",
     {"T-shirt", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag",
      "Ankle boot"}},
    {"cifar10",
     {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"}},
};

struct class_name class_name(const char *dataset, int i)
{
    struct class_name name;

    snprintf(name.s, sizeof name.s, "%d", i);
    for (size_t k = 0; dataset && k < ARRAY_LEN(known); k++)
        if (strcmp(dataset, known[k].dataset) == 0 && i >= 0 && i < 10)
            snprintf(name.s, sizeof name.s, "%s", known[k].classes[i]);
    return name;
}
