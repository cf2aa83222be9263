#include "paceline/log.h"

#include <stdarg.h>
#include <time.h>

#include "paceline/text.h"

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
    char message[1024], line[2048], stamp[32];
    struct timespec now;
    struct tm utc;
    va_list args;

    if (level < log_min)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &utc);
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    text_escape(line, sizeof line, message); /* messages contain text from others */
    fprintf(stderr, "%s %s.%03ldZ %s%s%s\n", names[level], stamp, now.tv_nsec / 1000000, line,
            log_context[0] ? " " : "", log_context);
}
