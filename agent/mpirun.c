#include "agent/mpirun.h"

#include <string.h>
#include <unistd.h>

#include "agent/exec.h"
#include "paceline/cluster.h"
#include "paceline/mem.h"

/*
 * The place of a setting: MCA parameters of Open MPI 4 (all of it) and 5 (the ranks) are
 * OMPI_MCA_*, those of Open MPI 5's daemons PRTE_MCA_*; a daemon and its ranks meet by PMIX_MCA_*.
 * Each version ignores the settings of the other.
 */
enum place {
    OMPI = 1,
    PRTE = 2,
    BOTH = 3,
    PMIX = 4,
    PLAIN = 8,
    PLAIN_AS_ROOT = 16,
    /* And whose ranks it is for, if not for all; the last two may be set in the container already.
     */
    ENGINE = 32,
    TASTE = 64,
    FOREIGN = 128,
};

/* Values that differ between pods. */
enum value { FIXED, AGENT, INTERFACE, FOLDER, STOP_FILE };

static const struct setting {
    enum place place;
    enum value value;
    const char *name, *fixed;
} settings[] = {
    /* Daemons come through our agents, each from the chief and attached to it. */
    {OMPI, AGENT, "plm_rsh_agent", NULL},
    {PRTE, AGENT, "plm_ssh_agent", NULL},
    {OMPI, FIXED, "plm_rsh_no_tree_spawn", "1"},
    {PRTE, FIXED, "plm_ssh_no_tree_spawn", "1"},
    /* Each daemon finds the container's settings for Open MPI there, not in its arguments. */
    {OMPI | FOREIGN, FIXED, "plm_rsh_pass_environ_mca_params", "0"},
    {PRTE | FOREIGN, FIXED, "plm_ssh_pass_environ_mca_params", "0"},
    /* Nothing but TCP, which probes no other networks, and memory where a pod has several ranks.
     * Left to itself, Debian's Open MPI 5 takes UCX and hangs. */
    {OMPI | TASTE, FIXED, "pml", "ob1"},
    {OMPI | ENGINE, FIXED, "btl", "self,tcp"},
    {OMPI | FOREIGN, FIXED, "btl",
     "self,vader,tcp"}, /* Open MPI 5 knows its sm by this name, too */
    {OMPI, INTERFACE, "btl_tcp_if_include", NULL},
    {OMPI, FIXED, "btl_tcp_port_min_v4", MPIRUN_RANK_PORT_FIRST},
    {OMPI, FIXED, "btl_tcp_port_range_v4", MPIRUN_RANK_PORT_COUNT},
    {OMPI, FIXED, "btl_tcp_disable_family", "6"}, /* it listens nevertheless */
    {OMPI, FIXED, "btl_tcp_port_min_v6", MPIRUN_RANK_PORT_FIRST},
    {OMPI, FIXED, "btl_tcp_port_range_v6", MPIRUN_RANK_PORT_COUNT},
    {OMPI, INTERFACE, "oob_tcp_if_include", NULL},
    {PRTE, INTERFACE, "prte_if_include", NULL},
    {BOTH, FIXED, "oob_tcp_dynamic_ipv4_ports", MPIRUN_DAEMON_PORTS},
    {BOTH, FIXED, "oob_tcp_dynamic_ipv6_ports", MPIRUN_DAEMON_PORTS_V6},
    {OMPI, FIXED, "oob_tcp_disable_ipv6_family", "1"},
    {PMIX, FIXED, "ptl_tcp_if_include", "127.0.0.0/8"},
    /* Agents notice a silent host after 5 s and say which; this is for a daemon whose agent has
     * not ended it, and the system's default is 8 minutes. */
    {BOTH, FIXED, "oob_tcp_keepalive_time", "1"},
    {BOTH, FIXED, "oob_tcp_keepalive_intvl", "1"},
    {BOTH, FIXED, "oob_tcp_keepalive_probes", "8"},
    /* Ranks of a world that has failed have nothing to say: no second between SIGTERM and SIGKILL.
     */
    {BOTH | ENGINE, FIXED, "odls_base_sigkill_timeout", "0"},
    {OMPI, FOLDER, "orte_tmpdir_base", NULL},
    {PRTE, FOLDER, "prte_tmpdir_base", NULL},
    {PRTE, FIXED, "prte_silence_shared_fs", "1"},
    /* A pod does not know who else is on its cores. */
    {OMPI | TASTE, FIXED, "mpi_yield_when_idle", "1"},
    {PLAIN | TASTE, FOLDER, "HOME", NULL},
    {PLAIN, FOLDER, "TMPDIR", NULL},
    {PLAIN, FOLDER, EXEC_RUN, NULL},
    {PLAIN | ENGINE, STOP_FILE, "PACELINE_STOP_FILE", NULL},
    {PLAIN_AS_ROOT, FIXED, "OMPI_ALLOW_RUN_AS_ROOT", "1"},
    {PLAIN_AS_ROOT, FIXED, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
    {PLAIN_AS_ROOT, FIXED, "PRTE_ALLOW_RUN_AS_ROOT", "1"},
    {PLAIN_AS_ROOT, FIXED, "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
};

/* The variables that the engine takes over from the container; a foreign program takes all. */
static const char *const inherited[] = {"PATH=", "LD_LIBRARY_PATH=", "PACELINE_"};

static void inherit(struct env *e, char *const *ours)
{
    for (; *ours; ours++)
        for (size_t i = 0; i < ARRAY_LEN(inherited); i++) {
            const char *equals = strchr(*ours, '=');
            AUTO(auto_free) char *name = NULL;

            if (!equals || strncmp(*ours, inherited[i], strlen(inherited[i])) != 0)
                continue;
            name = xasprintf("%.*s", (int)(equals - *ours), *ours);
            env_set(e, name, equals + 1, true);
        }
}

static char *value_of(const struct setting *s, const struct mpirun_pod *pod)
{
    switch (s->value) {
    case AGENT:
        return xasprintf("%s exec", pod->agent);
    case INTERFACE:
        return xstrdup(pod->interface);
    case FOLDER:
        return xstrdup(pod->folder);
    case STOP_FILE:
        return xasprintf("%s/stop", pod->folder);
    case FIXED:
        break;
    }
    return xstrdup(s->fixed);
}

void mpirun_environment(struct env *e, const struct mpirun_pod *pod, char *const *ours)
{
    static const struct {
        enum place place;
        const char *prefix;
    } spellings[] = {{OMPI, "OMPI_MCA_"}, {PRTE, "PRTE_MCA_"}, {PMIX, "PMIX_MCA_"}, {PLAIN, ""}};
    int places = BOTH | PMIX | PLAIN | (geteuid() == 0 ? PLAIN_AS_ROOT : 0);
    int others = pod->foreign ? ENGINE : FOREIGN;

    env_init(e, pod->foreign ? ours : NULL);
    if (!pod->foreign)
        inherit(e, ours);
    for (const struct setting *s = settings; s < settings + ARRAY_LEN(settings); s++) {
        AUTO(auto_free) char *value = value_of(s, pod);
        int place = s->place & places && !(s->place & others) ? (int)s->place : 0;

        if (place == PLAIN_AS_ROOT)
            place = PLAIN;
        for (size_t i = 0; i < ARRAY_LEN(spellings); i++) {
            AUTO(auto_free) char *name = xasprintf("%s%s", spellings[i].prefix, s->name);

            if (place & (int)spellings[i].place)
                env_set(e, name, value, !(place & (TASTE | FOREIGN)));
        }
    }
}

bool mpirun_sets(const char *parameter)
{
    for (size_t i = 0; i < ARRAY_LEN(settings); i++)
        if (settings[i].place & (BOTH | PMIX) && strcmp(settings[i].name, parameter) == 0)
            return true;
    return false;
}

int mpirun_check(const struct world *world, struct err *err)
{
    for (const struct world_host *h = world->hosts; h < world->hosts + world->n_hosts; h++)
        if (strchr(h->address, ':'))
            return err_set(err, ERR_INVALID,
                           "pod %.253s has the address %.60s: training in several pods needs IPv4 "
                           "addresses; one worker trains without",
                           h->pod, h->address);
    return 0;
}

void mpirun_hostfile(const struct world *world, int slots, struct buf *out)
{
    struct hostfile hostfile = {0};

    for (size_t i = 0; i < world->n_hosts; i++)
        hostfile_add(&hostfile, world->hosts[i].address, slots);
    hostfile_encode(&hostfile, out);
    hostfile_release(&hostfile);
}

void mpirun_command(struct mpirun_command *c, const char *wrapper, const char *hostfile,
                    size_t n_ranks, const char *const *program)
{
    const char *const mpirun[] = {"mpirun",     "--leave-session-attached",
                                  "--bind-to",  "none",
                                  "--map-by",   "slot",
                                  "-np",        c->ranks,
                                  "--hostfile", hostfile};
    size_t n = wrapper != NULL, words = 0;

    while (program[words])
        words++;
    snprintf(c->ranks, sizeof c->ranks, "%zu", n_ranks);
    c->argv = xcalloc(n + ARRAY_LEN(mpirun) + words + 1, sizeof *c->argv);
    c->argv[0] = wrapper;
    memcpy(c->argv + n, mpirun, sizeof mpirun);
    memcpy(c->argv + n + ARRAY_LEN(mpirun), program, words * sizeof *program);
}

void mpirun_command_release(struct mpirun_command *c)
{
    free(c->argv);
    *c = (struct mpirun_command){0};
}
