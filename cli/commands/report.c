/* paceline report: the report of any run folder, also of one that is still written to. */
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/base/cli.h"
#include "cli/base/options.h"
#include "cli/report/report.h"
#include "paceline/mem.h"

static const struct option_row option_rows[] = {
    TEXT_OPTION("output", output, "FILE", "another place for it (default DIR/report.html)"),
};

static const struct command_line command = {
    COMMAND_OPTIONS(option_rows),
    COMMAND_OPERANDS(1, "DIR"),
    .before = "usage: paceline report DIR [options]\n"
              "Writes report.html of a run folder, from its job.json and events.jsonl; the run may "
              "still go on.\n",
    .after = "examples:\n"
             "  paceline report runs/fashion-cnn\n",
};

/* When the newest part of the run began: by its start event, else by the age of its job. */
static time_t begun(const struct history *h, const char *spec)
{
    struct tm tm = {0};
    struct stat st;

    if (strptime(event_text(h->start, "time"), "%Y-%m-%dT%H:%M:%S", &tm))
        return timegm(&tm);
    return stat(spec, &st) == 0 ? st.st_mtim.tv_sec : 0;
}

static int report_folder_write_report(const char *dir, const char *output, struct err *err)
{
    AUTO(auto_free) char *spec = xasprintf("%s/job.json", dir);
    AUTO(auto_free) char *events = xasprintf("%s/events.jsonl", dir);
    AUTO(problems_release) struct problems problems = {0};
    AUTO(history_release) struct history history;
    AUTO(auto_job) struct job *job = NULL;
    AUTO(buf_release) struct buf text;
    struct report report = {.history = &history};
    struct format_text started;

    history_init(&history);
    buf_init(&text, 0);
    job = job_load(spec, NULL, 0, &problems);
    if (!job)
        return err_set(err, ERR_NOT_FOUND, "%.200s is no run folder: %.250s", dir,
                       problems.items[0]);
    history_read(&history, events);
    if (!history.start)
        return err_set(err, ERR_NOT_FOUND, "%.300s: found no run that has started", events);
    job_to_text(job, &text);
    report.dataset = job->dataset.name;
    report.spec = text.data;
    started = report_when(begun(&history, spec));
    report.started = started.s;
    return report_write(&report, output, err);
}

int cmd_report(int argc, char **argv)
{
    AUTO(options_release) struct options o;
    AUTO(auto_free) char *output = NULL;
    struct err err;
    int code;

    if (!options_parse(&o, argc, argv, &command, &code))
        return code;
    output = o.output ? xstrdup(o.output) : xasprintf("%s/report.html", o.operand);
    if (report_folder_write_report(o.operand, output, &err) < 0) {
        fprintf(stderr, "paceline report: %s\n", err.msg);
        return err_exit_code(err.code);
    }
    puts(output);
    return EXIT_OK;
}
