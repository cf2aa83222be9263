#include "cli/run/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paceline/mem.h"

#define CHECKPOINT_SUFFIX ".safetensors"
#define OLD_MAX 100000

static bool folder_ends_with(const char *s, const char *suffix)
{
    size_t n = strlen(s), m = strlen(suffix);

    return n > m && strcmp(s + n - m, suffix) == 0;
}

static bool later(struct timespec a, struct timespec b)
{
    return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

char *folder_newest_checkpoint(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    struct timespec newest = {0};
    char *found = NULL;

    while (dir && (entry = readdir(dir))) {
        struct stat st;

        if (!folder_ends_with(entry->d_name, CHECKPOINT_SUFFIX) ||
            fstatat(dirfd(dir), entry->d_name, &st, 0) < 0 || !S_ISREG(st.st_mode))
            continue;
        if (found && !later(st.st_mtim, newest))
            continue;
        newest = st.st_mtim;
        free(found);
        found = xasprintf("%s/%s", path, entry->d_name);
    }
    if (dir)
        closedir(dir);
    return found;
}

/* *made: the first folder that did not exist, which the caller frees; NULL if all existed. */
static int folder_make_path(const char *path, char **made, struct err *err)
{
    AUTO(auto_free) char *part = xstrdup(path);

    for (char *c = part + 1;; c++) {
        char end = *c;

        if (end != '/' && end != '\0')
            continue;
        *c = '\0';
        if (mkdir(part, 0777) == 0) {
            if (!*made)
                *made = xstrdup(part);
        } else if (errno != EEXIST) {
            return err_set(err, ERR_IO, "cannot make the folder %.300s: %s", part, strerror(errno));
        }
        if (end == '\0')
            return 0;
        *c = end;
    }
}

int folder_make(const char *path, struct err *err)
{
    AUTO(auto_free) char *made = NULL;

    return folder_make_path(path, &made, err);
}

static int folder_make_and_lock(struct folder *f, struct err *err)
{
    if (folder_make_path(f->path, &f->made, err) < 0)
        return -1;
    f->lock = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (f->lock < 0)
        return err_set(err, ERR_IO, "cannot open the folder %.300s: %s", f->path, strerror(errno));
    if (flock(f->lock, LOCK_EX | LOCK_NB) == 0)
        return 0;
    return err_set(err, ERR_CONFLICT, "%.300s is in use by another run; give this one --out DIR",
                   f->path);
}

/* To the first free path.N, under the lock of the folder that moves. */
static int move_aside(struct folder *f, struct err *err)
{
    for (int i = 1; i < OLD_MAX; i++) {
        AUTO(auto_free) char *to = xasprintf("%s.%d", f->path, i);

        if (access(to, F_OK) == 0)
            continue;
        if (rename(f->path, to) < 0)
            return err_set(err, ERR_IO, "cannot move %.200s to %.200s: %s", f->path, to,
                           strerror(errno));
        f->moved_to = STEAL(to);
        return 0;
    }
    return err_set(err, ERR_IO, "%.300s: %d older runs are beside it; remove some", f->path,
                   OLD_MAX);
}

int folder_take(struct folder *f, const char *path, bool keep, struct err *err)
{
    AUTO(auto_free) char *checkpoint = NULL;
    size_t n = strlen(path);

    while (n > 1 && path[n - 1] == '/')
        n--;
    *f = (struct folder){.path = xasprintf("%.*s", (int)n, path), .lock = -1};
    if (folder_make_and_lock(f, err) < 0)
        return -1;
    checkpoint = folder_newest_checkpoint(f->path);
    if (!checkpoint || keep)
        return 0;
    if (move_aside(f, err) < 0)
        return -1;
    close(f->lock);
    return folder_make_and_lock(f, err);
}

void folder_give_back(struct folder *f)
{
    AUTO(auto_free) char *part = xstrdup(f->path);

    while (f->made && rmdir(part) == 0 && strcmp(part, f->made) != 0)
        *strrchr(part, '/') = '\0';
    if (f->moved_to && access(f->path, F_OK) < 0 && rename(f->moved_to, f->path) == 0) {
        free(f->moved_to);
        f->moved_to = NULL;
    }
}

void folder_release(struct folder *f)
{
    auto_close(&f->lock);
    free(f->path);
    free(f->moved_to);
    free(f->made);
    *f = (struct folder){.lock = -1};
}

char *folder_file(const struct folder *f, const char *name)
{
    return xasprintf("%s/%s", f->path, name);
}
