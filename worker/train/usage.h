/* What the operating system says of this process and of its control groups (versions 1 and 2). In a
 * pod that is its container; elsewhere the groups may hold other processes, too. */
#ifndef PACELINE_USAGE_H
#define PACELINE_USAGE_H

#include <stdbool.h>

enum usage {
    USAGE_USER, /* CPU seconds of all threads */
    USAGE_SYSTEM,
    USAGE_MEMORY, /* bytes that are resident */
    USAGE_PEAK,
    USAGE_GROUP_USER,
    USAGE_GROUP_SYSTEM,
    USAGE_GROUP_MEMORY, /* files in the page cache included */
    USAGE_GROUP_PEAK,
    N_USAGE
};

/* As events name them. */
extern const char *const usage_names[N_USAGE];

/* Whether it only grows, so that what counts is its change. */
bool usage_counts(enum usage u);

/* What it is now; NAN: the system does not say. root: where /proc and /sys are found; "" is the
 * system's own. */
void usage_read(const char *root, double values[N_USAGE]);

/* Pure. The number after `key` at the beginning of a line, with or without a colon between; NAN:
 * there is none. key NULL: the text is a number. */
double usage_parse(const char *text, const char *key);

#endif
