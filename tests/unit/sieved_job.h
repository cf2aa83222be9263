/* TrainingJobs as the operator reads them. */
#ifndef PACELINE_TESTS_UNIT_SIEVED_JOB_H
#define PACELINE_TESTS_UNIT_SIEVED_JOB_H

#include "operator/api/kept.h"
#include "operator/api/trainingjob.h"
#include "paceline/json.h"
#include "paceline/mem.h"
#include "paceline/sieve.h"
#include "tests/test.h"
#include "tests/unit/sieve_check.h"

/* Through the sieve, so what the decoder reads is in its table. The caller owns the job; text that
 * is none ends the test. */
static inline struct tj *sieved_job(const char *text)
{
    AUTO(sieved_release) struct sieved seen = {0};
    AUTO(auto_json) cJSON *object = NULL;
    struct tj *tj = NULL;
    struct err err;

    sieve_text(&seen, kept_job, false, text, strlen(text), 100);
    if (json_parse(&object, seen.rest.data, seen.rest.len, "job", &err) ||
        tj_decode(&tj, object, &err)) {
        TEST_FAIL("%s: %s", text, err.msg);
        exit(1);
    }
    return tj;
}

static inline void auto_tj(struct tj **tj) { tj_free(*tj); }

#endif
