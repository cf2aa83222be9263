/*
 * Tables as text (RFC 4180): a row of column names, then rows of as many fields. Fields are
 * separated by commas, semicolons or tabs, whichever comes first in the row of names. A field in
 * double quotes may contain separators and line ends; a quote in it is written twice. Lines end
 * with LF or CRLF. A byte-order mark and empty lines are skipped.
 */
#ifndef PACELINE_CSV_H
#define PACELINE_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "paceline/err.h"

#define CSV_MAX_COLUMNS (1 << 20)
#define CSV_MAX_ROW (16 << 20) /* bytes */

struct csv {
    const char *name; /* for messages; the caller's */
    char separator;
    size_t n_columns;
    const char **columns; /* [n_columns] names */
    const char **fields;  /* [n_columns] of the last row; valid until the next call */
    size_t line;          /* where that row begins in the file, from 1 */
    /* Private: */
    const char *at, *end; /* what is left */
    size_t next_line;
    char *names, *text; /* what columns and fields point into */
    size_t room;        /* of text */
};

/*
 * Reads the names; bytes and name must outlive c. ERR_DAMAGED: there is no row, or the first row
 * has only numbers, or csv_next would refuse it. On failure *c is empty.
 */
MUST_CHECK int csv_open(struct csv *c, const uint8_t *bytes, size_t len, const char *name,
                        struct err *err);
void csv_release(struct csv *c); /* also fit for AUTO */

/*
 * The next row: 1, or 0 after the last one. -1 (ERR_DAMAGED): the row is too long, has another
 * number of fields, a byte 0, an unmatched quote, or text after a closing quote; the message names
 * the file and the line, and the next call returns the row after it.
 */
MUST_CHECK int csv_next(struct csv *c, struct err *err);

/* Whether the field is a finite decimal number, ignoring spaces around it; *value is the number. */
bool csv_number(const char *field, double *value);

/* What a field has to be: a number of this kind, from min to max. */
struct csv_need {
    bool whole;
    double min, max;
    const char *needed; /* in words */
};
/* A number that a float can be; a byte of an image. */
extern const struct csv_need csv_float, csv_byte;

/* The number in a column of the last row. ERR_DAMAGED: it is no such number; the message names
 * the file, the line and the column. */
MUST_CHECK int csv_value(const struct csv *c, size_t column, const struct csv_need *need,
                         double *value, struct err *err);

#endif
