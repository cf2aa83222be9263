#include "cli/run/run_once.h"

#include "cli/run/folder.h"
#include "cli/run/run_files.h"
#include "paceline/clock.h"
#include "paceline/mem.h"

static int run_once_train(struct session *s, const struct job *job, const struct run_files *files,
                          const char *path, struct err *err)
{
    bool resume = files->resume;
    int code;

    do {
        const char *const arguments[] = {"run",   "--spec", run_files_spec(files, s),
                                         "--out", path,     resume ? "--resume" : NULL,
                                         NULL};

        code = session_run(s, arguments, job_ranks(job), (int)job->training.threads,
                           clock_realtime_ns(), err);
        resume = true;
    } while (code == EXIT_OK && s->relaunch);
    return code;
}

int run_once(struct session *s, const struct job *job, const char *path, enum run_once how,
             struct err *err)
{
    AUTO(folder_release) struct folder folder = {.lock = -1};
    AUTO(run_files_release) struct run_files files = {0};
    AUTO(auto_free) char *checkpoint = folder_newest_checkpoint(path);
    AUTO(buf_release) struct buf text;
    int code;

    buf_init(&text, 0);
    if (folder_take(&folder, path, how != RUN_ONCE_ASIDE, err) < 0)
        return err_exit_code(err->code);
    run_files_init(&files, &folder, how == RUN_ONCE_RESUME && checkpoint);
    job_to_text(job, &text);
    s->on_start = run_files_keep;
    s->on_start_arg = &files;
    code = run_files_open(&files, s, text.data, err) < 0
               ? err_exit_code(err->code)
               : run_once_train(s, job, &files, path, err);
    if (!s->started)
        run_files_undo(&files, s, &folder);
    s->on_start = NULL;
    return code;
}
