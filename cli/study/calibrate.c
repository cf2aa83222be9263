#include "cli/study/calibrate.h"

#include "cli/run/calibrate.h"
#include "cli/run/folder.h"
#include "paceline/clock.h"
#include "paceline/file.h"
#include "paceline/mem.h"

static cJSON *study_calibrate_done_of(const struct calibration *c, const struct job *job,
                                      double seconds)
{
    cJSON *done = cJSON_CreateObject();

    cJSON_AddStringToObject(done, "event", "done");
    cJSON_AddNumberToObject(done, "seconds", seconds);
    cJSON_AddNumberToObject(done, "gradientSeconds", c->gradient_s);
    cJSON_AddNumberToObject(done, "transferSeconds", c->transfer_s);
    cJSON_AddNumberToObject(done, "bytes", c->bytes);
    cJSON_AddNumberToObject(done, "transferToGradient", c->transfer_s / c->gradient_s);
    if (job_simulated(job))
        cJSON_AddTrueToObject(done, "simulated");
    return done;
}

int study_write_job(const struct folder *folder, const struct job *job, struct err *err)
{
    AUTO(auto_free) char *spec = folder_file(folder, "job.json");
    AUTO(buf_release) struct buf text;

    buf_init(&text, 0);
    job_to_text(job, &text);
    return file_write_atomic(spec, text.data, text.len, err);
}

int study_write_done(const struct folder *folder, const cJSON *done, struct err *err)
{
    AUTO(auto_free) char *events = folder_file(folder, "events.jsonl");
    AUTO(buf_release) struct buf line;

    buf_init(&line, 0);
    json_print(done, 0, &line);
    buf_puts(&line, "\n");
    return file_write_atomic(events, line.data, line.len, err);
}

int study_calibrate(struct history *h, const struct job *job, const char *path, bool keep,
                    struct err *err)
{
    AUTO(folder_release) struct folder folder = {.lock = -1};
    AUTO(auto_json) cJSON *done = NULL;
    const int64_t start = clock_ms();
    struct calibration c;
    int code;

    if (folder_take(&folder, path, keep, err) < 0 || study_write_job(&folder, job, err) < 0)
        return err_exit_code(err->code);
    code = calibrate(&c, job, err);
    if (code != EXIT_OK)
        return code;
    done = study_calibrate_done_of(&c, job, (double)(clock_ms() - start) / 1e3);
    if (study_write_done(&folder, done, err) < 0)
        return err_exit_code(err->code);
    history_add(h, EVENT_DONE, STEAL(done));
    return EXIT_OK;
}
