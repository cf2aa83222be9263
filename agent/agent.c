#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "agent/canary.h"
#include "agent/exec_server.h"
#include "agent/finished_model.h"
#include "agent/mpi_folder.h"
#include "agent/mpi_version.h"
#include "agent/run.h"
#include "agent/server.h"
#include "paceline/clock.h"
#include "paceline/listener.h"
#include "paceline/log.h"
#include "paceline/mem.h"

#define FAREWELL_MS 2000
#define LOOK_MS 500 /* whether the model was fetched */
#define EXIT_TERMINATED (128 + SIGTERM)

struct agent {
    const struct agent_options *options;
    struct channel_tls *tls;
    struct supervisor *supervisor;
    struct exec_server *execs;
    struct server *server;
    struct run_config run_config;
    struct engine_run *run; /* the newest; NULL: there was none */
    struct world pending;   /* taken, waits for the run before it to end; generation 0: none */
    bool pending_stop;      /* and was asked to stop meanwhile */
    long long fence;        /* the highest generation seen */
    int listener, signals;
    struct canary canary;
    bool ending; /* SIGTERM came */
    int64_t end_ms;
    int exit_code; /* -1: go on */
    int64_t farewell_ms;
    int64_t keep_until_ms; /* the training is done and its model kept; 0: not */
    int64_t now_ms;
};

static void send_control(const struct agent *a, const cJSON *message)
{
    struct channel *c = server_control(a->server);

    if (c)
        channel_send(c, message);
}

static void send_report(const struct agent *a)
{
    AUTO(auto_json) cJSON *message = report_message(run_report(a->run));

    send_control(a, message);
}

static void send_event(void *arg, const cJSON *event)
{
    const struct agent *a = arg;
    AUTO(auto_json) cJSON *message = cJSON_CreateObject();

    cJSON_AddStringToObject(message, "type", "event");
    cJSON_AddNumberToObject(message, "generation", (double)run_report(a->run)->generation);
    cJSON_AddItemToObject(message, "event", cJSON_Duplicate(event, true));
    send_control(a, message);
}

/* The operator gets what is queued, or a moment to come for it; then the program ends. */
static void agent_leave(struct agent *a, int exit_code)
{
    if (a->exit_code >= 0)
        return;
    a->exit_code = exit_code;
    a->farewell_ms = a->run ? a->now_ms + FAREWELL_MS : a->now_ms;
}

/* The pod's termination message. The kubelet mounts this one file, so it is written in place. */
static void write_last_word(const struct agent *a, const char *text)
{
    const char *path = a->options->termination_log;
    AUTO(auto_close) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        log_error("cannot write the termination message to %s: %s", path, strerror(errno));
}

static void write_record(const struct agent *a)
{
    AUTO(auto_json) cJSON *record = report_record(run_report(a->run));
    AUTO(buf_release) struct buf text;

    buf_init(&text, 0);
    json_print(record, 0, &text);
    write_last_word(a, text.data);
}

static void keep_model(struct agent *a)
{
    struct err err;

    if (finished_model_keep(a->options->state, run_world(a->run), run_report(a->run), &err) < 0)
        log_error("there is no model to keep: %s", err.msg);
    else if (a->options->keep_ms)
        a->keep_until_ms = a->now_ms + a->options->keep_ms;
}

/* Record and model are written before anybody is told that the training is done. */
static void agent_finish(struct agent *a)
{
    world_release(&a->pending);
    write_record(a);
    if (!a->options->program)
        keep_model(a);
    send_report(a);
    if (!a->keep_until_ms)
        agent_leave(a, EXIT_OK);
}

static void run_changed(void *arg)
{
    struct agent *a = arg;
    const struct engine_report *report = run_report(a->run);

    if (report_over(report))
        log_info("run ended generation=%lld exit=%d: %s", report->generation, report->exit,
                 report->message);
    if (report->phase == PHASE_DONE) {
        agent_finish(a);
        return;
    }
    send_report(a);
    if (report_over(report) && report->permanent && !a->pending.generation) {
        write_last_word(a, report->message);
        agent_leave(a, report->exit);
    }
}

