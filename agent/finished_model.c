#include "agent/finished_model.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "paceline/command_line.h"
#include "paceline/digest.h"
#include "paceline/file.h"
#include "paceline/mem.h"
#include "paceline/spec.h"
#include "wire/frame.h"

#define STATE "/dev/shm/paceline"
#define VERSION 1
#define TEXT_MAX ((size_t)1 << 20)

static char *path_of(const char *state, const char *name)
{
    return xasprintf("%s/%s", state, name);
}

/* As `paceline run` writes it; as it came where this version cannot read it. */
static void job_text(const cJSON *job, struct buf *out)
{
    struct problems problems = {0};
    AUTO(auto_job) struct job *parsed = job_from_json(job, &problems);

    if (parsed) {
        job_to_text(parsed, out);
    } else {
        json_print(job, 2, out);
        buf_puts(out, "\n");
    }
    problems_release(&problems);
}

static int write_file(const char *state, const char *name, const struct buf *text, struct err *err)
{
    AUTO(auto_free) char *path = path_of(state, name);

    return file_write_atomic(path, text->data, text->len, err);
}

int finished_model_keep(const char *state, const struct world *world,
                        const struct engine_report *report, struct err *err)
{
    const char *path = event_text(report->last, "checkpoint"), *slash = strrchr(path, '/');
    const cJSON *metadata = cJSON_GetObjectItemCaseSensitive(world->job, "metadata");
    AUTO(auto_json) cJSON *about = report_record(report);
    AUTO(buf_release) struct buf text, job;

    buf_init(&text, 0);
    buf_init(&job, 0);
    if (!*path)
        return err_set(err, ERR_NOT_FOUND, "the engine named no checkpoint of its last step");
    cJSON_AddNumberToObject(about, "version", VERSION);
    cJSON_AddStringToObject(about, "job", message_text(metadata, "name"));
    cJSON_AddStringToObject(about, "file", slash ? slash + 1 : path);
    json_print(about, 0, &text);
    job_text(world->job, &job);
    if (write_file(state, "job.json", &job, err) < 0)
        return -1;
    return write_file(state, "model.json", &text, err);
}

bool finished_model_is_fetched(const char *state)
{
    AUTO(auto_free) char *path = path_of(state, "fetched");

    return access(path, F_OK) == 0;
}

/* The step of the newest checkpoint in the folder; -1: there is none. */
static long long newest_step(const char *state)
{
    long long newest = -1;
    DIR *dir = opendir(state);

    for (struct dirent *e; dir && (e = readdir(dir));) {
        long long step;
        int end = 0;

        if (sscanf(e->d_name, "checkpoint-%lld%n", &step, &end) == 1 && step > newest &&
            strcmp(e->d_name + end, ".safetensors") == 0)
            newest = step;
    }
    if (dir)
        closedir(dir);
    return newest;
}

static int explain_absence(const char *state, struct err *err)
{
    long long step = newest_step(state);

    if (step >= 0)
        return err_set(err, ERR_NOT_FOUND,
                       "no final model yet: the newest checkpoint here is of step %lld", step);
    return err_set(
        err, ERR_NOT_FOUND,
        "no final model yet, and no checkpoint: the training has not got so far, or runs "
        "in other pods; the chief, worker 0, keeps the model");
}

/* Reads the model.json of finished_model_keep, without members that are of no use elsewhere. */
static int read_about(cJSON **about, char **file, const char *state, struct err *err)
{
    AUTO(auto_free) char *path = path_of(state, "model.json");
    AUTO(buf_release) struct buf text = {0};
    AUTO(auto_json) cJSON *name = NULL;

    if (access(path, F_OK) < 0)
        return explain_absence(state, err);
    if (buf_read_file(&text, path, TEXT_MAX, err) < 0 ||
        json_parse(about, text.data, text.len, path, err) < 0) {
        err->code = ERR_IO;
        return -1;
    }
    name = cJSON_DetachItemFromObjectCaseSensitive(*about, "file");
    if (!cJSON_IsString(name))
        return err_set(err, ERR_IO, "%s: it names no file", path);
    *file = path_of(state, name->valuestring);
    return 0;
}

static int send_all(const void *bytes, size_t n, struct err *err)
{
    for (const char *p = bytes, *end = p + n; p < end;) {
        ssize_t sent = write(STDOUT_FILENO, p, (size_t)(end - p));

        if (sent < 0 && errno != EINTR)
            return err_set(err, ERR_IO, "standard output: %s", strerror(errno));
        p += sent > 0 ? sent : 0;
    }
    return 0;
}

static int send_parts(cJSON *about, const struct buf *job, const struct file_map *model,
                      struct err *err)
{
    AUTO(buf_release) struct buf line;
    char digest[17];

    snprintf(digest, sizeof digest, "%016llx",
             (unsigned long long)digest_bytes(model->bytes, model->len));
    cJSON_AddNumberToObject(about, "jobBytes", (double)job->len);
    cJSON_AddNumberToObject(about, "modelBytes", (double)model->len);
    cJSON_AddStringToObject(about, "modelDigest", digest);
    buf_init(&line, 0);
    json_print(about, 0, &line);
    buf_puts(&line, "\n");
    if (send_all(line.data, line.len, err) < 0 || send_all(job->data, job->len, err) < 0)
        return -1;
    return send_all(model->bytes, model->len, err);
}

static int send_model(const char *state, struct err *err)
{
    AUTO(auto_json) cJSON *about = NULL;
    AUTO(auto_free) char *file = NULL, *job_path = path_of(state, "job.json");
    AUTO(buf_release) struct buf job = {0};
    struct file_map model;
    int rc;

    if (read_about(&about, &file, state, err) < 0)
        return -1;
    if (buf_read_file(&job, job_path, TEXT_MAX, err) < 0 || file_map_open(&model, file, err) < 0) {
        err->code = ERR_IO;
        return -1;
    }
    rc = send_parts(about, &job, &model, err);
    file_map_close(&model);
    return rc;
}

static int model_let_go(const char *state, struct err *err)
{
    AUTO(auto_json) cJSON *about = NULL;
    AUTO(auto_free) char *file = NULL, *mark = path_of(state, "fetched");
    AUTO(auto_close) int fd = -1;

    if (read_about(&about, &file, state, err) < 0)
        return -1;
    fd = open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    return fd < 0 ? err_set(err, ERR_IO, "cannot create %s: %s", mark, strerror(errno)) : 0;
}

struct model_options {
    const char *state;
    bool fetched;
};

int agent_model(int argc, char **argv)
{
    static const struct option_row rows[] = {
        {"state", OPTION_TEXT, .offset = offsetof(struct model_options, state), "DIR",
         "the run folder (" STATE ")"},
        {"fetched", OPTION_FLAG, .offset = offsetof(struct model_options, fetched),
         .help = "say that somebody has the model"},
    };
    static const struct command_line line = {
        .program = "paceline-agent model",
        .rows = rows,
        .n_rows = ARRAY_LEN(rows),
        .before = "usage: paceline-agent model [--state DIR] [--fetched]\n",
        .after = "examples:\n  paceline-agent model --fetched\n",
    };
    struct model_options o = {.state = STATE};
    struct err err;
    int rc;

    if (!command_line_parse(&line, &o, argc, argv, &rc))
        return rc;
    signal(SIGPIPE, SIG_IGN);
    rc = o.fetched ? model_let_go(o.state, &err) : send_model(o.state, &err);
    if (rc == 0)
        return EXIT_OK;
    fprintf(stderr, "paceline-agent model: %s\n", err.msg);
    return err_exit_code(err.code);
}
