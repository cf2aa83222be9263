/* Names of classes, as people read them. */
#ifndef PACELINE_CLI_CLASSES_H
#define PACELINE_CLI_CLASSES_H

#include <cjson/cJSON.h>

struct class_name {
    char s[48];
};

/* The name of class i: from the list `classes` of an event, else from the published names of the
 * data set (may be NULL), else its number. It is printable, as text_escape has it; long
 * names are cut. */
struct class_name class_name(const cJSON *event, const char *dataset, int i);

#endif