static bool is_running(const struct agent *a) { return a->run && !report_over(run_report(a->run)); }

/* Ends the daemons and the run of older generations. */
static void raise_fence(struct agent *a, long long generation)
{
    a->fence = generation;
    exec_server_fence(a->execs, generation);
    if (is_running(a))
        run_kill(a->run, "a newer generation has begun");
    world_release(&a->pending);
}

static void refuse_world(struct channel *c, long long generation, const char *why)
{
    AUTO(auto_json) cJSON *message = cJSON_CreateObject();

    cJSON_AddStringToObject(message, "type", "refused");
    cJSON_AddNumberToObject(message, "generation", (double)generation);
    cJSON_AddStringToObject(message, "message", why);
    channel_send(c, message);
}

static int agent_check_world(const struct agent *a, const struct world *w, struct err *err)
{
    if (a->ending || a->exit_code >= 0)
        return err_set(err, ERR_CONFLICT, "this pod is ending");
    if (a->keep_until_ms)
        return err_set(err, ERR_CONFLICT, "the training is done");
    if (w->generation <= a->fence)
        return err_set(err, ERR_CONFLICT, "generation %lld is not above %lld, which was seen",
                       w->generation, a->fence);
    if (strcmp(w->hosts[0].pod, a->options->pod) != 0)
        return err_set(err, ERR_INVALID, "hosts[0].pod: found \"%.253s\"; this pod is \"%.253s\"",
                       w->hosts[0].pod, a->options->pod);
    return 0;
}

static void agent_begin(struct agent *a, struct world *world)
{
    run_free(a->run);
    a->run = run_start(&a->run_config, world);
    run_changed(a);
}

static void take_world(struct agent *a, struct channel *c, const cJSON *message)
{
    AUTO(world_release) struct world world;
    struct err err;

    if (world_parse(&world, message, &err) < 0 || agent_check_world(a, &world, &err) < 0) {
        refuse_world(c, message_integer(message, "generation"), err.msg);
        return;
    }
    log_info("world generation=%lld hosts=%zu", world.generation, world.n_hosts);
    raise_fence(a, world.generation);
    a->pending = world;
    a->pending_stop = false;
    world = (struct world){0};
}

/* The run that a message is about, if it is under way. */
static struct engine_run *addressed(const struct agent *a, const cJSON *message)
{
    long long generation = message_integer(message, "generation");

    return is_running(a) && run_report(a->run)->generation == generation ? a->run : NULL;
}

/* A world that waits for the run before it needs no killing: it stops when it has begun. */
static void stop_pending(struct agent *a, const cJSON *message)
{
    if (a->pending.generation && a->pending.generation == message_integer(message, "generation"))
        a->pending_stop = true;
}

static void take_stop(struct agent *a, struct channel *c, const cJSON *message)
{
    struct engine_run *run = addressed(a, message);

    (void)c;
    stop_pending(a, message);
    if (run)
        run_stop(run, a->now_ms);
}

static void take_kill(struct agent *a, struct channel *c, const cJSON *message)
{
    struct engine_run *run = addressed(a, message);

    (void)c;
    stop_pending(a, message);
    if (run)
        run_kill(run, "killed on request");
}

static void take_exec(struct agent *a, struct channel *c, const cJSON *message)
{
    long long generation = message_integer(message, "generation");

    if (a->ending || a->exit_code >= 0 || generation < 1 || generation < a->fence) {
        channel_refuse(c, "generation %lld: %s", generation,
                       generation < a->fence ? "a higher one was seen" : "this pod is ending");
        return;
    }
    if (generation > a->fence)
        raise_fence(a, generation);
    exec_server_start(a->execs, c, message);
}

