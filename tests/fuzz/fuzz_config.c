// LINK: common worker/checkpoint
// LIBS: -lyaml
/* A checkpoint's description of its model. A job that is read can be recorded, and reads back. */
#include "paceline/mem.h"
#include "worker/checkpoint/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_record(const struct job *job)
{
    static const char *const place[] = {"spec.dataset.path=/"};
    AUTO(problems_release) struct problems problems = {0};
    AUTO(buf_release) struct buf text, what;

    buf_init(&text, 0);
    buf_init(&what, 0);
    job_record(job, &text);
    AUTO(auto_job) struct job *back = job_parse(text.data, text.len, "record", place, 1, &problems);
    if (!back || job_differs(job, back, false, &what) || job_differs(back, job, false, &what))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(st_close) struct st_file f = {0};
    AUTO(config_release) struct config c = {0};
    struct err err;

    if (st_parse(&f, data, size, "fuzz", &err) || config_read(&c, &f, "fuzz", &err))
        return 0;
    if (c.job)
        check_record(c.job);
    if (c.names && cJSON_GetArraySize(c.names) != c.classes)
        abort();
    return 0;
}
