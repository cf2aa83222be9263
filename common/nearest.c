#include "paceline/nearest.h"

#include <ctype.h>

#define MAX_WORD 64

static int min(int a, int b) { return a < b ? a : b; }

/* Optimal string alignment distance over three rows; longer words are cut. */
static int nearest_distance(const char *a, const char *b)
{
    int rows[3][MAX_WORD + 1];
    int n = (int)strnlen(a, MAX_WORD), m = (int)strnlen(b, MAX_WORD);

    for (int j = 0; j <= m; j++)
        rows[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *row = rows[i % 3];
        const int *above = rows[(i - 1) % 3], *swapped = rows[(i + 1) % 3];

        row[0] = i;
        for (int j = 1; j <= m; j++) {
            int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);

            row[j] = min(min(above[j], row[j - 1]) + 1, above[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
                y == tolower((unsigned char)a[i - 2]))
                row[j] = min(row[j], swapped[j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

const char *nearest(const char *word, const char *const *words, size_t n)
{
    int len = (int)strnlen(word, MAX_WORD);
    int best = (len < 4 ? 1 : len < 6 ? 2 : len / 3) + 1;
    const char *found = NULL;

    for (size_t i = 0; i < n; i++) {
        int d = nearest_distance(word, words[i]);

        if (d < best && d < len &&
            d < (int)strlen(words[i])) { /* otherwise no letter of the word is left */
            best = d;
            found = words[i];
        }
    }
    return found;
}
