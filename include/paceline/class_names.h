/* Names of the classes of the built-in data sets. */
#ifndef PACELINE_CLASS_NAMES_H
#define PACELINE_CLASS_NAMES_H

#include <stddef.h>

/* Of the data set (may be NULL), in the order of its labels; NULL, and *n 0, where it has none. */
const char *const *class_names_of(const char *dataset, size_t *n);

#endif
