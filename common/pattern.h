/* The patterns of the table of fields: POSIX extended, anchored at both ends. */
#ifndef PACELINE_PATTERN_H
#define PACELINE_PATTERN_H

#include <stdbool.h>

/* Whether the text matches the pattern. The pattern must live as long as the program; one that is
 * not valid matches nothing. Safe on any thread. */
bool pattern_matches(const char *pattern, const char *text);

#endif
