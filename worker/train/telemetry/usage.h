/* The operating system's figures on this process and its control groups (versions 1 and 2). In a
 * pod the groups are those of the container; elsewhere they may contain other processes. */
#ifndef PACELINE_USAGE_H
#define PACELINE_USAGE_H

#include <stdbool.h>

enum usage {
    USAGE_USER, /* CPU seconds of all threads */
    USAGE_SYSTEM,
    USAGE_MEMORY, /* resident bytes */
    USAGE_PEAK,
    USAGE_GROUP_USER,
    USAGE_GROUP_SYSTEM,
    USAGE_GROUP_MEMORY, /* files in the page cache included */
    USAGE_GROUP_PEAK,
    N_USAGE
};

/* As events name them. */
extern const char *const usage_names[N_USAGE];

/* Whether it is a counter: it only grows, so its change matters. */
bool usage_counts(enum usage u);

/* Reads the current values; NAN where the system gives none. root: the folder with /proc and /sys;
 * "" for the system's own. */
void usage_read(const char *root, double values[N_USAGE]);

/* Pure. The number after `key` at the beginning of a line, with or without a colon between; NAN:
 * there is none. key NULL: the text is a number. */
double usage_parse(const char *text, const char *key);

#endif
