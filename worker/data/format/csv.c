#include "worker/data/format/csv.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "paceline/mem.h"

#define BYTE_ORDER_MARK "\xef\xbb\xbf"
#define NUMBER_MAX 64 /* characters */
#define CSV_SHOWN 40  /* characters of a name or field that are repeated */

static const char *bound(const char *p, const char *end)
{
    return end - p > CSV_MAX_ROW ? p + CSV_MAX_ROW : end;
}

/* Finds the end of the row at c->at: its line end, or the end of the file. Returns NULL if the row
 * is too long; c->at is then after its line. */
static const char *row_end(struct csv *c)
{
    const char *most = bound(c->at, c->end);
    bool quoted = false, begins = true; /* a quote elsewhere in a field is a character */

    for (const char *p = c->at; p < most; p++) {
        if (*p == '\n' && !quoted)
            return p;
        c->next_line += *p == '\n';
        if (quoted && *p == '"' && p + 1 < c->end && p[1] == '"')
            p++;
        else if (*p == '"' && (quoted || begins))
            quoted = !quoted;
        begins = !quoted && *p == c->separator;
    }
    if (most == c->end)
        return most;
    const char *line = memchr(most, '\n', (size_t)(c->end - most));
    c->next_line += line != NULL;
    c->at = line ? line + 1 : c->end;
    return NULL;
}

/* Copies a quoted field without its quotes; p is after the first quote. Returns NULL if no quote
 * closes it. */
static const char *copy_quoted(const char *p, const char *end, char **to)
{
    for (; p < end; p++) {
        if (*p == '"' && (p + 1 == end || p[1] != '"'))
            return p + 1;
        p += *p == '"';
        *(*to)++ = *p;
    }
    return NULL;
}

/* Where the next of the separators is, or the end. */
static const char *find_separator(const char *p, const char *end, char separator)
{
    const char *found = p < end ? memchr(p, separator, (size_t)(end - p)) : NULL;

    return found ? found : end;
}

/* Splits a row into NUL-terminated fields and stores at most `most` of them. Returns the number of
 * all fields, or -1 for a misplaced quote. */
static int64_t split_row(const char *p, const char *end, char separator, char *to,
                         const char **fields, size_t most)
{
    for (int64_t n = 0;;) {
        const char *begin = to;

        if (p < end && *p == '"') {
            p = copy_quoted(p + 1, end, &to);
            if (!p || (p < end && *p != separator))
                return -1;
        } else {
            const char *stop = find_separator(p, end, separator);

            memcpy(to, p, (size_t)(stop - p));
            to += stop - p;
            p = stop;
        }
        *to++ = '\0';
        if ((size_t)n < most)
            fields[n] = begin;
        n++;
        if (p == end)
            return n;
        p++;
    }
}

/* Makes room for a row of len bytes: the NUL of each field takes the place of a separator or of the
 * row's end. */
static void csv_make_room(struct csv *c, size_t len)
{
    const size_t need = len + 1;

    if (need <= c->room)
        return;
    c->text = xrealloc(c->text, need);
    c->room = need;
}

/* Finds the next row that is not empty, without its line end. Returns 1, or 0 if there is none. */
static int csv_take_row(struct csv *c, const char **row, const char **end, struct err *err)
{
    for (;;) {
        if (c->at == c->end)
            return 0;
        c->line = c->next_line;
        *end = row_end(c);
        if (!*end)
            return err_set(err, ERR_DAMAGED, "%s:%zu: a row of more than %d bytes", c->name,
                           c->line, CSV_MAX_ROW);
        *row = c->at;
        c->at = *end < c->end ? *end + 1 : c->end;
        c->next_line += *end < c->end;
        if (*end > *row && (*end)[-1] == '\r')
            --*end;
        if (*end == *row)
            continue;
        if (memchr(*row, 0, (size_t)(*end - *row)))
            return err_set(err, ERR_DAMAGED, "%s:%zu: found a byte 0; allowed: text", c->name,
                           c->line);
        return 1;
    }
}

static int bad_quote(const struct csv *c, struct err *err)
{
    return err_set(err, ERR_DAMAGED,
                   "%s:%zu: a quote that does not begin or end a field; needed: \"...\", with each "
                   "quote in it written twice",
                   c->name, c->line);
}

/* The first separator of the first row; without one there is one column. */
static char csv_find_kind(const char *p, const char *end)
{
    bool quoted = false;

    while (p < end && (*p == '\r' || *p == '\n'))
        p++;
    for (end = bound(p, end); p < end && (quoted || *p != '\n'); p++) {
        if (*p == '"')
            quoted = !quoted;
        if (!quoted && (*p == ',' || *p == ';' || *p == '\t'))
            return *p;
    }
    return ',';
}

