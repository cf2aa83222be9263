#include "cli/report/classes.h"

#include <stdio.h>

#include "paceline/named_sets.h"
#include "paceline/text.h"

struct class_name class_name(const cJSON *event, const char *dataset, int i)
{
    const cJSON *told = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(event, "classes"), i);
    struct class_name name;
    size_t n;
    const char *const *known = named_set_classes(dataset, &n);

    if (cJSON_IsString(told))
        text_escape(name.s, sizeof name.s, told->valuestring);
    else if (i >= 0 && (size_t)i < n)
        snprintf(name.s, sizeof name.s, "%s", known[i]);
    else
        snprintf(name.s, sizeof name.s, "%d", i);
    return name;
}