static const struct order {
    enum client_kind kind;
    const char *type;
    void (*take)(struct agent *a, struct channel *c, const cJSON *message);
} orders[] = {
    {CLIENT_CONTROL, "world", take_world},
    {CLIENT_CONTROL, "stop", take_stop},
    {CLIENT_CONTROL, "kill", take_kill},
    {CLIENT_EXEC, "exec", take_exec},
};

/* Ignores messages that only later versions know. */
static int take_message(void *arg, enum client_kind kind, struct channel *c, const cJSON *message,
                        struct err *err)
{
    (void)err;
    for (size_t i = 0; i < ARRAY_LEN(orders); i++)
        if (orders[i].kind == kind && strcmp(orders[i].type, message_type(message)) == 0)
            orders[i].take(arg, c, message);
    return 0;
}

/* Of the run that is, or is about to be; 0: there was none. */
static long long newest_generation(const struct agent *a)
{
    if (a->pending.generation)
        return a->pending.generation;
    return a->run ? run_report(a->run)->generation : 0;
}

static void greet(void *arg, enum client_kind kind, struct channel *c)
{
    struct agent *a = arg;
    AUTO(auto_json) cJSON *hello = cJSON_CreateObject();

    cJSON_AddStringToObject(hello, "type", "hello");
    cJSON_AddNumberToObject(hello, "protocol", PROTOCOL);
    cJSON_AddStringToObject(hello, "pod", a->options->pod);
    cJSON_AddNumberToObject(hello, "generation", (double)a->fence);
    if (kind == CLIENT_CONTROL)
        cJSON_AddNumberToObject(hello, "run", (double)newest_generation(a));
    if (kind == CLIENT_CONTROL && canary_port(&a->canary))
        cJSON_AddNumberToObject(hello, "canary", canary_port(&a->canary));
    channel_send(c, hello);
    if (kind != CLIENT_CONTROL || !a->run)
        return;
    send_report(a);
    for (size_t i = 0; i < N_KEPT; i++)
        if (run_report(a->run)->kept[i])
            send_event(a, run_report(a->run)->kept[i]);
}

static void say_goodbye(void *arg, enum client_kind kind, struct channel *c)
{
    const struct agent *a = arg;

    if (kind == CLIENT_EXEC)
        exec_server_end(a->execs, c);
}

/* SIGTERM: everything stops in order, and is killed when its time is over or at a second one. */
static void begin_end(struct agent *a)
{
    a->end_ms = a->ending ? a->now_ms : a->now_ms + a->options->grace_ms;
    if (!a->ending)
        log_info("asked to end");
    a->ending = true;
    world_release(&a->pending);
    if (is_running(a))
        run_stop(a->run, a->now_ms);
}

