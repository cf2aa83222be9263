#include "paceline/env.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "paceline/mem.h"

void env_init(struct env *e, char *const *from)
{
    *e = (struct env){.items = xcalloc(1, sizeof *e->items)};
    for (; from && *from; from++) {
        e->items = xrealloc(e->items, (e->n + 2) * sizeof *e->items);
        e->items[e->n++] = xstrdup(*from);
        e->items[e->n] = NULL;
    }
}

void env_release(struct env *e)
{
    for (size_t i = 0; i < e->n; i++)
        free(e->items[i]);
    free(e->items);
    *e = (struct env){0};
}

void env_set(struct env *e, const char *name, const char *value, bool replace)
{
    size_t len = strlen(name), i = 0;

    while (i < e->n && (strncmp(e->items[i], name, len) != 0 || e->items[i][len] != '='))
        i++;
    if (i < e->n && !replace)
        return;
    if (i == e->n) {
        e->items = xrealloc(e->items, (e->n + 2) * sizeof *e->items);
        e->items[++e->n] = NULL;
        e->items[i] = NULL;
    }
    free(e->items[i]);
    e->items[i] = xasprintf("%s=%s", name, value);
}

int env_cores(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* Transports are excluded rather than chosen because shared memory is "vader" before Open MPI 5.0
 * and "sm" after. */
enum when { ALWAYS = 1, ALONE = 2, AS_ROOT = 4, CROWDED = 8, ROOMY = 16 };
static const struct {
    enum when when;
    const char *name, *value;
} mpi[] = {
    {ALWAYS, "OMPI_MCA_pml", "ob1"},
    {ALWAYS, "OMPI_MCA_btl", "^tcp,openib,ofi,uct,usnic,smcuda"},
    {ALONE, "OMPI_MCA_ess_singleton_isolated", "1"},
    {ALONE, "OMPI_MCA_orte_create_session_dirs", "0"},
    {ALWAYS, "OMPI_MCA_orte_execute_quiet", "1"},
    {AS_ROOT, "OMPI_ALLOW_RUN_AS_ROOT", "1"},
    {AS_ROOT, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
    {AS_ROOT, "PRTE_ALLOW_RUN_AS_ROOT", "1"},
    {AS_ROOT, "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
    {CROWDED, "OMPI_MCA_mpi_yield_when_idle", "1"},
    {ROOMY, "OMPI_MCA_mpi_yield_when_idle", "0"},
};

void env_set_mpi(struct env *e, int ranks, int threads)
{
    int when = ALWAYS | (ranks == 1 ? ALONE : 0) | (geteuid() == 0 ? AS_ROOT : 0) |
               (ranks * (threads > 0 ? threads : 1) > env_cores() ? CROWDED : ROOMY);

    for (size_t i = 0; i < ARRAY_LEN(mpi); i++)
        if (when & (int)mpi[i].when)
            env_set(e, mpi[i].name, mpi[i].value, false);
}
