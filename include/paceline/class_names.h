/* Names of the classes of the built-in data sets. */
#ifndef PACELINE_CLASS_NAMES_H
#define PACELINE_CLASS_NAMES_H

#include <stddef.h>

/* The names of a data set's classes in the order of its labels. NULL, with *n 0, if the data set
 * has no names or is NULL. */
const char *const *class_names_of(const char *dataset, size_t *n);

#endif