static void take_signals(struct agent *a)
{
    struct signalfd_siginfo info;

    while (read(a->signals, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            supervisor_reap(a->supervisor);
        else
            begin_end(a);
    }
}

static void agent_settle(struct agent *a)
{
    if (a->pending.generation && a->exit_code < 0 && !is_running(a)) {
        agent_begin(a, &a->pending);
        if (a->pending_stop)
            run_stop(a->run, a->now_ms);
    }
    if (a->keep_until_ms && (a->ending || a->now_ms >= a->keep_until_ms ||
                             finished_model_is_fetched(a->options->state)))
        agent_leave(a, EXIT_OK);
    if (a->ending && (supervisor_count(a->supervisor) == 0 || a->now_ms >= a->end_ms))
        agent_leave(a, EXIT_TERMINATED);
}

static bool agent_is_over(const struct agent *a)
{
    const struct channel *c = server_control(a->server);

    return a->exit_code >= 0 && (a->now_ms >= a->farewell_ms || (c && channel_drained(c)));
}

static void agent_loop(struct agent *a)
{
    struct pollset w = {0};

    for (a->now_ms = clock_ms(); !agent_is_over(a);) {
        pollset_clear(&w);
        pollset_add(&w, a->signals, POLLIN);
        server_wait(a->server, &w);
        canary_wait(&a->canary, &w, a->now_ms);
        exec_server_wait(a->execs, &w);
        if (a->run)
            run_wait(a->run, &w);
        if (a->ending)
            pollset_until(&w, a->end_ms);
        if (a->exit_code >= 0)
            pollset_until(&w, a->farewell_ms);
        else if (a->keep_until_ms)
            pollset_until(&w, a->now_ms + LOOK_MS);
        pollset_poll(&w, a->now_ms);
        a->now_ms = clock_ms();
        if (pollset_came(&w, a->signals))
            take_signals(a);
        if (a->run)
            run_step(a->run, &w, a->now_ms);
        exec_server_step(a->execs, &w);
        server_step(a->server, &w, a->now_ms);
        canary_step(&a->canary, &w, a->now_ms);
        agent_settle(a);
    }
    pollset_release(&w);
}

static int load_key(struct agent *a, struct err *err)
{
    AUTO(buf_release) struct buf key = {0};

    if (buf_read_secret_file(&key, a->options->key, CHANNEL_KEY_BYTES + 1, err) < 0)
        return err_wrap(err, "the job's key");
    if (channel_tls_new(&a->tls, key.data, key.len, err) < 0)
        return err_wrap(err, "%s", a->options->key);
    return 0;
}

static int open_server(struct agent *a, struct err *err)
{
    struct listener_address address;

    if (load_key(a, err) < 0)
        return -1;
    if (listener_parse(&address, a->options->listen, err) < 0)
        return err_wrap(err, "--listen");
    a->listener = listener_open(&address, err);
    return a->listener < 0 ? err_wrap(err, "--listen %s", a->options->listen) : 0;
}

/* The training does without it. */
static void open_canary(struct agent *a)
{
    struct err err;

    if (canary_open(&a->canary, a->options->listen, &err) < 0)
        log_warn("whether NetworkPolicies are enforced is not tested: %s", err.msg);
}

static int agent_catch_signals(void)
{
    static const int caught[] = {SIGTERM, SIGINT, SIGCHLD};
    sigset_t set;

    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_LEN(caught); i++)
        sigaddset(&set, caught[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void assemble(struct agent *a)
{
    const struct agent_options *o = a->options;
    struct server_config server = {.tls = a->tls,
                                   .listener = a->listener,
                                   .on_hello = greet,
                                   .on_message = take_message,
                                   .on_end = say_goodbye,
                                   .arg = a};

    a->signals = agent_catch_signals();
    a->supervisor = supervisor_new();
    a->execs = exec_server_new(a->supervisor, o->pod, o->scratch, o->program != NULL);
    a->server = server_new(&server);
    a->run_config = (struct run_config){.supervisor = a->supervisor,
                                        .scratch = o->scratch,
                                        .state = o->state,
                                        .output = o->output,
                                        .worker = o->worker,
                                        .program = o->program,
                                        .ranks = o->ranks,
                                        .key = o->key,
                                        .port = listener_port(a->listener),
                                        .grace_ms = o->grace_ms,
                                        .on_change = run_changed,
                                        .on_event = send_event,
                                        .arg = a};
}

static void agent_take_apart(struct agent *a)
{
    exec_server_free(a->execs);
    supervisor_free(a->supervisor);
    run_free(a->run);
    world_release(&a->pending);
    server_free(a->server);
    channel_tls_free(a->tls);
    canary_release(&a->canary);
    close(a->listener);
    close(a->signals);
}

int agent_serve(const struct agent_options *options, struct err *err)
{
    struct agent a = {.options = options, .exit_code = -1, .listener = -1};

    if (options->program && mpi_version_check(err) < 0) {
        write_last_word(&a, err->msg);
        return -1;
    }
    if (open_server(&a, err) < 0) {
        channel_tls_free(a.tls);
        return -1;
    }
    open_canary(&a);
    mpi_folder_sweep(options->scratch);
    assemble(&a);
    log_info("listening port=%d", listener_port(a.listener));
    agent_loop(&a);
    agent_take_apart(&a);
    return a.exit_code;
}
