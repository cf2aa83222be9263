#include "cli/data/sha256sums.h"

#include <string.h>

#include "cli/data/checksum.h"
#include "cli/data/tar.h"
#include "paceline/mem.h"

#define MAX_BYTES (16 << 20)
#define SUM_LEN 64
#define HEAD "# %s, fetched by paceline\n"

void sha256sums_begin(struct buf *b, const char *what)
{
    buf_init(b, MAX_BYTES);
    buf_printf(b, HEAD, what);
}

void sha256sums_add(struct buf *b, const char *path, const char *sha256)
{
    buf_printf(b, "%s  %s\n", sha256, path);
}

/* One line, without its end: the sum, two spaces, the path. */
static int check_line(const char *folder, char *line, const char *sums, struct err *err)
{
    AUTO(auto_free) char *path = NULL;
    struct checksum_text found;
    size_t n = strlen(line);

    if (n < SUM_LEN + 3 || memcmp(line + SUM_LEN, "  ", 2) != 0 ||
        !tar_path_is_safe(line + SUM_LEN + 2))
        return err_set(err, ERR_DAMAGED, "%s: a line is not a checksum and a path: \"%.100s\"",
                       sums, line);
    line[SUM_LEN] = '\0';
    path = xasprintf("%s/%s", folder, line + SUM_LEN + 2);
    if (checksum_file(&found, CHECKSUM_SHA256, path, err) < 0)
        return -1;
    if (strcmp(found.s, line) != 0)
        return err_set(err, ERR_DAMAGED, "%s: it has changed: %s says otherwise", path, sums);
    return 0;
}

int sha256sums_check(const char *folder, const char *what, struct err *err)
{
    AUTO(auto_free) char *sums = xasprintf("%s/%s", folder, SHA256SUMS_FILE);
    AUTO(auto_free) char *head = xasprintf(HEAD, what);
    AUTO(buf_release) struct buf text = {0};
    char *line, *end;

    if (buf_read_file(&text, sums, MAX_BYTES, err) < 0)
        return -1;
    if (strncmp(text.data, head, strlen(head)) != 0)
        return err_set(err, ERR_CONFLICT, "%s: the folder is not of %s", sums, what);
    for (line = text.data + strlen(head); *line; line = end + 1) {
        end = strchr(line, '\n');
        if (!end)
            return err_set(err, ERR_DAMAGED, "%s: it is cut short", sums);
        *end = '\0';
        if (check_line(folder, line, sums, err) < 0)
            return -1;
    }
    return 0;
}
