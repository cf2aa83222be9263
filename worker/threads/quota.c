/*
 * A group's quota binds its children too, so every group from ours up to the root counts. Inside a
 * container /proc/self/cgroup may name a path that only the host has; the groups that are there are
 * taken.
 */
#include "worker/threads/quota.h"

#include <stdio.h>
#include <string.h>

#include "paceline/mem.h"

#define PATH_MAX_BYTES 4096

/* The numbers at the start of a file; how many were there. */
static int read_numbers(const char *path, long *a, long *b)
{
    AUTO(auto_fclose) FILE *f = fopen(path, "re");
    int n = f ? fscanf(f, "%ld %ld", a, b) : 0;

    return n < 0 ? 0 : n;
}

/* The quota of one group, either version; 0: none. */
static int group_cpus(const char *folder)
{
    AUTO(auto_free) char *v2 = xasprintf("%s/cpu.max", folder);
    AUTO(auto_free) char *v1_quota = xasprintf("%s/cpu.cfs_quota_us", folder);
    AUTO(auto_free) char *v1_period = xasprintf("%s/cpu.cfs_period_us", folder);
    long quota = 0, period = 0, none;

    if (read_numbers(v2, &quota, &period) != 2) {
        if (read_numbers(v1_quota, &quota, &none) < 1 ||
            read_numbers(v1_period, &period, &none) < 1)
            return 0;
    }
    if (quota <= 0 || period <= 0)
        return 0;
    return quota < period ? 1 : (int)(quota / period);
}

/* The tightest of the group `path` below `mount` and of those above it. */
static int tightest(const char *root, const char *mount, const char *path)
{
    AUTO(auto_free) char *folder = xasprintf("%s%s%s", root, mount, path);
    size_t top = strlen(root) + strlen(mount);
    int best = 0;

    for (;;) {
        int n = group_cpus(folder);
        char *slash = strrchr(folder, '/');

        if (n && (!best || n < best))
            best = n;
        if (!slash || slash < folder + top)
            return best;
        *slash = '\0';
    }
}

/* Where the groups of a line of /proc/self/cgroup are mounted; NULL: they have no CPU quota. */
static const char *mount_of(const char *controllers)
{
    if (strcmp(controllers, "") == 0)
        return "/sys/fs/cgroup"; /* version 2 */
    for (const char *c = controllers; c; c = strchr(c, ',')) {
        c += *c == ',';
        if (strcmp(c, "cpu") == 0 || strncmp(c, "cpu,", 4) == 0)
            return "/sys/fs/cgroup/cpu";
    }
    return NULL;
}

int quota_cpus(const char *root)
{
    AUTO(auto_free) char *groups = xasprintf("%s/proc/self/cgroup", root);
    AUTO(auto_fclose) FILE *f = fopen(groups, "re");
    char line[PATH_MAX_BYTES];
    int best = 0;

    while (f && fgets(line, sizeof line, f)) { /* number:controllers:path */
        char *controllers = strchr(line, ':'), *path = NULL;

        if (controllers)
            path = strchr(++controllers, ':');
        if (!path)
            continue;
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';

        const char *mount = mount_of(controllers);
        int n = mount ? tightest(root, mount, path) : 0;

        if (n && (!best || n < best))
            best = n;
    }
    return best;
}
