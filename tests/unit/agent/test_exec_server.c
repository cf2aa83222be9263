// LINK: wire operator/objects/keys.c common agent/exec.c agent/exec_argv.c agent/exec_server.c
// LINK: agent/mpirun.c agent/mpi_pod.c agent/mpi_folder.c agent/supervisor.c agent/pollset.c
// LINK: agent/world.c
// LIBS: -lssl -lcrypto
/*
 * Both ends of an exec over TLS on loopback: `paceline-agent exec` as mpirun calls it, in processes
 * of their own, and an agent that knows nothing but exec. The daemon is a script called orted.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/exec.h"
#include "agent/exec_server.h"
#include "agent/mpirun_wrapper.h"
#include "operator/objects/keys.h"
#include "paceline/clock.h"
#include "paceline/mem.h"
#include "tests/test.h"
#include "tests/unit/scratch.h"

/* By ess_base_vpid: 1 tells what it was given, 2 floods, 3 stays, with a child of another session,
 * 4 is ended by a signal. */
static const char orted[] = "#!/bin/sh\n"
                            "case $4 in\n"
                            "1) echo \"args: $*\"; env; cat \"$TMPDIR/job.yaml\"\n"
                            "   head -c1 /dev/stdin | wc -c | sed 's/^/stdin: /'; exit 7 ;;\n"
                            "2) head -c 100000 /dev/zero | tr '\\0' x ;;\n"
                            "3) setsid sleep 1000 & echo $! $$ >\"$0.pids\"; wait ;;\n"
                            "4) kill -9 $$ ;;\n"
                            "esac\n";

static char *scratch;

static char *in_scratch(const char *name) { return xasprintf("%s/%s", scratch, name); }

static void write_key(const char *name, const char *uid)
{
    static const unsigned char master[KEY_BYTES] = "thirty-two bytes of a master key";
    AUTO(auto_free) char *file = xasprintf("%s.key", name);
    unsigned char key[KEY_BYTES];

    key_derive(key, master, uid);
    scratch_write(scratch, file, key, sizeof key);
}

/* ---- the agent */

struct connection {
    struct channel *channel;
    struct exec_server *execs;
};

static int agent_message(void *arg, const cJSON *message, struct err *err)
{
    struct connection *c = arg;

    (void)err;
    if (strcmp(message_type(message), "hello") == 0) {
        AUTO(auto_json) cJSON *hello = cJSON_Parse("{\"type\":\"hello\",\"protocol\":1}");

        channel_send(c->channel, hello);
    } else if (strcmp(message_type(message), "exec") == 0) {
        exec_server_start(c->execs, c->channel, message);
    }
    return 0;
}

static struct channel_tls *agent_tls(void)
{
    AUTO(buf_release) struct buf key = {0};
    AUTO(auto_free) char *key_path = in_scratch("job.key");
    struct channel_tls *tls = NULL;
    struct err err = {0};

    if (buf_read_file(&key, key_path, 65536, &err) < 0 ||
        channel_tls_new(&tls, key.data, key.len, &err) < 0)
        fprintf(stderr, "%s\n", err.msg);
    return tls;
}

#define CONNECTIONS 16

static _Noreturn void agent_main(int listener)
{
    AUTO(auto_free) char *runs = in_scratch("runs");
    struct connection connections[CONNECTIONS] = {0};
    struct channel_tls *tls = agent_tls();
    struct supervisor *supervisor = supervisor_new();
    struct exec_server *execs = exec_server_new(supervisor, "w-1-0", runs, false);
    struct pollset waits = {0};
    size_t n = 0;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_IGN);
    for (;;) {
        struct err err;

        pollset_clear(&waits);
        pollset_add(&waits, listener, POLLIN);
        exec_server_wait(execs, &waits);
        for (size_t i = 0; i < n; i++)
            if (connections[i].channel)
                pollset_add(&waits, channel_fd(connections[i].channel),
                            channel_wants(connections[i].channel));
        pollset_until(&waits, clock_ms() + 10);
        pollset_poll(&waits, clock_ms());
        if (pollset_came(&waits, listener) && n < CONNECTIONS) {
            struct connection *c = &connections[n++];
            int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

            c->execs = execs;
            c->channel = channel_accept(tls, fd, agent_message, c, clock_ms());
        }
        supervisor_reap(supervisor);
        exec_server_step(execs, &waits);
        for (size_t i = 0; i < n; i++) {
            struct channel *c = connections[i].channel;

            if (c && channel_step(c, pollset_came(&waits, channel_fd(c)), clock_ms(), &err) < 0) {
                exec_server_end(execs, c);
                channel_free(c);
                connections[i].channel = NULL;
            }
        }
    }
}

