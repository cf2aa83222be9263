/* Names of classes, as people read them. */
#ifndef PACELINE_CLI_CLASSES_H
#define PACELINE_CLI_CLASSES_H

#include <cjson/cJSON.h>

struct class_name {
    char s[48];
};

/* Class i by the list `classes` of an event, else as the data set (may be NULL) publishes it; its
 * number where neither has names. Long ones are cut. */
struct class_name class_name(const cJSON *event, const char *dataset, int i);

#endif
