#include "paceline/clock.h"

#include <stdio.h>
#include <time.h>

int64_t clock_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t clock_realtime_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

struct clock_text clock_rfc3339(int64_t realtime_ns)
{
    const time_t seconds = (time_t)(realtime_ns / 1000000000);
    struct clock_text text = {""};
    struct tm tm;
    size_t n;

    if (!gmtime_r(&seconds, &tm))
        return text;
    n = strftime(text.s, sizeof text.s, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text.s + n, sizeof text.s - n, ".%03dZ", (int)(realtime_ns / 1000000 % 1000));
    return text;
}