struct exec_agent {
    pid_t pid;
    int port;
};

static struct exec_agent agent_start(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t len = sizeof at;
    struct exec_agent agent;

    CHECK_INT(bind(listener, (struct sockaddr *)&at, len), 0);
    CHECK_INT(listen(listener, CONNECTIONS), 0);
    CHECK_INT(getsockname(listener, (struct sockaddr *)&at, &len), 0);
    agent = (struct exec_agent){.pid = fork(), .port = ntohs(at.sin_port)};
    if (agent.pid == 0)
        agent_main(listener);
    close(listener);
    return agent;
}

/* ---- mpirun */

static void write_context(const struct exec_agent *agent, long long generation, const char *pod,
                          const char *key_name)
{
    AUTO(auto_json) cJSON *job = cJSON_Parse("{\"kind\":\"TrainingJob\"}");
    char name[] = "w-1", address[] = "127.0.0.1";
    AUTO(auto_free) char *pod_name = xstrdup(pod);
    AUTO(auto_free) char *key = xasprintf("%s/%s.key", scratch, key_name);
    struct world_host host = {.pod = pod_name, .host = name, .address = address};
    struct world world = {.generation = generation, .job = job, .hosts = &host, .n_hosts = 1};
    struct err err = {0};

    CHECK_INT(exec_write_context(scratch, &world, agent->port, key, &err), 0);
}

/* `exec ADDRESS orted -mca ess_base_vpid WHICH`, with its errors in a file. */
static pid_t exec_start(const char *address, const char *which, const char *flag)
{
    char *argv[] = {(char[]){"exec"},
                    NULL,
                    (char[]){" orted"},
                    NULL,
                    (char[]){"-mca"},
                    (char[]){"ess_base_vpid"},
                    NULL,
                    NULL};
    AUTO(auto_free) char *log = in_scratch("log");
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    dup2(open(log, O_CREAT | O_TRUNC | O_WRONLY, 0600), STDERR_FILENO);
    setenv(EXEC_RUN, scratch, 1);
    argv[1] = xstrdup(address);
    argv[3] = xstrdup(flag);
    argv[6] = xasprintf("\"%s\"", which);
    _exit(agent_exec(7, argv));
}

