// LINK: common/err.c common/text.c common/mem.c worker/data/format/csv.c
/* Tables: whatever the bytes are, rows have as many fields as there are names, and the end comes.
 */
#include <string.h>

#include "paceline/mem.h"
#include "worker/data/format/csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(csv_release) struct csv c;
    struct err err;
    size_t bytes = 0, rows = 0;
    double value;
    int rc;

    if (csv_open(&c, data, size, "fuzz", &err))
        return 0;
    for (size_t line = c.line; (rc = csv_next(&c, &err)) != 0; rows++) {
        if (c.line <= line)
            abort();
        line = c.line;
        for (size_t i = 0; i < c.n_columns && rc > 0; i++) {
            bytes += strlen(c.fields[i]);
            (void)!csv_number(c.fields[i], &value);
        }
    }
    if (bytes > size || rows > size)
        abort();
    return 0;
}
