#include "cli/run/session.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "paceline/clock.h"
#include "paceline/mem.h"

#define STOPPING "stopping after the next step, with a checkpoint; Ctrl-C again kills at once"

void session_init(struct session *s, enum event_type last)
{
    *s = (struct session){.last = last, .stopped = -1};
    history_init(&s->history);
}

void session_release(struct session *s)
{
    history_release(&s->history);
    if (s->tee)
        fclose(s->tee);
    s->tee = NULL;
}

/* Open after its last whole line: what a crash has cut is no event. */
static FILE *open_behind(const char *path)
{
    FILE *f = fopen(path, "r+e");
    long at;

    if (!f)
        return fopen(path, "we");
    fseek(f, 0, SEEK_END);
    for (at = ftell(f); at > 0; at--)
        if (fseek(f, at - 1, SEEK_SET) == 0 && fgetc(f) == '\n')
            break;
    if (at < 0 || fseek(f, at, SEEK_SET) < 0 || ftruncate(fileno(f), at) < 0) {
        fclose(f);
        return NULL;
    }
    return f;
}

int session_follow(struct session *s, const char *events, bool resume, struct err *err)
{
    if (resume)
        history_load(&s->history, events);
    s->tee = resume ? open_behind(events) : fopen(events, "we");
    s->tee_begin = s->tee ? ftell(s->tee) : 0;
    return s->tee ? 0 : err_set(err, ERR_IO, "cannot write %.300s: %s", events, strerror(errno));
}

void session_unfollow(struct session *s)
{
    if (s->tee && fflush(s->tee) == 0 && ftruncate(fileno(s->tee), s->tee_begin) == 0)
        fseek(s->tee, s->tee_begin, SEEK_SET);
}

static void note_garbage(struct session *s, const char *line)
{
    if (s->garbage[0])
        return;
    snprintf(s->garbage, sizeof s->garbage, "%s", line);
    for (char *c = s->garbage; *c; c++)
        if (!isprint((unsigned char)*c))
            *c = '?';
}

static void session_take_line(void *arg, const char *line, size_t len)
{
    struct session *s = arg;
    enum event_type type;
    cJSON *event = event_parse(line, len, &type);

    if (!event) {
        note_garbage(s, line);
        return;
    }
    if (s->tee) {
        fprintf(s->tee, "%s\n", line);
        fflush(s->tee);
    }
    if (s->json) {
        puts(line);
        fflush(stdout);
    }
    if (type == EVENT_START && !s->started && s->on_start)
        s->on_start(s->on_start_arg);
    s->started |= type == EVENT_START;
    s->steps |= type == EVENT_FIRST_STEP;
    if (type == EVENT_STOPPED)
        s->stopped = event_integer(event, "step");
    if (type == EVENT_SWITCH)
        s->relaunch = cJSON_IsTrue(cJSON_GetObjectItem(event, "relaunch"));
    if (type == EVENT_STAGE || type == EVENT_STOPPED)
        type = EVENT_UNKNOWN; /* for agents */
    history_add(&s->history, type, event);
    if (s->show && type != EVENT_UNKNOWN)
        s->show(s->show_arg, type, event);
}

static void show_log(void *arg, const char *line, size_t len)
{
    struct session *s = arg;

    if (s->show)
        s->show(s->show_arg, EVENT_UNKNOWN, NULL);
    fprintf(stderr, "%.*s\n", (int)len, line);
}

static void session_take_log(void *arg, const char *line, size_t len)
{
    struct session *s = arg;

    mpirun_filter_add(&s->filter, line, len, show_log, s);
}

/* The engine looks for the file before each step. */
static bool ask_to_stop(void *arg)
{
    struct session *s = arg;
    FILE *f = s->stop_file && s->steps && s->last == EVENT_DONE ? fopen(s->stop_file, "we") : NULL;

    if (!f)
        return false;
    s->asked = true;
    if (fclose(f) != 0)
        return false;
    show_log(s, STOPPING, strlen(STOPPING));
    return true;
}

