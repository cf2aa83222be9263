// LINK: common agent/mpirun.c agent/mpi_pod.c agent/mpi_folder.c
#include "agent/mpirun.h"

#include <sys/stat.h>
#include <unistd.h>

#include "agent/mpi_folder.h"
#include "agent/mpi_pod.h"
#include "paceline/mem.h"
#include "tests/test.h"
#include "tests/unit/scratch.h"

static char *const ours[] = {"PATH=/bin",         "HOME=/root",      "OMPI_MCA_pml=ucx",
                             "PACELINE_ISA=avx2", "LD_PRELOAD=x.so", NULL};

/* The value of a variable, or NULL; each is there once. */
static const char *value_of(const struct env *e, const char *name)
{
    const char *found = NULL;
    size_t len = strlen(name);

    for (size_t i = 0; i < e->n; i++)
        if (strncmp(e->items[i], name, len) == 0 && e->items[i][len] == '=') {
            CHECK(!found);
            found = e->items[i] + len + 1;
        }
    return found;
}

static void check_environment(void)
{
    static const char *const want[][2] = {
        {"PATH", "/bin"},
        {"HOME", "/tmp/paceline/7"},
        {"TMPDIR", "/tmp/paceline/7"},
        {"PACELINE_ISA", "avx2"},
        {"PACELINE_AGENT_RUN", "/tmp/paceline/7"},
        {"PACELINE_STOP_FILE", "/tmp/paceline/7/stop"},
        {"OMPI_MCA_plm_rsh_agent", "/bin/paceline-agent exec"},
        {"PRTE_MCA_plm_ssh_agent", "/bin/paceline-agent exec"},
        {"OMPI_MCA_pml", "ob1"},
        {"OMPI_MCA_btl", "self,tcp"},
        {"OMPI_MCA_btl_tcp_if_include", "eth0"},
        {"OMPI_MCA_btl_tcp_port_min_v4", "7521"},
        {"OMPI_MCA_oob_tcp_if_include", "eth0"},
        {"PRTE_MCA_prte_if_include", "eth0"},
        {"PMIX_MCA_ptl_tcp_if_include", "127.0.0.0/8"},
        {"OMPI_MCA_oob_tcp_dynamic_ipv4_ports", "7421-7452"},
        {"PRTE_MCA_oob_tcp_dynamic_ipv4_ports", "7421-7452"},
    };
    static const char *const absent[] = {"LD_PRELOAD", "PRTE_MCA_pml", "PRTE_MCA_plm_rsh_agent",
                                         "OMPI_MCA_plm_ssh_agent"};
    AUTO(env_release) struct env e = {0};

    mpirun_environment(
        &e, &(struct mpirun_pod){"/bin/paceline-agent", "eth0", "/tmp/paceline/7", false}, ours);
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        CHECK_STR(value_of(&e, want[i][0]), want[i][1]);
    for (size_t i = 0; i < ARRAY_LEN(absent); i++)
        CHECK(!value_of(&e, absent[i]));
    CHECK(!value_of(&e, "OMPI_ALLOW_RUN_AS_ROOT") == (geteuid() != 0));
    CHECK(!e.items[e.n]);
    CHECK(mpirun_sets("btl_tcp_if_include"));
    CHECK(mpirun_sets("plm_ssh_agent"));
    CHECK(!mpirun_sets("HOME"));
    CHECK(!mpirun_sets("orte_launch_agent"));
}

/* A program that is not ours keeps its container's environment, and its taste. */
static void check_foreign(void)
{
    static char *const theirs[] = {
        "PATH=/bin",      "HOME=/home/me", "OMPI_MCA_pml=ucx", "COLOR=blue",
        "OMPI_MCA_x_y=1", "TMPDIR=/big",   "LD_PRELOAD=x.so",  NULL};
    static const char *const want[][2] = {
        {"PATH", "/bin"},
        {"COLOR", "blue"},
        {"LD_PRELOAD", "x.so"},
        {"HOME", "/home/me"},
        {"TMPDIR", "/tmp/paceline/7"}, /* sockets have short names */
        {"OMPI_MCA_x_y", "1"},
        {"OMPI_MCA_pml", "ucx"},
        {"OMPI_MCA_btl", "self,vader,tcp"},
        {"OMPI_MCA_btl_tcp_if_include", "eth0"},
        {"OMPI_MCA_plm_rsh_pass_environ_mca_params", "0"},
        {"PRTE_MCA_plm_ssh_pass_environ_mca_params", "0"},
    };
    static const char *const absent[] = {"PACELINE_STOP_FILE",
                                         "OMPI_MCA_odls_base_sigkill_timeout"};
    AUTO(env_release) struct env e = {0};

    mpirun_environment(
        &e, &(struct mpirun_pod){"/bin/paceline-agent", "eth0", "/tmp/paceline/7", true}, theirs);
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        CHECK_STR(value_of(&e, want[i][0]), want[i][1]);
    for (size_t i = 0; i < ARRAY_LEN(absent); i++)
        CHECK(!value_of(&e, absent[i]));
}

