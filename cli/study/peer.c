#include "cli/study/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/run/folder.h"
#include "cli/run/launch.h"
#include "cli/study/calibrate.h"
#include "cli/study/result.h"
#include "paceline/mem.h"

#define STEPS_DEFAULT 100
#define NOT_FOUND 127 /* as the shell says it */

#define QUESTIONS 2 /* the first answer is of a machine that has just begun */

/* Its answers: the last of each kind; and how the shell ended. */
struct answers {
    cJSON *version, *speed;
    int speeds; /* how often it has said one */
    int status;
};

static void study_peer_release(struct answers *a)
{
    cJSON_Delete(a->version);
    cJSON_Delete(a->speed);
}

static void study_peer_keep(cJSON **slot, cJSON *answer)
{
    cJSON_Delete(*slot);
    *slot = answer;
}

static void study_peer_take(struct answers *a, const char *line)
{
    cJSON *answer = cJSON_Parse(line);

    if (event_number(answer, "samplesPerSecond") > 0) {
        study_peer_keep(&a->speed, answer);
        a->speeds++;
    } else if (*event_text(answer, "version")) {
        study_peer_keep(&a->version, answer);
    } else {
        cJSON_Delete(answer);
    }
}

static void study_peer_ask(struct answers *a, const char *command, long long steps)
{
    AUTO(auto_free) char *all = xasprintf("printf '%lld\\n%lld\\n' | %s", steps, steps, command);
    FILE *out = popen(all, "re");
    char line[4096];

    a->status = -1;
    if (!out)
        return;
    while (fgets(line, sizeof line, out))
        study_peer_take(a, line);
    a->status = pclose(out);
}

static cJSON *study_peer_done_of(const struct answers *a, const char *command, long long steps)
{
    const double seconds = (double)steps * event_number(a->speed, "stepMs") / 1e3;
    cJSON *done = cJSON_CreateObject();

    cJSON_AddStringToObject(done, "event", "done");
    cJSON_AddStringToObject(done, "command", command);
    cJSON_AddStringToObject(done, "version", event_text(a->version, "version"));
    cJSON_AddNumberToObject(done, "step", (double)steps);
    cJSON_AddNumberToObject(done, "seconds", seconds);
    cJSON_AddNumberToObject(done, "trainSeconds", seconds);
    cJSON_AddNumberToObject(done, "samplesPerSecond", event_number(a->speed, "samplesPerSecond"));
    return done;
}

static const char *reason(const struct answers *a)
{
    if (a->version)
        return "it ended before it was measured";
    if (WIFEXITED(a->status) && WEXITSTATUS(a->status) == NOT_FOUND)
        return "it is not installed";
    return "it failed before it said its version";
}

static cJSON *not_compared(const struct answers *a)
{
    cJSON *done = cJSON_CreateObject();

    cJSON_AddStringToObject(done, "event", "done");
    cJSON_AddStringToObject(done, STUDY_NOT_COMPARED, reason(a));
    return done;
}

/* The environment of the command. */
static int study_peer_tell(const struct folder *folder, struct err *err)
{
    AUTO(auto_free) char *spec = folder_file(folder, "job.json");
    char worker[4096];

    if (launch_find_worker(worker, sizeof worker, err) < 0)
        return -1;
    setenv("PACELINE_WORKER", worker, 1);
    setenv("PACELINE_JOB", spec, 1);
    return 0;
}

int study_peer(struct history *h, const struct job *job, const char *command, const char *path,
               bool keep, struct err *err)
{
    AUTO(folder_release) struct folder folder = {.lock = -1};
    const long long steps = job->training.steps ? (long long)job->training.steps : STEPS_DEFAULT;
    AUTO(study_peer_release) struct answers a = {0};
    AUTO(auto_json) cJSON *done = NULL;

    if (folder_take(&folder, path, keep, err) < 0 || study_write_job(&folder, job, err) < 0 ||
        study_peer_tell(&folder, err) < 0)
        return err_exit_code(err->code);
    study_peer_ask(&a, command, steps);
    if (a.status != 0 || !a.version || a.speeds < QUESTIONS) {
        history_add(h, EVENT_DONE, not_compared(&a));
        return EXIT_OK;
    }
    done = study_peer_done_of(&a, command, steps);
    if (study_write_done(&folder, done, err) < 0)
        return err_exit_code(err->code);
    history_add(h, EVENT_DONE, STEAL(done));
    return EXIT_OK;
}
