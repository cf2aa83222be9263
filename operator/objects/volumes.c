#include "operator/objects/volumes.h"

#include <string.h>

#include "operator/objects/tree.h"

cJSON *volumes_get(cJSON *spec, const char *name)
{
    cJSON *list = tree_list(spec, "volumes");
    cJSON *volume = tree_find(list, "name", name);

    if (!volume) {
        volume = cJSON_CreateObject();
        cJSON_AddStringToObject(volume, "name", name);
        cJSON_AddItemToArray(list, volume);
    }
    return volume;
}

/* "/tmp/" is "/tmp". */
static bool same_path(const char *a, const char *b)
{
    size_t n = strlen(a);

    while (n > 1 && a[n - 1] == '/')
        n--;
    return strlen(b) == n && memcmp(a, b, n) == 0;
}

bool volumes_mount(cJSON *container, const char *volume, const char *path, bool read_only)
{
    cJSON *mounts = tree_list(container, "volumeMounts"), *mount;

    for (const cJSON *m = mounts->child; m; m = m->next) {
        const char *at = tree_text(m, "mountPath");

        if (at && same_path(at, path))
            return false;
    }
    mount = cJSON_CreateObject();
    cJSON_AddStringToObject(mount, "name", volume);
    cJSON_AddStringToObject(mount, "mountPath", path);
    if (read_only)
        cJSON_AddTrueToObject(mount, "readOnly");
    cJSON_AddItemToArray(mounts, mount);
    return true;
}

void volumes_mount_empty(cJSON *spec, cJSON *container, const char *volume, const char *path)
{
    if (volumes_mount(container, volume, path, false))
        tree_object(volumes_get(spec, volume), "emptyDir");
}
