#include "cli/trial.h"

#include "cli/folder.h"
#include "paceline/clock.h"
#include "paceline/file.h"
#include "paceline/mem.h"

static int open_folder(struct session *s, struct folder *folder, const struct job *job,
                       const char *path, enum trial how, struct err *err)
{
    AUTO(auto_free) char *spec = NULL;
    AUTO(auto_free) char *events = NULL;
    AUTO(buf_release) struct buf text;

    buf_init(&text, 0);
    if (folder_take(folder, path, how != TRIAL_ASIDE, err) < 0)
        return -1;
    spec = folder_file(folder, "job.json");
    events = folder_file(folder, "events.jsonl");
    job_to_text(job, &text);
    if (file_write_atomic(spec, text.data, text.len, err) < 0)
        return -1;
    return session_follow(s, events, how == TRIAL_RESUME, err);
}

int trial_run(struct session *s, const struct job *job, const char *path, enum trial how,
              struct err *err)
{
    AUTO(folder_release) struct folder folder = {.lock = -1};
    AUTO(auto_free) char *spec = NULL;
    AUTO(auto_free) char *checkpoint = folder_newest_checkpoint(path);
    bool resume = how == TRIAL_RESUME && checkpoint;
    int code;

    if (open_folder(s, &folder, job, path, how == TRIAL_RESUME && !resume ? TRIAL_OVERWRITE : how,
                    err) < 0)
        return err_exit_code(err->code);
    spec = folder_file(&folder, "job.json");
    do {
        const char *const arguments[] = {
            "run", "--spec", spec, "--out", path, resume ? "--resume" : NULL, NULL};

        code = session_run(s, arguments, job_ranks(job), (int)job->training.threads,
                           clock_realtime_ns(), err);
        resume = true;
    } while (code == EXIT_OK && s->relaunch);
    return code;
}
