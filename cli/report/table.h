/* A table of text, columns as wide as their longest cell. Owns its cells. */
#ifndef PACELINE_CLI_TABLE_H
#define PACELINE_CLI_TABLE_H

#include <stddef.h>
#include <stdio.h>

#define TABLE_COLUMNS 12

struct text_table {
    const char *const *head; /* one title per column, NULL-terminated; "-name": right-aligned */
    char **cells;
    size_t n_columns, n_cells;
};

/* head: at most TABLE_COLUMNS titles, NULL-terminated; the caller's, and must outlive t. */
void table_init(struct text_table *t, const char *const *head);
void table_release(struct text_table *t); /* also fit for AUTO */
void table_cell(struct text_table *t, const char *text);
void table_print(const struct text_table *t, FILE *out);

/* Columns that text takes on a terminal: UTF-8 characters, each taken as one column. */
int text_columns(const char *text);

#endif
