// LINK: common/err.c common/mem.c common/buf.c worker/threads/quota.c worker/threads/cgroup.c
// LINK: common/text.c
// CPU quotas of control groups, versions 1 and 2, in a file system that the test makes.
#include "worker/threads/quota.h"

#include "tests/test.h"
#include "tests/unit/scratch.h"

static const struct {
    const char *name;
    const char *files[8]; /* path, text, ... */
    int want;
} cases[] = {
    {"nothing", {NULL}, 0},
    {"v2, none", {"/proc/self/cgroup", "0::/\n", "/sys/fs/cgroup/cpu.max", "max 100000\n"}, 0},
    {"v2, 2.5", {"/proc/self/cgroup", "0::/\n", "/sys/fs/cgroup/cpu.max", "250000 100000\n"}, 2},
    {"v2, a half", {"/proc/self/cgroup", "0::/\n", "/sys/fs/cgroup/cpu.max", "50000 100000\n"}, 1},
    {"v2, another period",
     {"/proc/self/cgroup", "0::/\n", "/sys/fs/cgroup/cpu.max", "40000 10000\n"},
     4},
    {"v2, the group above is tighter",
     {"/proc/self/cgroup", "0::/a/b\n", "/sys/fs/cgroup/a/b/cpu.max", "800000 100000\n",
      "/sys/fs/cgroup/a/cpu.max", "300000 100000\n"},
     3},
    {"v2, our own is tighter",
     {"/proc/self/cgroup", "0::/a/b\n", "/sys/fs/cgroup/a/b/cpu.max", "200000 100000\n",
      "/sys/fs/cgroup/a/cpu.max", "300000 100000\n"},
     2},
    {"v2, a path of the host",
     {"/proc/self/cgroup", "0::/../../pod/c\n", "/sys/fs/cgroup/cpu.max", "300000 100000\n"},
     3},
    {"v1, none",
     {"/proc/self/cgroup", "4:cpu,cpuacct:/\n", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n",
      "/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"},
     0},
    {"v1, 3.9, a path of the host",
     {"/proc/self/cgroup", "9:memory:/x\n4:cpuacct,cpu:/kubepods/pod1\n0::/\n",
      "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "390000\n", "/sys/fs/cgroup/cpu/cpu.cfs_period_us",
      "100000\n"},
     3},
    {"v1, of our own group",
     {"/proc/self/cgroup", "4:cpu:/a\n", "/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "200000\n",
      "/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"},
     2},
    {"v1, only cpuset and cpuacct",
     {"/proc/self/cgroup", "4:cpuset,cpuacct:/\n", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us",
      "200000\n", "/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"},
     0},
    {"rubbish", {"/proc/self/cgroup", "x\n::\n0::/\n", "/sys/fs/cgroup/cpu.max", "lots\n"}, 0},
};

int main(void)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *root = scratch_make();

        for (const char *const *f = cases[i].files; *f; f += 2)
            scratch_put(root, f[0], f[1]);

        int got = quota_cpus(root);

        CHECK_INT(got, cases[i].want);
        if (got != cases[i].want)
            fprintf(stderr, "in case: %s\n", cases[i].name);
        scratch_remove(root);
    }
    CHECK(quota_cpus("") >= 0);
    return test_result();
}
