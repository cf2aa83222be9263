/*
 * What somebody may have meant: words of PyTorch, Keras and TensorFlow and ours for them, and
 * fields that stand elsewhere in a job. These are suggestions only; no job is read by them.
 */
#ifndef PACELINE_SUGGEST_H
#define PACELINE_SUGGEST_H

#include <stdbool.h>

#include "paceline/buf.h"

struct field;

/*
 * Appends "did you mean spec.training.epochs?", or another hint, for a key that the object at
 * prefix (a path of the table that ends in a dot, or "") does not have. False: nothing comes to
 * mind.
 */
bool suggest_field(const char *prefix, const char *key, struct buf *out);

/* The same for a word that the field does not allow. */
bool suggest_value(const struct field *f, const char *word, struct buf *out);

/*
 * Appends, in parentheses, what there is instead of a field that does not go with the word that its
 * selector has, as adam has beta1 instead of momentum. Nothing where nothing is known.
 */
void suggest_instead(const struct field *f, const char *selected, struct buf *out);

/* The path of the field that a word alone may mean, as that of an option; NULL: none. */
const char *suggest_path(const char *word);

/*
 * The i-th of our words in the tables, and where it belongs: a field whose word it is, or the
 * object (with a dot at its end, or "") of which it is a key or the path. False after the last.
 */
bool suggest_alias(size_t i, const char **where, const char **ours);

#endif
