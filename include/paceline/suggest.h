/*
 * Suggestions for misspelt and misplaced words: the names that PyTorch, Keras and TensorFlow use,
 * with ours for them, and fields that belong elsewhere in a job. They appear in messages only; the
 * parser does not accept them.
 */
#ifndef PACELINE_SUGGEST_H
#define PACELINE_SUGGEST_H

#include <stdbool.h>

#include "paceline/buf.h"

struct field;

/*
 * Appends "did you mean spec.training.epochs?", or another hint, for a key that the object at
 * prefix does not have. prefix is a path of the table that ends in a dot, or "". Returns false if
 * there is no suggestion.
 */
bool suggest_field(const char *prefix, const char *key, struct buf *out);

/* The same for a value that the field does not allow. */
bool suggest_value(const struct field *f, const char *word, struct buf *out);

/*
 * For a field that does not apply to its selector's value, appends the field that does, in
 * parentheses: adam has beta1 instead of momentum. Appends nothing if none is known.
 */
void suggest_instead(const struct field *f, const char *selected, struct buf *out);

/* The path of the field that a single word, such as the name of an option, may mean; or NULL. */
const char *suggest_path(const char *word);

/*
 * The i-th of our words in the tables. *where is the field that has this value, or, ending in a dot
 * or empty, the object that has this key. Returns false after the last.
 */
bool suggest_alias(size_t i, const char **where, const char **ours);

#endif