/* If all names are numbers, the table has no row of names. */
static int check_names(const struct csv *c, struct err *err)
{
    double value;

    for (size_t i = 0; i < c->n_columns; i++)
        if (!csv_number(c->columns[i], &value))
            return 0;
    return err_set(err, ERR_DAMAGED,
                   "%s:%zu: found a row of numbers; needed: the names of the columns, as the first "
                   "row",
                   c->name, c->line);
}

static int csv_read_names(struct csv *c, struct err *err)
{
    const char *row = c->at, *end = c->at;

    c->separator = csv_find_kind(c->at, c->end);
    const int found = csv_take_row(c, &row, &end, err);
    if (found < 0)
        return -1;
    if (!found)
        return err_set(err, ERR_DAMAGED, "%s: an empty file; needed: a row of column names",
                       c->name);
    c->names = xmalloc((size_t)(end - row) + 1);
    int64_t n = split_row(row, end, c->separator, c->names, NULL, 0);
    if (n < 0)
        return bad_quote(c, err);
    if (n > CSV_MAX_COLUMNS)
        return err_set(err, ERR_DAMAGED, "%s:%zu: %lld columns; at most %d are allowed", c->name,
                       c->line, (long long)n, CSV_MAX_COLUMNS);
    c->n_columns = (size_t)n;
    c->columns = xcalloc(c->n_columns, sizeof *c->columns);
    c->fields = xcalloc(c->n_columns, sizeof *c->fields);
    split_row(row, end, c->separator, c->names, c->columns, c->n_columns);
    return check_names(c, err);
}

int csv_open(struct csv *c, const uint8_t *bytes, size_t len, const char *name, struct err *err)
{
    const char *text = (const char *)bytes;
    const size_t mark = strlen(BYTE_ORDER_MARK);

    *c = (struct csv){.name = name, .at = text, .end = text + len, .next_line = 1};
    if (len >= mark && memcmp(text, BYTE_ORDER_MARK, mark) == 0)
        c->at += mark;
    if (csv_read_names(c, err) == 0)
        return 0;
    csv_release(c);
    return -1;
}

void csv_release(struct csv *c)
{
    free(c->columns);
    free(c->fields);
    free(c->names);
    free(c->text);
    *c = (struct csv){0};
}

int csv_next(struct csv *c, struct err *err)
{
    const char *row = c->at, *end = c->at;
    const int found = csv_take_row(c, &row, &end, err);

    if (found <= 0)
        return found;
    csv_make_room(c, (size_t)(end - row));
    int64_t n = split_row(row, end, c->separator, c->text, c->fields, c->n_columns);
    if (n < 0)
        return bad_quote(c, err);
    if ((size_t)n != c->n_columns)
        return err_set(err, ERR_DAMAGED, "%s:%zu: found %lld field%s; the header has %zu columns",
                       c->name, c->line, (long long)n, n == 1 ? "" : "s", c->n_columns);
    return 1;
}

bool csv_number(const char *field, double *value)
{
    char text[NUMBER_MAX + 1];
    const size_t before = strspn(field, " ");
    size_t len = strlen(field + before);
    char *end;

    while (len && field[before + len - 1] == ' ')
        len--;
    if (!len || len > NUMBER_MAX)
        return false;
    memcpy(text, field + before, len);
    text[len] = '\0';
    if (strspn(text, "0123456789+-.eE") != len) /* strtod takes "nan" and "0x1" too */
        return false;
    *value = strtod(text, &end);
    return *end == '\0' && isfinite(*value);
}

const struct csv_need csv_float = {.min = -FLT_MAX, .max = FLT_MAX, .needed = "a number"};
const struct csv_need csv_byte = {
    .whole = true, .max = 255, .needed = "a whole number from 0 to 255, as of an image"};

int csv_value(const struct csv *c, size_t column, const struct csv_need *need, double *value,
              struct err *err)
{
    if (csv_number(c->fields[column], value) && *value >= need->min && *value <= need->max &&
        (!need->whole || *value == floor(*value)))
        return 0;
    return err_set(err, ERR_DAMAGED, "%s:%zu: column %.*s: found \"%.*s\"; needed: %s", c->name,
                   c->line, CSV_SHOWN, c->columns[column], CSV_SHOWN, c->fields[column],
                   need->needed);
}
