#include "agent/mpi_folder.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>

#include "paceline/file.h"
#include "paceline/mem.h"

/* An entry that cannot be removed stays, and so do the folders above it. */
static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    remove(path);
    return 0;
}

void mpi_folder_remove(const char *folder)
{
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

void mpi_folder_sweep(const char *scratch)
{
    DIR *dir = opendir(scratch);

    for (const struct dirent *e; dir && (e = readdir(dir));) {
        AUTO(auto_free) char *path = xasprintf("%s/%s", scratch, e->d_name);

        if (strspn(e->d_name, "0123456789") == strlen(e->d_name))
            mpi_folder_remove(path);
    }
    if (dir)
        closedir(dir);
}

/* Makes the folder and those above it. */
static int mpi_folder_make_folders(const char *path, struct err *err)
{
    AUTO(auto_free) char *part = xstrdup(path);

    for (char *slash = strchr(part + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash)
            *slash = '\0';
        if (mkdir(part, 0700) < 0 && errno != EEXIST)
            return err_set(err, ERR_IO, "cannot make the folder %s: %s", part, strerror(errno));
        if (!slash)
            return 0;
        *slash = '/';
    }
}

int mpi_folder_make(char **folder, const char *scratch, long long generation, const cJSON *job,
                    struct err *err)
{
    AUTO(auto_free) char *path = xasprintf("%s/%lld", scratch, generation);
    AUTO(auto_free) char *file = xasprintf("%s/job.yaml", path);
    AUTO(buf_release) struct buf text;

    buf_init(&text, 0);
    json_print(job, 0, &text);
    mpi_folder_remove(path);
    if (mpi_folder_make_folders(path, err) < 0 ||
        file_write_atomic(file, text.data, text.len, err) < 0)
        return -1;
    *folder = STEAL(path);
    return 0;
}
