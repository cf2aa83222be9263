#include "worker/threads/cgroup.h"

#include <string.h>

#include "paceline/buf.h"
#include "paceline/mem.h"

/* Whether a list "cpu,cpuacct" of n bytes names it; the empty list is version 2's. */
static bool names(const char *list, size_t n, const char *controller)
{
    const size_t want = strlen(controller);

    if (!want || !n)
        return !want && !n;
    for (const char *end = list + n;;) {
        const char *comma = memchr(list, ',', (size_t)(end - list));
        const size_t length = (size_t)((comma ? comma : end) - list);

        if (length == want && memcmp(list, controller, want) == 0)
            return true;
        if (!comma)
            return false;
        list = comma + 1;
    }
}

bool cgroup_find(const char *text, const char *controller, char path[CGROUP_PATH_MAX])
{
    while (*text) { /* number:controllers:path */
        const size_t n = strcspn(text, "\n");
        const char *list = memchr(text, ':', n), *colon = NULL;

        if (list++)
            colon = memchr(list, ':', (size_t)(text + n - list));
        if (colon && names(list, (size_t)(colon - list), controller)) {
            const size_t length = (size_t)(text + n - (colon + 1));

            if (length >= CGROUP_PATH_MAX)
                return false;
            memcpy(path, colon + 1, length);
            path[length] = '\0';
            return true;
        }
        text += n + (text[n] == '\n');
    }
    return false;
}

char *cgroup_folder(const char *root, const char *controller, size_t *top)
{
    AUTO(auto_free) char *file = xasprintf("%s/proc/self/cgroup", root);
    AUTO(auto_free)
    char *mount = xasprintf("%s/sys/fs/cgroup%s%s", root, *controller ? "/" : "", controller);
    AUTO(buf_release) struct buf text = {0};
    char path[CGROUP_PATH_MAX];
    struct err err;

    if (buf_read_file(&text, file, CGROUP_TEXT_MAX, &err) != 0 || !text.data ||
        !cgroup_find(text.data, controller, path))
        return NULL;
    *top = strlen(mount);
    return xasprintf("%s%s%s", mount, *path == '/' ? "" : "/", path);
}

bool cgroup_up(char *folder, size_t top)
{
    char *slash = strrchr(folder, '/');

    if (!slash || slash < folder + top)
        return false;
    *slash = '\0';
    return true;
}
