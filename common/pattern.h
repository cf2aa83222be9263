/* The patterns of the table of fields: POSIX extended, anchored at both ends. */
#ifndef PACELINE_PATTERN_H
#define PACELINE_PATTERN_H

#include <stdbool.h>

/* Whether the text fits the pattern, which must live as long as the program. False for a text that
 * is no pattern. Safe on any thread. */
bool pattern_matches(const char *pattern, const char *text);

#endif
