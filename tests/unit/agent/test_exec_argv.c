// LINK: common agent/exec_argv.c agent/mpirun.c
#include "agent/exec_argv.h"

#include "paceline/mem.h"
#include "tests/test.h"

/* Command lines that mpirun of Open MPI 4.1.4 and 5.0.7 has passed to a program in the place of
 * ssh. */
static char *const words4[] = {
    " orted",
    "-mca",
    "orte_leave_session_attached",
    "\"1\"",
    "-mca",
    "ess",
    "\"env\"",
    "-mca",
    "ess_base_jobid",
    "\"215482368\"",
    "-mca",
    "ess_base_vpid",
    "2",
    "-mca",
    "ess_base_num_procs",
    "\"3\"",
    "-mca",
    "orte_node_regex",
    "\"vm,[2:10].99.0.2,[2:10].99.0.3@0(3)\"",
    "-mca",
    "orte_hnp_uri",
    "\"215482368.0;tcp://192.0.2.2:41731;tcp6://[fd00::2]:33119\"",
    "-mca",
    "plm",
    "\"rsh\"",
    "-mca",
    "plm_rsh_agent",
    "\"/tmp/agent exec\"",
    "-mca",
    "pmix",
    "\"^s1,s2,cray,isolated\"",
};
static const char *const want4[] = {
    "orted",
    "-mca",
    "ess",
    "env",
    "-mca",
    "ess_base_jobid",
    "215482368",
    "-mca",
    "ess_base_vpid",
    "2",
    "-mca",
    "ess_base_num_procs",
    "3",
    "-mca",
    "orte_node_regex",
    "vm,[2:10].99.0.2,[2:10].99.0.3@0(3)",
    "-mca",
    "orte_hnp_uri",
    "215482368.0;tcp://192.0.2.2:41731;tcp6://[fd00::2]:33119",
    "-mca",
    "pmix",
    "^s1,s2,cray,isolated",
};
static char *const words5[] = {
    ("PRTE_PREFIX=/usr;export PRTE_PREFIX;LD_LIBRARY_PATH=/usr/lib:$LD_LIBRARY_PATH;"
     "export LD_LIBRARY_PATH;/usr/bin/prted"),
    "--leave-session-attached",
    "--allow-run-as-root",
    "--prtemca",
    "ess_base_nspace",
    "\"prterun-vm-24634@0\"",
    "--prtemca",
    "prte_hnp_uri",
    "\"prterun-vm-24634@0.0;tcp://192.0.2.2:58697:24\"",
    "--prtemca",
    "plm_ssh_agent",
    "\"/tmp/agent exec\"",
    "--prtemca",
    "PREFIXES",
    "\"errmgr,ess\"",
};
static const char *const want5[] = {
    "prted",
    "--leave-session-attached",
    "--allow-run-as-root",
    "--prtemca",
    "ess_base_nspace",
    "prterun-vm-24634@0",
    "--prtemca",
    "prte_hnp_uri",
    "prterun-vm-24634@0.0;tcp://192.0.2.2:58697:24",
};

static void check_real(char *const *words, int n, const char *const *want, size_t n_want)
{
    AUTO(auto_json) cJSON *list = exec_argv_words(n, words);
    struct exec_argv argv = {0};
    struct err err = {0};

    CHECK_INT(exec_argv_check(&argv, list, &err), 0);
    CHECK_STR(err.msg, "");
    CHECK_INT(argv.n, n_want);
    CHECK(!argv.items[argv.n]);
    for (size_t i = 0; i < n_want && i < argv.n; i++)
        CHECK_STR(argv.items[i], want[i]);
}

static void check_refused(const char *json, const char *message)
{
    AUTO(auto_json) cJSON *list = cJSON_Parse(json);
    struct exec_argv argv = {0};
    struct err err = {0};

    CHECK(list);
    CHECK_INT(exec_argv_check(&argv, list, &err), -1);
    CHECK_CONTAINS(err.msg, message);
}

static void check_too_many(void)
{
    AUTO(auto_json) cJSON *list = cJSON_CreateArray();
    struct exec_argv argv = {0};
    struct err err = {0};

    for (int i = 0; i < EXEC_ARGV_MAX; i++)
        cJSON_AddItemToArray(list, cJSON_CreateString(i ? "--allow-run-as-root" : "orted"));
    CHECK_INT(exec_argv_check(&argv, list, &err), 0);
    CHECK_INT(argv.n, EXEC_ARGV_MAX);
    cJSON_AddItemToArray(list, cJSON_CreateString("--allow-run-as-root"));
    CHECK_INT(exec_argv_check(&argv, list, &err), -1);
    CHECK_CONTAINS(err.msg, "at most 256 strings");
}

int main(void)
{
    check_real(words4, ARRAY_LEN(words4), want4, ARRAY_LEN(want4));
    check_real(words5, ARRAY_LEN(words5), want5, ARRAY_LEN(want5));
    check_refused("[]", "program \"\" is not allowed");
    check_refused("{\"a\":\"orted\"}", "program \"orted\" is not allowed");
    check_refused("[\"sh\",\"-c\",\"id\"]", "program \"sh\" is not allowed");
    check_refused("[\"/tmp/orted\"]", "program \"/tmp/orted\" is not allowed");
    check_refused("[\"orted\",\"--daemonize\"]", "argument \"--daemonize\" is not allowed");
    check_refused("[\"orted\",\"--tree-spawn\"]", "argument \"--tree-spawn\" is not allowed");
    check_refused("[\"orted\",\"-mca\",\"ess\"]", "argument \"-mca\" is not allowed");
    check_refused("[\"orted\",\"-mca\",\"orte_launch_agent\",\"sh\"]",
                  "MCA parameter \"orte_launch_agent\" is not allowed");
    check_refused("[\"prted\",\"--prtemca\",\"mca_base_component_path\",\"/tmp\"]",
                  "MCA parameter \"mca_base_component_path\" is not allowed");
    check_refused("[\"orted\",\"-mca\",\"ess\",\"env\\n\"]",
                  "ess: value \"env\\x0a\" is not allowed");
    check_refused("[\"orted\",\"-mca\",\"ess_base_vpid\",\"\"]", "ess_base_vpid: value \"\"");
    check_refused("[\"orted\",\"-mca\",\"orte_hnp_uri\",\"0;tcp://$(id):1\"]", "orte_hnp_uri");
    check_refused("[\"orted\",7]", "at most 256 strings");
    check_too_many();
    return test_result();
}
