#include "worker/checkpoint/checkpoints.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "paceline/file.h"
#include "paceline/mem.h"

#define PREFIX "checkpoint-"
#define SUFFIX ".safetensors"
#define LEFT_SECONDS 3600

/* The step of a checkpoint's file name, or -1. */
static int64_t checkpoints_step_of(const char *name)
{
    int64_t step = -1;
    int end = 0;
    if (sscanf(name, PREFIX "%" SCNd64 "%n", &step, &end) != 1 || strcmp(name + end, SUFFIX) != 0)
        return -1;
    return step;
}

char *checkpoint_path(const char *dir, int64_t step)
{
    return xasprintf("%s/" PREFIX "%08" PRId64 SUFFIX, dir, step);
}

/* Whether name is a checkpoint under its temporary name. */
static bool is_unfinished(const char *name)
{
    return strncmp(name, PREFIX, strlen(PREFIX)) == 0 && strstr(name, SUFFIX ".tmp.");
}

/* Whether name is the temporary name of another file, and so old that no writer in this folder uses
 * it. */
static bool is_left(int folder, const char *name)
{
    static const char *const ours[] = {"best" SUFFIX ".tmp.", "model" SUFFIX ".tmp."};
    struct stat st;

    for (size_t i = 0; i < ARRAY_LEN(ours); i++)
        if (strncmp(name, ours[i], strlen(ours[i])) == 0)
            return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                   time(NULL) - st.st_mtime > LEFT_SECONDS;
    return false;
}

void checkpoints_prepare(const char *dir)
{
    DIR *d;

    mkdir(dir, 0777); /* where that is not enough, writing a checkpoint says why */
    d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (is_unfinished(e->d_name) || is_left(dirfd(d), e->d_name))
            unlinkat(dirfd(d), e->d_name, 0);
    }
    if (d)
        closedir(d);
}

int64_t checkpoints_newest(const char *dir, int64_t below)
{
    int64_t best = -1;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        int64_t step = checkpoints_step_of(e->d_name);
        if (step < below && step > best)
            best = step;
    }
    if (d)
        closedir(d);
    return best;
}

bool checkpoints_any(const char *dir) { return checkpoints_newest(dir, INT64_MAX) >= 0; }

void checkpoints_drop_old(const char *dir, int64_t step, int64_t keep)
{
    for (int64_t i = 0; i < keep && step >= 0; i++)
        step = checkpoints_newest(dir, step);
    while (step >= 0 && (step = checkpoints_newest(dir, step)) >= 0) {
        AUTO(auto_free) char *path = checkpoint_path(dir, step);
        unlink(path);
    }
}

int checkpoints_link_best(const char *dir, const char *path, struct err *err)
{
    AUTO(auto_free) char *best = xasprintf("%s/best" SUFFIX, dir);

    return file_link(path, best, err);
}
