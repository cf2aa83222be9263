/* A snapshot as text in Prometheus' exposition format, version 0.0.4. Pure. */
#ifndef PACELINE_OPERATOR_WEB_METRICS_H
#define PACELINE_OPERATOR_WEB_METRICS_H

#include "operator/web/snapshot.h"
#include "paceline/buf.h"

#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* Of this process, whichever thread asks. */
struct metrics_process {
    uint64_t resident_bytes;
    double cpu_seconds, start_seconds; /* user and system; since 1970 */
    const char *version;
};

/* Appends the text. s NULL (nothing was published yet): the process's metrics alone. */
void metrics_encode(const struct snapshot *s, const struct metrics_process *process,
                    struct buf *out);

#endif
