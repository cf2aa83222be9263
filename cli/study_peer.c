#include "cli/study_peer.h"

#include <stdio.h>
#include <string.h>

#include "cli/folder.h"
#include "cli/study_calibrate.h"
#include "cli/study_result.h"
#include "paceline/mem.h"

#define STEPS_DEFAULT 100

/* What it has said: the last answer of each kind. */
struct answers {
    cJSON *version, *speed;
};

static void release(struct answers *a)
{
    cJSON_Delete(a->version);
    cJSON_Delete(a->speed);
}

static void keep(cJSON **slot, cJSON *answer)
{
    cJSON_Delete(*slot);
    *slot = answer;
}

static void take(struct answers *a, const char *line)
{
    cJSON *answer = cJSON_Parse(line);

    if (event_number(answer, "samplesPerSecond") > 0)
        keep(&a->speed, answer);
    else if (*event_text(answer, "version"))
        keep(&a->version, answer);
    else
        cJSON_Delete(answer);
}

/* False: it failed. */
static bool ask(struct answers *a, const char *command, long long steps)
{
    AUTO(auto_free) char *all = xasprintf("printf '%lld\\n%lld\\n' | %s", steps, steps, command);
    FILE *out = popen(all, "re");
    char line[4096];

    if (!out)
        return false;
    while (fgets(line, sizeof line, out))
        take(a, line);
    return pclose(out) == 0;
}

static cJSON *done_of(const struct answers *a, long long steps)
{
    const double seconds = (double)steps * event_number(a->speed, "stepMs") / 1e3;
    cJSON *done = cJSON_CreateObject();

    cJSON_AddStringToObject(done, "event", "done");
    cJSON_AddStringToObject(done, "version", event_text(a->version, "version"));
    cJSON_AddNumberToObject(done, "step", (double)steps);
    cJSON_AddNumberToObject(done, "seconds", seconds);
    cJSON_AddNumberToObject(done, "trainSeconds", seconds);
    cJSON_AddNumberToObject(done, "samplesPerSecond", event_number(a->speed, "samplesPerSecond"));
    return done;
}

static cJSON *not_compared(const struct answers *a)
{
    cJSON *done = cJSON_CreateObject();

    cJSON_AddStringToObject(done, "event", "done");
    cJSON_AddStringToObject(done, STUDY_NOT_COMPARED,
                            a->version ? "it ended before it was measured" : "it is not installed");
    return done;
}

int study_peer(struct history *h, const struct job *job, const char *command, const char *path,
               struct err *err)
{
    AUTO(folder_release) struct folder folder = {.lock = -1};
    const long long steps = job->training.steps ? (long long)job->training.steps : STEPS_DEFAULT;
    AUTO(release) struct answers a = {0};
    AUTO(auto_json) cJSON *done = NULL;

    if (folder_take(&folder, path, true, err) < 0)
        return err_exit_code(err->code);
    if (!ask(&a, command, steps) || !a.version || !a.speed) {
        history_add(h, EVENT_DONE, not_compared(&a));
        return EXIT_OK;
    }
    done = done_of(&a, steps);
    if (study_write_run(&folder, job, done, err) < 0)
        return err_exit_code(err->code);
    history_add(h, EVENT_DONE, STEAL(done));
    return EXIT_OK;
}
