#include "cli/report/table.h"

#include <string.h>

#include "paceline/mem.h"
#include "paceline/text.h"

void table_init(struct text_table *t, const char *const *head)
{
    *t = (struct text_table){.head = head};
    while (t->n_columns < TABLE_COLUMNS && head[t->n_columns])
        t->n_columns++;
}

void table_release(struct text_table *t)
{
    for (size_t i = 0; i < t->n_cells; i++)
        free(t->cells[i]);
    free(t->cells);
    *t = (struct text_table){0};
}

void table_cell(struct text_table *t, const char *text)
{
    const size_t room = 4 * strlen(text) + 1;
    char *shown = xmalloc(room);

    text_escape(shown, room, text);
    t->cells = xrealloc(t->cells, (t->n_cells + 1) * sizeof *t->cells);
    t->cells[t->n_cells++] = shown;
}

int text_columns(const char *text)
{
    int n = 0;

    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static void table_print_cell(FILE *out, const char *text, int width, int right, int last)
{
    int pad = width - text_columns(text);

    if (right)
        fprintf(out, "%*s%s", pad, "", text);
    else
        fprintf(out, "%s%*s", text, last ? 0 : pad, "");
    fputs(last ? "\n" : "  ", out);
}

void table_print(const struct text_table *t, FILE *out)
{
    int width[TABLE_COLUMNS] = {0}, right[TABLE_COLUMNS] = {0};

    for (size_t c = 0; c < t->n_columns; c++) {
        right[c] = t->head[c][0] == '-';
        width[c] = text_columns(t->head[c] + right[c]);
        for (size_t i = c; i < t->n_cells; i += t->n_columns)
            if (text_columns(t->cells[i]) > width[c])
                width[c] = text_columns(t->cells[i]);
    }
    for (size_t c = 0; c < t->n_columns; c++)
        table_print_cell(out, t->head[c] + right[c], width[c], right[c], c + 1 == t->n_columns);
    for (size_t row = 0; row < t->n_cells; row += t->n_columns)
        for (size_t c = 0; c < t->n_columns; c++)
            table_print_cell(out, t->cells[row + c], width[c], right[c], c + 1 == t->n_columns);
}
