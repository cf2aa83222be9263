// LINK: common/err.c common/mem.c common/buf.c worker/threads/cgroup.c
// LINK: common/text.c worker/train/telemetry/usage.c
// LIBS: -lm
/* Figures of /proc and the control groups, versions 1 and 2, in a file system that the test makes.
 */
#include <math.h>

#include "tests/test.h"
#include "tests/unit/scratch.h"
#include "worker/threads/cgroup.h"
#include "worker/train/telemetry/usage.h"

/* As a kernel writes them; numbers of one group are not found in another's. */
static const struct {
    const char *name;
    const char *files[12]; /* path, text, ... */
    double user, memory, peak;
} cases[] = {
    {"nothing", {NULL}, NAN, NAN, NAN},
    {"v2",
     {"/proc/self/cgroup", "0::/pod\n", "/sys/fs/cgroup/pod/cpu.stat",
      "usage_usec 3500000\nuser_usec 2500000\nsystem_usec 1000000\nnr_periods 7\n",
      "/sys/fs/cgroup/pod/memory.current", "1048576\n", "/sys/fs/cgroup/pod/memory.peak",
      "2097152\n", "/sys/fs/cgroup/memory.current", "9\n"},
     2.5,
     1048576,
     2097152},
    {"v2, a path of the host; an older kernel has no peak",
     {"/proc/self/cgroup", "0::/kubepods/a/b\n", "/sys/fs/cgroup/cpu.stat", "user_usec 500000\n",
      "/sys/fs/cgroup/memory.current", "4096\n"},
     0.5,
     4096,
     NAN},
    {"v1",
     {"/proc/self/cgroup", "4:memory:/x\n3:cpuset:/y\n2:cpu,cpuacct:/z\n0::/\n",
      "/sys/fs/cgroup/cpuacct/z/cpuacct.stat", "user 250\nsystem 100\n",
      "/sys/fs/cgroup/memory/x/memory.usage_in_bytes", "8192\n",
      "/sys/fs/cgroup/memory/x/memory.max_usage_in_bytes", "16384\n"},
     2.5,
     8192,
     16384},
    {"no number",
     {"/proc/self/cgroup", "0::/\n", "/sys/fs/cgroup/memory.current", "max\n",
      "/sys/fs/cgroup/cpu.stat", "user_usec\n"},
     NAN,
     NAN,
     NAN},
};

static void check_value(const char *name, double got, double want)
{
    if (isnan(want) ? !isnan(got) : fabs(got - want) > 1e-9)
        CHECK_STR(name, "as it should be");
    CHECK(true);
}

static void test_groups(void)
{
    const double ticks = (double)sysconf(_SC_CLK_TCK) / 100; /* the cases have 100 a second */

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *root = scratch_make();
        double values[N_USAGE];

        for (const char *const *f = cases[i].files; *f; f += 2)
            scratch_put(root, f[0], f[1]);
        usage_read(root, values);
        check_value(cases[i].name, values[USAGE_GROUP_USER],
                    cases[i].user / (strcmp(cases[i].name, "v1") == 0 ? ticks : 1));
        check_value(cases[i].name, values[USAGE_GROUP_MEMORY], cases[i].memory);
        check_value(cases[i].name, values[USAGE_GROUP_PEAK], cases[i].peak);
        CHECK(isnan(values[USAGE_MEMORY])); /* no /proc/self/status there */
        scratch_remove(root);
    }
}

static void test_parse(void)
{
    static const char status[] =
        "Name:\tVmRSS: 3\nVmRSSX:\t5 kB\nVmHWM:\t  80 kB\nVmRSS:\t  70 kB\n";

    CHECK_INT(usage_parse(status, "VmRSS"), 70);
    CHECK_INT(usage_parse(status, "VmHWM"), 80);
    CHECK_INT(usage_parse("user 12", "user"), 12);
    CHECK_INT(usage_parse("7\n", NULL), 7);
    static const char *const bad[] = {"",         "\n",      "user",    "user ",  "user x\n",
                                      "user 12x", "users 3", "user -3", " user 3"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(isnan(usage_parse(bad[i], "user")));
    CHECK(isnan(usage_parse("max\n", NULL)));
}

static void test_paths(void)
{
    static const char text[] = "9:name=systemd:/s\n5:cpu,cpuacct:/a:b\n2:memory:\n0::/u\nrubbish\n";
    char path[CGROUP_PATH_MAX];
    AUTO(auto_free) char *endless = xcalloc(1, CGROUP_PATH_MAX + 16);

    CHECK(cgroup_find(text, "cpuacct", path));
    CHECK_STR(path, "/a:b");
    CHECK(cgroup_find(text, "", path));
    CHECK_STR(path, "/u");
    CHECK(cgroup_find(text, "memory", path));
    CHECK_STR(path, "");
    CHECK(!cgroup_find(text, "cp", path));
    CHECK(!cgroup_find(text, "rubbish", path));
    CHECK(!cgroup_find("", "", path));
    memset(endless, 'a', CGROUP_PATH_MAX + 8);
    memcpy(endless, "0::/", 4);
    CHECK(!cgroup_find(endless, "", path));
}

/* This machine: a process has used something. */
static void test_here(void)
{
    double values[N_USAGE];

    usage_read("", values);
    CHECK(values[USAGE_MEMORY] > 100e3 && values[USAGE_MEMORY] <= values[USAGE_PEAK]);
    CHECK(values[USAGE_USER] + values[USAGE_SYSTEM] > 0);
}

int main(void)
{
    test_groups();
    test_parse();
    test_paths();
    test_here();
    return test_result();
}
