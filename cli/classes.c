#include "cli/classes.h"

#include <stdio.h>

#include "paceline/class_names.h"

struct class_name class_name(const char *dataset, int i)
{
    struct class_name name;
    size_t n;
    const char *const *known = class_names_of(dataset, &n);

    snprintf(name.s, sizeof name.s, "%d", i);
    if (i >= 0 && (size_t)i < n)
        snprintf(name.s, sizeof name.s, "%s", known[i]);
    return name;
}
