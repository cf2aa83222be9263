/* paceline run: trains a job on this machine and shows it. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/cli.h"
#include "cli/base/options.h"
#include "cli/report/report.h"
#include "cli/run/folder.h"
#include "cli/run/progress.h"
#include "cli/run/run_files.h"
#include "cli/run/session.h"
#include "paceline/clock.h"
#include "paceline/mem.h"

static const struct option_row option_rows[] = {
    SET_OPTION("override a field, as --set training.epochs=1; may be repeated"),
    TEXT_OPTION("workers", workers, "N", "how many workers (ranks)"),
    TEXT_OPTION("threads", threads, "N", "threads per worker"),
    OUT_OPTION("DIR", "the run folder (default runs/<job name>)"),
    FLAG_OPTION("resume", resume, "continue from the newest checkpoint of the run folder"),
    JSON_OPTION("print the events, one JSON object per line"),
};

static const struct command_line command = {
    COMMAND_OPTIONS(option_rows),
    COMMAND_OPERANDS(1, "JOB.yaml"),
    .before = "usage: paceline run JOB.yaml [options]\n"
              "Trains the job on this machine: one worker, or several through mpirun.\n",
    .after = "examples:\n"
             "  paceline run job.yaml\n"
             "  paceline run job.yaml --workers 4 --set training.epochs=1\n"
             "  paceline run job.yaml --resume\n",
};

struct cli_run {
    struct job *job;
    struct folder folder;
    struct session session;
    struct progress progress;
    struct run_files files;
    char *report_path, *stop_path;
    struct buf spec;
    bool resume, json;
};

static void run_release(struct cli_run *r)
{
    job_free(r->job);
    folder_release(&r->folder);
    session_release(&r->session);
    run_files_release(&r->files);
    free(r->stop_path);
    free(r->report_path);
    buf_release(&r->spec);
}

/* A caller that names its own stop file makes and removes it. A stale one of ours is removed. */
static char *stop_file(const struct folder *f)
{
    const char *given = getenv("PACELINE_STOP_FILE");
    char *path = given && *given ? xstrdup(given) : folder_file(f, ".stop");

    if (!given || !*given)
        unlink(path);
    return path;
}

static int open_folder(struct cli_run *r, const char *out, struct err *err)
{
    AUTO(auto_free) char *path = out ? xstrdup(out) : xasprintf("runs/%s", r->job->name);

    if (folder_take(&r->folder, path, r->resume, err) < 0)
        return -1;
    if (r->folder.moved_to)
        fprintf(stderr, "paceline run: the earlier run is now in %s\n", r->folder.moved_to);
    r->stop_path = stop_file(&r->folder);
    r->report_path = folder_file(&r->folder, "report.html");
    return 0;
}

/* --resume without a checkpoint starts from the beginning and says so. */
static void check_resume(struct cli_run *r)
{
    AUTO(auto_free) char *checkpoint = folder_newest_checkpoint(r->folder.path);

    if (!r->resume || checkpoint)
        return;
    fprintf(stderr, "paceline run: %s holds no checkpoint: starting from the beginning\n",
            r->folder.path);
    r->resume = false;
}

static int run_prepare(struct cli_run *r, const char *out, struct err *err)
{
    if (open_folder(r, out, err) < 0)
        return -1;
    check_resume(r);
    run_files_init(&r->files, &r->folder, r->resume);
    job_to_text(r->job, &r->spec);
    return run_files_open(&r->files, &r->session, r->spec.data, err);
}

static int run_write_report(struct cli_run *r, int64_t started_ns, struct err *err)
{
    const struct format_text started = report_when((time_t)(started_ns / 1000000000));
    struct report report = {
        .dataset = r->job->dataset.name,
        .spec = r->spec.data,
        .started = started.s,
        .history = &r->session.history,
    };

    return report_write(&report, r->report_path, err);
}

static void say_what_remains(const struct cli_run *r)
{
    AUTO(auto_free) char *checkpoint = folder_newest_checkpoint(r->folder.path);
    const bool job = access(r->files.spec, R_OK) == 0;

    if (checkpoint && strstr(event_text(r->session.history.error, "message"), checkpoint))
        return; /* it is what is wrong */
    if (checkpoint)
        fprintf(stderr,
                "paceline run: the checkpoint %s remains; continue with: "
                "paceline run %s --out %s --resume\n",
                checkpoint, job ? r->files.spec : "JOB.yaml", r->folder.path);
    else if (r->session.started)
        fprintf(stderr, "paceline run: there is no checkpoint yet\n");
}

/* The engine, as often as it ends to be launched again (strategy.switch.how). */
static int launch(struct cli_run *r, int64_t started_ns, struct err *err)
{
    bool resume = r->resume;
    int code;

    do {
        const char *const arguments[] = {
            "run",   "--spec",       run_files_spec(&r->files, &r->session),
            "--out", r->folder.path, resume ? "--resume" : NULL,
            NULL,
        };

        code = session_run(&r->session, arguments, job_ranks(r->job), (int)r->job->training.threads,
                           started_ns, err);
        resume = true;
        started_ns = clock_realtime_ns();
    } while (code == EXIT_OK && r->session.relaunch);
    return code;
}

static int run_train(struct cli_run *r, int64_t started_ns)
{
    struct err err;
    int code;

    progress_init(&r->progress, stdout);
    r->session.json = r->json;
    r->session.show = r->json ? NULL : progress_show;
    r->session.show_arg = &r->progress;
    r->session.on_start = run_files_keep;
    r->session.on_start_arg = &r->files;
    r->session.stop_file = r->stop_path;
    code = launch(r, started_ns, &err);
    if (!r->json)
        progress_end(&r->progress);
    if (code != EXIT_OK)
        session_fail(&r->session, "run", code, &err);
    if (!r->session.started)
        run_files_undo(&r->files, &r->session, &r->folder);
    else if (run_write_report(r, started_ns, &err) < 0 && code == EXIT_OK)
        return session_fail(&r->session, "run", err_exit_code(err.code), &err);
    if (code != EXIT_OK) {
        say_what_remains(r);
        return code;
    }
    if (!r->json)
        progress_summary(&r->progress, &r->session.history, r->report_path);
    return EXIT_OK;
}

int cmd_run(int argc, char **argv)
{
    int64_t started_ns = clock_realtime_ns();
    AUTO(run_release) struct cli_run r = {.folder = {.lock = -1}};
    AUTO(options_release) struct options o;
    struct err err;
    int code;

    session_init(&r.session, EVENT_DONE);
    buf_init(&r.spec, 0);
    if (!options_parse(&o, argc, argv, &command, &code))
        return code;
    if (o.workers)
        options_set(&o, "replicas.worker.replicas=%s", o.workers);
    if (o.threads)
        options_set(&o, "training.threads=%s", o.threads);
    r.job = cli_load_job(o.operand, &o.sets, &code);
    if (!r.job)
        return code;
    r.resume = o.resume;
    r.json = o.json;
    if (run_prepare(&r, o.out, &err) < 0) {
        if (r.files.spec)
            run_files_undo(&r.files, &r.session, &r.folder);
        return session_fail(&r.session, "run", err_exit_code(err.code), &err);
    }
    return run_train(&r, started_ns);
}