/* Its exit code; what it said is in *log. */
static int exec_end(pid_t pid, struct buf *log)
{
    AUTO(auto_free) char *path = in_scratch("log");
    struct err err;
    int status = 0;

    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(buf_read_file(log, path, 1 << 20, &err), 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#define ATTACHED "--leave-session-attached"

static void check_exec(const char *which, const char *address, const char *flag, int code,
                       const char *text)
{
    AUTO(buf_release) struct buf log = {0};

    CHECK_INT(exec_end(exec_start(address, which, flag), &log), code);
    CHECK_CONTAINS(log.data, text);
}

static void check_what_it_gets(void)
{
    AUTO(buf_release) struct buf log = {0};
    AUTO(auto_free) char *home = xasprintf("\nHOME=%s/runs/7\n", scratch);
    AUTO(auto_free) char *folder = in_scratch("runs/7");

    CHECK_INT(exec_end(exec_start("127.0.0.1", "1", ATTACHED), &log), 7);
    CHECK_CONTAINS(log.data, "args: " ATTACHED " -mca ess_base_vpid 1\n");
    CHECK_CONTAINS(log.data, home);
    CHECK_CONTAINS(log.data, "\nOMPI_MCA_btl_tcp_if_include=lo\n");
    CHECK_CONTAINS(log.data, "\n{\"kind\":\"TrainingJob\"}");
    CHECK_CONTAINS(log.data, "stdin: 0\n");
    CHECK(!strstr(log.data, "SECRET"));
    CHECK(!strstr(log.data, MPIRUN_WRAPPER_ENDED)); /* it has ended, but not well */
    CHECK(access(folder, F_OK) < 0);
}

static void check_flood(void)
{
    AUTO(buf_release) struct buf log = {0};

    CHECK_INT(exec_end(exec_start("127.0.0.1", "2", ATTACHED), &log), 0);
    CHECK_CONTAINS(log.data + (64 << 10), MPIRUN_WRAPPER_ENDED "w-1-0\n");
    CHECK_INT(log.len, (64 << 10) + strlen(MPIRUN_WRAPPER_ENDED "w-1-0\n"));
}

/* ---- a daemon that stays */

static bool alive(pid_t pid)
{
    AUTO(auto_free) char *path = xasprintf("/proc/%d/stat", (int)pid);
    AUTO(buf_release) struct buf stat = {0};
    struct err err;

    return buf_read_file(&stat, path, 4096, &err) == 0 && !strstr(stat.data, ") Z");
}

static void nap(void) { usleep(10000); }

/* Waits until the daemon has a child; both pids. */
static void daemon_pids(pid_t pids[2])
{
    AUTO(auto_free) char *path = in_scratch("orted.pids");
    int a = 0, b = 0;

    for (int i = 0; i < 3000 && b == 0; i++) {
        FILE *f = fopen(path, "re");

        if (!f || fscanf(f, "%d %d\n", &a, &b) != 2)
            nap();
        if (f)
            fclose(f);
    }
    CHECK(a > 0 && b > 0);
    pids[0] = a;
    pids[1] = b;
    CHECK(alive(a) && alive(b));
    remove(path);
}

static void check_gone(const pid_t pids[2])
{
    for (int i = 0; i < 3000 && (alive(pids[0]) || alive(pids[1])); i++)
        nap();
    CHECK(!alive(pids[0]));
    CHECK(!alive(pids[1]));
}

static void check_mpirun_dies(const struct exec_agent *agent)
{
    pid_t pids[2], pid;

    write_context(agent, 8, "w-1-0", "job");
    pid = exec_start("127.0.0.1", "3", ATTACHED);
    daemon_pids(pids);
    check_exec("3", "127.0.0.1", ATTACHED, 255, "generation 8 has its daemon here already");
    CHECK(alive(pids[1]));
    kill(pid, SIGKILL);
    CHECK_INT(waitpid(pid, NULL, 0), pid);
    check_gone(pids);
}

static void check_higher_generation(const struct exec_agent *agent)
{
    AUTO(auto_free) char *path = in_scratch("log");
    pid_t pids[2], pid;
    int status = 0;

    write_context(agent, 9, "w-1-0", "job");
    pid = exec_start("127.0.0.1", "3", ATTACHED);
    daemon_pids(pids);
    remove(path); /* the second one writes its own */
    write_context(agent, 10, "w-1-0", "job");
    check_exec("1", "127.0.0.1", ATTACHED, 7, "args: ");
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(WEXITSTATUS(status), 255);
    check_gone(pids);
}

static void check_agent_dies(const struct exec_agent *agent)
{
    AUTO(buf_release) struct buf log = {0};
    pid_t pids[2], pid;

    write_context(agent, 11, "w-1-0", "job");
    pid = exec_start("127.0.0.1", "3", ATTACHED);
    daemon_pids(pids);
    kill(agent->pid, SIGKILL);
    CHECK_INT(waitpid(agent->pid, NULL, 0), agent->pid);
    CHECK_INT(exec_end(pid, &log), 255);
    CHECK_CONTAINS(log.data, "agent of w-1-0 (127.0.0.1): ");
    for (int i = 0; i < 3000 && alive(pids[1]); i++)
        nap();
    CHECK(!alive(pids[1]));
    kill(pids[0], SIGKILL); /* another session, and nobody left to adopt it */
}

int main(void)
{
    AUTO(auto_free) char *path = NULL, *program = NULL;
    struct exec_agent agent;

    scratch = scratch_make();
    write_key("job", "a");
    write_key("other", "b");
    program = in_scratch("orted");
    scratch_write(scratch, "orted", orted, sizeof orted - 1);
    chmod(program, 0700);
    path = xasprintf("%s:%s", scratch, getenv("PATH"));
    setenv("PATH", path, 1);
    setenv("SECRET", "x", 1);

    agent = agent_start();
    write_context(&agent, 7, "w-1-0", "job");
    check_what_it_gets();
    check_flood();
    check_exec("4", "127.0.0.1", ATTACHED, 137, "");
    check_exec("1", "127.0.0.1", "--daemonize", 255, "argument \"--daemonize\" is not allowed");
    check_exec("1", "127.0.0.2", ATTACHED, 255, "127.0.0.2 is no address of generation 7");
    write_context(&agent, 7, "w-9-0", "job");
    check_exec("1", "127.0.0.1", ATTACHED, 255, "refused: this is pod w-1-0, not w-9-0");
    write_context(&agent, 7, "w-1-0", "other");
    check_exec("1", "127.0.0.1", ATTACHED, 255, "agent of w-1-0 (127.0.0.1): ");
    check_mpirun_dies(&agent);
    check_higher_generation(&agent);
    check_agent_dies(&agent);
    scratch_remove(scratch);
    return test_result();
}