static const char *signal_hint(int signal)
{
    return signal == SIGKILL ? "; the kernel does so when memory runs out" : "";
}

/* Why an engine that gave no reason itself did not succeed. */
static int session_explain_end(const struct session *s, const struct launch_end *end,
                               struct err *err)
{
    if (end->lingered) {
        err_set(err, ERR_NONE, "every worker has ended, but mpirun had not: it was killed");
    } else if (end->signal) {
        err_set(err, ERR_NONE, "a worker was killed by signal %d (%s)%s", end->signal,
                strsignal(end->signal), signal_hint(end->signal));
    } else if (s->garbage[0]) {
        err_set(err, ERR_NONE, "the worker printed a line that is no event: \"%s\"", s->garbage);
    } else if (end->exit_code != 0) {
        err_set(err, ERR_NONE, "the worker ended with exit code %d and gave no reason",
                end->exit_code);
    } else {
        err_set(err, ERR_NONE, "the worker ended before it was done and gave no reason");
    }
    return end->exit_code > 0 ? end->exit_code : EXIT_UNEXPECTED;
}

static int session_judge(const struct session *s, const struct launch_end *end, struct err *err)
{
    const struct history *h = &s->history;
    const cJSON *last = s->last == EVENT_DONE          ? h->done
                        : s->last == EVENT_EVALUATION  ? h->evaluation
                        : s->last == EVENT_CALIBRATION ? h->calibration
                                                       : h->prediction;

    /* A switch of strategy may end the engine as a stop does, and then it is launched again. */
    const bool stopped = s->stopped >= 0 && end->exit_code == 0 && !s->relaunch;

    if ((end->interrupted || stopped) && !(h->done && end->exit_code == 0)) {
        if (s->stopped >= 0)
            err_set(err, ERR_INTERRUPTED, "stopped after step %lld, as asked to",
                    (long long)s->stopped);
        else
            err_set(err, ERR_INTERRUPTED, "interrupted; every worker has ended");
        return EXIT_INTERRUPTED;
    }
    if (h->error) {
        int64_t code = event_integer(h->error, "code");

        err_set(err, ERR_NONE, "%s", event_text(h->error, "message"));
        return code > 0 && code < 256 ? (int)code : EXIT_UNEXPECTED;
    }
    return (last || s->relaunch) && end->exit_code == 0 ? EXIT_OK
                                                        : session_explain_end(s, end, err);
}

int session_run(struct session *s, const char *const *arguments, int ranks, int threads,
                int64_t started_ns, struct err *err)
{
    struct launch launch = {
        .arguments = arguments,
        .ranks = ranks,
        .threads = threads,
        .started_ns = started_ns,
        .on_line = session_take_line,
        .on_log = session_take_log,
        .stop_file = s->stop_file,
        .on_stop = ask_to_stop,
        .arg = s,
    };
    struct launch_end end;
    int result;

    s->relaunch = s->steps = s->asked = false;
    s->stopped = -1;
    if (s->last == EVENT_DONE)
        signal(SIGPIPE, SIG_IGN); /* our reader may exit; the training goes on */
    result = launch_run(&launch, &end, err);
    if (s->asked)
        unlink(s->stop_file);

    mpirun_filter_end(&s->filter, show_log, s);
    if (result < 0)
        return EXIT_UNEXPECTED;
    return session_judge(s, &end, err);
}

int session_fail(const struct session *s, const char *command, int exit_code, const struct err *err)
{
    if (s->json && !s->history.error) {
        AUTO(auto_json) cJSON *event = cJSON_CreateObject();
        char *line;

        cJSON_AddStringToObject(event, "event", "error");
        cJSON_AddNumberToObject(event, "code", exit_code);
        cJSON_AddStringToObject(event, "message", err->msg);
        cJSON_AddStringToObject(event, "time", clock_rfc3339(clock_realtime_ns()).s);
        line = cJSON_PrintUnformatted(event);
        puts(line);
        free(line);
    }
    fprintf(stderr, "paceline %s: %s\n", command, err->msg);
    return exit_code;
}
