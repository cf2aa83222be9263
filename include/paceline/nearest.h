/* The nearest valid word for a misspelt one. */
#ifndef PACELINE_NEAREST_H
#define PACELINE_NEAREST_H

#include <stddef.h>

/*
 * The one of n words with the fewest typing errors between it and word (letters inserted, left
 * out, replaced or swapped with a neighbour; case does not count); NULL when it takes more than
 * one error in three letters, or two in a short word. The result is words[i].
 */
const char *nearest(const char *word, const char *const *words, size_t n);

#endif
