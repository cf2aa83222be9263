/* A folder for a test's files: made under $TMPDIR or /tmp, removed with all it holds. */
#ifndef PACELINE_TEST_SCRATCH_H
#define PACELINE_TEST_SCRATCH_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paceline/mem.h"

/* The caller owns the path. */
static inline char *scratch_make(void)
{
    const char *tmp = getenv("TMPDIR");
    char *path = xasprintf("%s/paceline-test-XXXXXX", tmp && *tmp ? tmp : "/tmp");

    if (!mkdtemp(path)) {
        perror(path);
        exit(1);
    }
    return path;
}

static inline int scratch_unlink(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static inline void scratch_remove(char *path)
{
    nftw(path, scratch_unlink, 8, FTW_DEPTH | FTW_PHYS);
    free(path);
}

static inline void scratch_write(const char *folder, const char *name, const void *bytes, size_t n)
{
    AUTO(auto_free) char *path = xasprintf("%s/%s", folder, name);
    FILE *f = fopen(path, "wb");

    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f)) {
        perror(path);
        exit(1);
    }
}

/* A text below root at a path of several folders, which are made. */
static inline void scratch_put(const char *root, const char *path, const char *text)
{
    AUTO(auto_free) char *folder = xasprintf("%s%s", root, path);

    for (char *slash = folder + strlen(root); (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        mkdir(folder, 0777);
        *slash = '/';
    }
    *strrchr(folder, '/') = '\0';
    scratch_write(folder, strrchr(path, '/') + 1, text, strlen(text));
}

#endif
