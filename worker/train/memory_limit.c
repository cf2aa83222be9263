/* Memory limits; see memory.h. */
#include "worker/train/memory_limit.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "paceline/mem.h"

static uint64_t smaller(uint64_t a, uint64_t b) { return b && b < a ? b : a; }

/* The number in a file of one line; 0: no file, or no number ("max"). */
static uint64_t number_in(const char *path)
{
    AUTO(auto_fclose) FILE *f = fopen(path, "r");
    uint64_t n = 0;
    if (f && fscanf(f, "%" SCNu64, &n) != 1)
        n = 0;
    return n;
}

uint64_t memory_limit(void)
{
    uint64_t limit = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

    limit = smaller(limit, number_in("/sys/fs/cgroup/memory.max"));
    limit = smaller(limit, number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
    return limit;
}

uint64_t memory_process_limit(void)
{
    struct rlimit space;

    return getrlimit(RLIMIT_AS, &space) == 0 ? space.rlim_cur : RLIM_INFINITY;
}
