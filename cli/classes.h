/* Names of the classes of the built-in datasets. */
#ifndef PACELINE_CLI_CLASSES_H
#define PACELINE_CLI_CLASSES_H

struct class_name {
    char s[24];
};

/* The class's name, or its number when the dataset (may be NULL) has no names. */
struct class_name class_name(const char *dataset, int i);

#endif
