#include "paceline/log.h"

#include <stdarg.h>
#include <time.h>

static enum log_level log_min = LOG_INFO;
static char log_context[128];

void log_init(enum log_level level, const char *context)
{
    log_min = level;
    snprintf(log_context, sizeof log_context, "%s", context);
}

/* One write, so that lines of several ranks do not mix. */
void log_at(enum log_level level, const char *fmt, ...)
{
    static const char *const names[] = {"debug", "info", "warn", "error"};
    char line[1024], stamp[32];
    struct timespec now;
    struct tm utc;
    va_list args;
    int len;

    if (level < log_min)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &utc);
    len = snprintf(line, sizeof line, "%s %s.%03ldZ ", names[level], stamp, now.tv_nsec / 1000000);
    va_start(args, fmt);
    vsnprintf(line + len, sizeof line - (size_t)len, fmt, args);
    va_end(args);
    fprintf(stderr, log_context[0] ? "%s %s\n" : "%s%s\n", line, log_context);
}
