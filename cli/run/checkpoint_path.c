#include "cli/run/checkpoint_path.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paceline/mem.h"
#include "worker/checkpoint/checkpoints.h"

static char *if_exists(char *path)
{
    if (access(path, F_OK) == 0)
        return path;
    free(path);
    return NULL;
}

static char *find_in(const char *folder, struct err *err)
{
    const int64_t newest = checkpoints_newest(folder, INT64_MAX);
    char *path = if_exists(xasprintf("%s/best.safetensors", folder));

    if (!path && newest >= 0)
        path = checkpoint_path(folder, newest);
    if (!path)
        path = if_exists(xasprintf("%s/model.safetensors", folder));
    if (!path)
        err_set(err, ERR_NOT_FOUND,
                "%s: no checkpoint in this folder; a run leaves best.safetensors or "
                "checkpoint-<step>.safetensors in its own, by default runs/<job name>",
                folder);
    return path;
}

/* Refuses a job or another file of a run, which is easily mistaken for the checkpoint beside it. */
static int check_kind(const char *path, struct err *err)
{
    static const char *const others[] = {".json", ".jsonl", ".html", ".yaml", ".yml"};
    const char *dot = strrchr(path, '.');

    for (size_t i = 0; i < ARRAY_LEN(others) && dot; i++)
        if (strcmp(dot, others[i]) == 0)
            return err_set(err, ERR_INVALID,
                           "%s: not a checkpoint; needed: a .safetensors file, or the folder of a "
                           "run",
                           path);
    return 0;
}

char *checkpoint_path_find(const char *given, struct err *err)
{
    const size_t len = strlen(given);
    struct stat st;

    if (stat(given, &st)) {
        err_set(err, errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND : ERR_IO, "%s: %s", given,
                strerror(errno));
        return NULL;
    }
    if (S_ISDIR(st.st_mode)) {
        AUTO(auto_free)
        char *folder = xasprintf("%.*s", (int)(len - (len > 1 && given[len - 1] == '/')), given);
        return find_in(folder, err);
    }
    return check_kind(given, err) ? NULL : xstrdup(given);
}