static void check_command(void)
{
    static const char *const program[] = {"paceline-worker", "run", "--spec", "job.yaml", NULL};
    static const char *const want[] = {
        "mpirun",
        "--leave-session-attached",
        "--bind-to",
        "none",
        "--map-by",
        "slot",
        "-np",
        "2",
        "--hostfile",
        "/x/hosts",
        "paceline-worker",
        "run",
        "--spec",
        "job.yaml",
    };
    struct world world = {
        .hosts = (struct world_host[]){{"a-0", "a", "10.0.0.9"}, {"b-0", "b", "10.0.0.3"}},
        .n_hosts = 2};
    AUTO(mpirun_command_release) struct mpirun_command c = {0};
    struct err err;
    AUTO(buf_release) struct buf hosts;

    mpirun_command(&c, NULL, "/x/hosts", world.n_hosts, program);
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        CHECK_STR(c.argv[i], want[i]);
    CHECK(!c.argv[ARRAY_LEN(want)]);
    buf_init(&hosts, 0);
    mpirun_hostfile(&world, 1, &hosts);
    CHECK_STR(hosts.data, "10.0.0.9 slots=1\n10.0.0.3 slots=1\n");
    mpirun_command_release(&c);
    mpirun_command(&c, "/bin/agent", "/x/hosts", 6, program);
    CHECK_STR(c.argv[0], "/bin/agent");
    CHECK_STR(c.argv[1], "mpirun");
    CHECK_STR(c.argv[8], "6");
    CHECK_STR(c.argv[14], "job.yaml");
    CHECK(!c.argv[15]);
    hosts.len = 0;
    mpirun_hostfile(&world, 3, &hosts);
    CHECK_STR(hosts.data, "10.0.0.9 slots=3\n10.0.0.3 slots=3\n");
    CHECK_INT(mpirun_check(&world, &err), 0);
    world.hosts[1].address = "fd00::3";
    CHECK_INT(mpirun_check(&world, &err), -1);
    CHECK_CONTAINS(err.msg, "pod b-0 has the address fd00::3: training in several pods needs IPv4");
}

static void check_pod(void)
{
    struct mpi_pod pod;
    struct err err = {0};

    CHECK_INT(mpi_pod_init(&pod, "127.0.0.1", "/x", false, &err), 0);
    CHECK_STR(pod.names.interface, "lo");
    CHECK_STR(pod.names.folder, "/x");
    CHECK_CONTAINS(pod.names.agent, "test_mpirun");
    CHECK_INT(mpi_pod_init(&pod, "192.0.2.77", "/x", false, &err), -1);
    CHECK_CONTAINS(err.msg, "192.0.2.77: no network interface of this pod has it");
    CHECK_INT(mpi_pod_init(&pod, "::1", "/x", false, &err), -1);
    CHECK_CONTAINS(err.msg, "needs IPv4");
}

static void check_folder(const char *scratch)
{
    AUTO(auto_json) cJSON *job = cJSON_Parse("{\"kind\":\"TrainingJob\"}");
    AUTO(auto_free) char *deep = xasprintf("%s/a/b", scratch);
    AUTO(auto_free) char *folder = NULL, *again = NULL, *file = NULL, *left = NULL;
    AUTO(buf_release) struct buf text = {0};
    struct err err = {0};

    CHECK_INT(mpi_folder_make(&folder, deep, 7, job, &err), 0);
    file = xasprintf("%s/job.yaml", folder);
    CHECK_INT(buf_read_file(&text, file, 4096, &err), 0);
    CHECK_STR(text.data, "{\"kind\":\"TrainingJob\"}");
    left = xasprintf("%s/left", folder);
    CHECK_INT(mkdir(left, 0700), 0);
    CHECK_INT(mpi_folder_make(&again, deep, 7, job, &err), 0);
    CHECK_STR(again, folder);
    CHECK(access(left, F_OK) < 0);
    mpi_folder_remove(folder);
    CHECK(access(folder, F_OK) < 0);
    CHECK(access(deep, F_OK) == 0);
}

int main(void)
{
    char *scratch = scratch_make();

    check_environment();
    check_foreign();
    check_command();
    check_pod();
    check_folder(scratch);
    scratch_remove(scratch);
    return test_result();
}
