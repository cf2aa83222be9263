/*
 * The one table of the fields of a TrainingJob's status, with rows like those of its spec
 * (common/spec_table.h). Reading, writing, comparing, copying and the CRD's schema are loops over
 * it.
 *
 * Offsets are into struct tj_status; those of a path with "[]" are into an element of its list. A
 * row without an offset, such as status.state, is computed when status is written (status_json.c).
 */
#ifndef PACELINE_OPERATOR_API_STATUS_TABLE_H
#define PACELINE_OPERATOR_API_STATUS_TABLE_H

#include "common/spec_table.h"

/* An object or a list comes before its fields; the first row is status itself. */
extern const struct field status_fields[];
extern const size_t n_status_fields;

/* Whether f is a field of the object or the list above, or of one in it. */
bool status_field_is_below(const struct field *f, const struct field *above);
/* The row after f and all that is below it. */
const struct field *status_field_end(const struct field *f);
/* The row after f; fields of objects are rows like others, those of a list's elements are not. */
const struct field *status_field_next(const struct field *f);

/* Whether the field is zero, which an absent field reads as. base is a status, or an element of a
 * list. */
bool status_field_is_zero(const struct field *f, const void *base);

#endif
