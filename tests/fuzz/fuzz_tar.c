// LINK: cli/data/tar.c common/err.c common/text.c common/mem.c
/* Tar archives: every path that comes out is safe, no entry has more bytes than it says. */
#include <stdio.h>
#include <string.h>

#include "cli/data/tar.h"
#include "paceline/mem.h"

#define MOST 100000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct tar_source {
    const uint8_t *bytes;
    size_t left;
};

static int64_t read_source(void *arg, void *bytes, size_t n, struct err *err)
{
    struct tar_source *s = arg;

    (void)err;
    n = n < s->left ? n : s->left;
    memcpy(bytes, s->bytes, n);
    s->bytes += n;
    s->left -= n;
    return (int64_t)n;
}

/* Not as tar_path_is_safe() says it: "a../b" is a path below a folder, "a/../b" is a way up. */
static bool climbs(const char *path)
{
    char whole[TAR_MAX_PATH + 3];

    snprintf(whole, sizeof whole, "/%s/", path);
    return path[0] == '/' || strstr(whole, "/../");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tar_source source = {data, size};
    struct tar tar;
    struct err err;
    bool more;

    tar_open(&tar, read_source, &source, "fuzz", MOST);
    while (tar_next(&tar, &more, &err) == 0 && more) {
        uint8_t chunk[777];
        uint64_t total = 0;
        int64_t n;

        if (!tar_path_is_safe(tar.path) && !(tar.folder && !*tar.path))
            abort();
        if (climbs(tar.path))
            abort();
        if (tar.size % 2) /* half of the entries are skipped */
            continue;
        while ((n = tar_data(&tar, chunk, sizeof chunk, &err)) > 0)
            total += (uint64_t)n;
        if (n < 0)
            break;
        if (total != tar.size)
            abort();
    }
    if (tar.total > MOST + sizeof(uint8_t[4096]))
        abort();
    return 0;
}
