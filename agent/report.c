#include "agent/report.h"

#include <math.h>
#include <signal.h>
#include <string.h>

#include "agent/exec.h"
#include "agent/mpirun_wrapper.h"
#include "paceline/mem.h"
#include "wire/frame.h"

static const char *const phase_names[] = {
    [PHASE_STARTING] = "starting", [PHASE_TRAINING] = "training", [PHASE_STOPPING] = "stopping",
    [PHASE_DONE] = "done",         [PHASE_STOPPED] = "stopped",   [PHASE_FAILED] = "failed",
};

/* The effect of an event: its place (-1: it is not kept), the field with the newest step, and
 * whether it is the engine's last event. */
static const struct meaning {
    enum event_type type;
    int kept;
    const char *step;
    bool last;
} meanings[] = {
    {EVENT_START, KEPT_START, "resumedStep", false},
    {EVENT_SWITCH, KEPT_SWITCH, "step", false},
    {EVENT_PROGRESS, KEPT_PROGRESS, "step", false},
    {EVENT_EPOCH, KEPT_EPOCH, "step", false},
    {EVENT_DURABLE, KEPT_DURABLE, NULL, false},
    {EVENT_CHECKPOINT, -1, "step", false},
    {EVENT_DONE, KEPT_DONE, "step", true},
    {EVENT_STOPPED, -1, "step", true},
    {EVENT_ERROR, -1, NULL, true},
};

void report_init(struct engine_report *r, const struct world *world, bool foreign)
{
    const cJSON *metadata = cJSON_GetObjectItemCaseSensitive(world->job, "metadata");

    *r = (struct engine_report){.generation = world->generation,
                                .pods = cJSON_CreateArray(),
                                .phase = foreign ? PHASE_TRAINING : PHASE_STARTING,
                                .foreign = foreign};
    snprintf(r->uid, sizeof r->uid, "%s", message_text(metadata, "uid"));
    for (size_t i = 0; i < world->n_hosts; i++)
        cJSON_AddItemToArray(r->pods, cJSON_CreateString(world->hosts[i].pod));
    if (!foreign)
        snprintf(r->stage, sizeof r->stage, world->n_hosts > 1 ? "daemons" : "ranks");
}

void report_release(struct engine_report *r)
{
    cJSON_Delete(r->pods);
    cJSON_Delete(r->last);
    for (size_t i = 0; i < N_KEPT; i++)
        cJSON_Delete(r->kept[i]);
    *r = (struct engine_report){0};
}

static void report_replace(cJSON **kept, const cJSON *event)
{
    cJSON_Delete(*kept);
    *kept = cJSON_Duplicate(event, true);
}

static const struct meaning *find_meaning(enum event_type type)
{
    for (size_t i = 0; i < ARRAY_LEN(meanings); i++)
        if (meanings[i].type == type)
            return &meanings[i];
    return NULL;
}

static void report_keep(struct engine_report *r, const struct meaning *m, const cJSON *event)
{
    int64_t step = m->step ? event_integer(event, m->step) : -1;

    if (step >= 0)
        r->step = step;
    if (m->kept >= 0)
        report_replace(&r->kept[m->kept], event);
    if (m->last) {
        report_replace(&r->last, event);
        r->last_type = m->type;
    }
}

bool report_event(struct engine_report *r, enum event_type type, const cJSON *event)
{
    const struct meaning *m = find_meaning(type);
    const char *stage = event_text(event, "stage");

    if (m)
        report_keep(r, m, event);
    if (r->phase != PHASE_STARTING)
        return false;
    if (type == EVENT_START) {
        r->phase = PHASE_TRAINING;
        r->stage[0] = '\0';
        return true;
    }
    if (type != EVENT_STAGE || strcmp(stage, r->stage) == 0)
        return false;
    snprintf(r->stage, sizeof r->stage, "%s", stage);
    return true;
}

bool report_stop(struct engine_report *r)
{
    if (r->phase >= PHASE_STOPPING)
        return false;
    r->phase = PHASE_STOPPING;
    r->stage[0] = '\0';
    return true;
}

static bool report_take_word(char *out, size_t size, const char *line, const char *mark)
{
    if (strncmp(line, mark, strlen(mark)) != 0)
        return false;
    snprintf(out, size, "%s", line + strlen(mark));
    return true;
}

bool report_log(struct engine_report *r, const char *line)
{
    r->ended += strncmp(line, MPIRUN_WRAPPER_ENDED, strlen(MPIRUN_WRAPPER_ENDED)) == 0;
    (void)report_take_word(r->silent, sizeof r->silent, line, EXEC_SILENT);
    return report_take_word(r->complaint, sizeof r->complaint, line, EXEC_COMPLAINT);
}

/* Codes that trying again cannot mend: invalid input, data, divergence. */
static bool is_permanent(int64_t code) { return code >= EXIT_INVALID && code <= EXIT_DIVERGED; }

static const char *who_of(const struct engine_report *r)
{
    return r->foreign ? "program" : "engine";
}

/* Every pod's daemon but the chief's, which is mpirun itself, has ended well. */
static bool is_whole(const struct engine_report *r)
{
    return !*r->complaint && r->ended + 1 == (size_t)cJSON_GetArraySize(r->pods);
}

