#include "worker/train/telemetry/usage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "paceline/buf.h"
#include "paceline/mem.h"
#include "worker/threads/cgroup.h"

const char *const usage_names[N_USAGE] = {
    [USAGE_USER] = "user",
    [USAGE_SYSTEM] = "system",
    [USAGE_MEMORY] = "memoryBytes",
    [USAGE_PEAK] = "peakBytes",
    [USAGE_GROUP_USER] = "groupUser",
    [USAGE_GROUP_SYSTEM] = "groupSystem",
    [USAGE_GROUP_MEMORY] = "groupMemoryBytes",
    [USAGE_GROUP_PEAK] = "groupPeakBytes",
};

bool usage_counts(enum usage u)
{
    return u == USAGE_USER || u == USAGE_SYSTEM || u == USAGE_GROUP_USER || u == USAGE_GROUP_SYSTEM;
}

/* Where groups say it; of the lines of one usage the first that is there. */
static const struct group_file {
    enum usage usage;
    const char *controller, *name, *key;
    double unit; /* 0: ticks */
} group_files[] = {
    {USAGE_GROUP_USER, "", "cpu.stat", "user_usec", 1e-6},
    {USAGE_GROUP_USER, "cpuacct", "cpuacct.stat", "user", 0},
    {USAGE_GROUP_SYSTEM, "", "cpu.stat", "system_usec", 1e-6},
    {USAGE_GROUP_SYSTEM, "cpuacct", "cpuacct.stat", "system", 0},
    {USAGE_GROUP_MEMORY, "", "memory.current", NULL, 1},
    {USAGE_GROUP_MEMORY, "memory", "memory.usage_in_bytes", NULL, 1},
    {USAGE_GROUP_PEAK, "", "memory.peak", NULL, 1},
    {USAGE_GROUP_PEAK, "memory", "memory.max_usage_in_bytes", NULL, 1},
};

static double usage_number_at(const char *text)
{
    char *end;
    double value;

    if (*text < '0' || *text > '9')
        return NAN;
    value = strtod(text, &end);
    return *end && !strchr(" \t\n", *end) ? NAN : value;
}

double usage_parse(const char *text, const char *key)
{
    const size_t n = key ? strlen(key) : 0;

    if (!key)
        return usage_number_at(text);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, n) != 0)
            continue;
        const char *value = line + n + (line[n] == ':');
        const size_t blanks = strspn(value, " \t");
        if (blanks || value > line + n)
            return usage_number_at(value + blanks);
    }
    return NAN;
}

static double usage_read_value(const char *path, const char *key)
{
    AUTO(buf_release) struct buf text = {0};
    struct err err;

    if (buf_read_file(&text, path, CGROUP_TEXT_MAX, &err) != 0 || !text.data)
        return NAN;
    return usage_parse(text.data, key);
}

/* Of our own group, or where a container does not show it, of the next above that is there. */
static double read_group(const char *root, const struct group_file *f)
{
    size_t top;
    AUTO(auto_free) char *folder = cgroup_folder(root, f->controller, &top);
    double value = NAN;

    if (!folder)
        return NAN;
    do {
        AUTO(auto_free) char *path = xasprintf("%s/%s", folder, f->name);

        value = usage_read_value(path, f->key);
    } while (isnan(value) && cgroup_up(folder, top));
    return value * (f->unit > 0 ? f->unit : 1.0 / (double)sysconf(_SC_CLK_TCK));
}

static double usage_seconds_of(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

void usage_read(const char *root, double values[N_USAGE])
{
    AUTO(auto_free) char *status = xasprintf("%s/proc/self/status", root);
    struct rusage own;

    for (int i = 0; i < N_USAGE; i++)
        values[i] = NAN;
    getrusage(RUSAGE_SELF, &own);
    values[USAGE_USER] = usage_seconds_of(own.ru_utime);
    values[USAGE_SYSTEM] = usage_seconds_of(own.ru_stime);
    values[USAGE_MEMORY] = 1024 * usage_read_value(status, "VmRSS");
    values[USAGE_PEAK] = 1024 * usage_read_value(status, "VmHWM");
    for (size_t i = 0; i < ARRAY_LEN(group_files); i++)
        if (isnan(values[group_files[i].usage]))
            values[group_files[i].usage] = read_group(root, &group_files[i]);
}
