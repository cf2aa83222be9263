/* A group's quota binds its children too, so every group from ours up to the root counts: those
 * that are there. */
#include "worker/threads/quota.h"

#include <stdio.h>

#include "paceline/mem.h"
#include "worker/threads/cgroup.h"

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

/* The tightest of the group with this controller and of those above it. */
static int tightest(const char *root, const char *controller)
{
    size_t top;
    AUTO(auto_free) char *folder = cgroup_folder(root, controller, &top);
    int best = 0;

    if (!folder)
        return 0;
    do {
        const int n = group_cpus(folder);

        if (n && (!best || n < best))
            best = n;
    } while (cgroup_up(folder, top));
    return best;
}

int quota_cpus(const char *root)
{
    const int v2 = tightest(root, ""), v1 = tightest(root, "cpu");

    return v1 && (!v2 || v1 < v2) ? v1 : v2;
}
