#include "cli/classes.h"

#include <stdio.h>
#include <string.h>

#include "paceline/mem.h"

static const char *const fashion[] = {"T-shirt", "Trouser", "Pullover", "Dress", "Coat",
                                      "Sandal",  "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};

struct class_name class_name(const char *dataset, int i)
{
    struct class_name name;

    if (dataset && strcmp(dataset, "fashion-mnist") == 0 && i >= 0 && i < (int)ARRAY_LEN(fashion))
        snprintf(name.s, sizeof name.s, "%s", fashion[i]);
    else
        snprintf(name.s, sizeof name.s, "%d", i);
    return name;
}