static void explain_code(struct engine_report *r, int code)
{
    if (code == 0 && r->foreign)
        snprintf(r->message, sizeof r->message,
                 "mpirun ended with exit code 0, but of %d other pods only %zu said that they had "
                 "come to the end",
                 cJSON_GetArraySize(r->pods) - 1, r->ended);
    else if (code == 0)
        snprintf(r->message, sizeof r->message,
                 "the engine ended before it was done and gave no reason");
    else
        snprintf(r->message, sizeof r->message, "the %s ended with exit code %d%s", who_of(r), code,
                 r->foreign ? "" : " and gave no reason");
}

static void report_explain(struct engine_report *r, int code)
{
    if (r->last_type == EVENT_ERROR)
        snprintf(r->message, sizeof r->message, "%s", event_text(r->last, "message"));
    else if (r->killed)
        snprintf(r->message, sizeof r->message, "%s", r->killed);
    else if (*r->complaint)
        snprintf(r->message, sizeof r->message, "%s", r->complaint);
    else if (code > 128 && code <= 128 + SIGRTMAX)
        snprintf(r->message, sizeof r->message, "the %s was ended by signal %d (%s)%s", who_of(r),
                 code - 128, strsignal(code - 128),
                 code == 128 + SIGKILL ? "; the kernel does so when memory runs out" : "");
    else
        explain_code(r, code);
}

/* A program that was asked to stop may end as it likes. Its exit code then says nothing: many
 * end with 0 at a signal. */
static void end_foreign(struct engine_report *r, int code)
{
    if (r->phase == PHASE_STOPPING && !*r->complaint) {
        r->phase = PHASE_STOPPED;
        snprintf(r->message, sizeof r->message, "the program was stopped");
    } else if (code == 0 && is_whole(r) && !r->killed) {
        r->phase = PHASE_DONE;
        snprintf(r->message, sizeof r->message, "the program has ended with exit code 0");
    } else {
        r->phase = PHASE_FAILED;
        report_explain(r, code);
    }
}

/* It has stopped by itself, to be launched in the second part of StrategySwitch. */
static bool is_relaunch(const struct engine_report *r)
{
    return r->phase == PHASE_STOPPED && event_true(r->kept[KEPT_SWITCH], "relaunch");
}

void report_end(struct engine_report *r, int code)
{
    bool done = code == 0 && r->last_type == EVENT_DONE;
    bool stopped = code == 0 && r->last_type == EVENT_STOPPED;
    int64_t own = r->last_type == EVENT_ERROR ? event_integer(r->last, "code") : -1;

    r->stage[0] = '\0';
    if (r->foreign) {
        r->exit = code;
        end_foreign(r, code);
        return;
    }
    r->exit = code != 0 && own > 0 && own < 256 ? (int)own : code;
    r->permanent = code != 0 && is_permanent(own);
    r->phase = done ? PHASE_DONE : stopped ? PHASE_STOPPED : PHASE_FAILED;
    if (done)
        snprintf(r->message, sizeof r->message, "trained to step %lld", r->step);
    else if (stopped)
        snprintf(r->message, sizeof r->message, "stopped after step %lld%s", r->step,
                 is_relaunch(r) ? " to change the strategy" : "");
    else
        report_explain(r, code);
}

void report_fail(struct engine_report *r, int exit_code, const char *message)
{
    r->phase = PHASE_FAILED;
    r->stage[0] = '\0';
    r->exit = exit_code;
    r->permanent = is_permanent(exit_code);
    snprintf(r->message, sizeof r->message, "%s", message);
}

bool report_over(const struct engine_report *r) { return r->phase >= PHASE_DONE; }

cJSON *report_message(const struct engine_report *r)
{
    cJSON *m = cJSON_CreateObject();

    cJSON_AddStringToObject(m, "type", "run");
    cJSON_AddNumberToObject(m, "generation", (double)r->generation);
    cJSON_AddItemToObject(m, "pods", cJSON_Duplicate(r->pods, true));
    cJSON_AddStringToObject(m, "phase", phase_names[r->phase]);
    cJSON_AddStringToObject(m, "stage", r->stage);
    cJSON_AddNumberToObject(m, "step", (double)r->step);
    cJSON_AddNumberToObject(m, "exit", r->exit);
    cJSON_AddStringToObject(m, "message", r->message);
    if (r->phase == PHASE_DONE)
        cJSON_AddItemToObject(m, "record", report_record(r));
    if (is_relaunch(r))
        cJSON_AddTrueToObject(m, "relaunch");
    if (r->phase == PHASE_FAILED && *r->silent)
        cJSON_AddStringToObject(m, "silent", r->silent);
    return m;
}

cJSON *report_record(const struct engine_report *r)
{
    cJSON *record = cJSON_CreateObject();
    double accuracy = event_number(r->last, "testAccuracy"), r2 = event_number(r->last, "testR2");
    char digest[80];

    snprintf(digest, sizeof digest, "%s", event_text(r->last, "digest"));
    cJSON_AddStringToObject(record, "uid", r->uid);
    cJSON_AddNumberToObject(record, "generation", (double)r->generation);
    if (r->foreign)
        return record;
    cJSON_AddNumberToObject(record, "step", (double)r->step);
    if (!isnan(accuracy))
        cJSON_AddNumberToObject(record, "accuracy", accuracy);
    if (!isnan(r2))
        cJSON_AddNumberToObject(record, "r2", r2);
    cJSON_AddStringToObject(record, "digest", digest);
    return record;
}
