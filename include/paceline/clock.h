#ifndef PACELINE_CLOCK_H
#define PACELINE_CLOCK_H

#include <stdint.h>

int64_t clock_ms(void);          /* monotonic */
int64_t clock_realtime_ns(void); /* since 1970 */

/* Formats a time since 1970 as RFC 3339 in UTC: "2026-01-02T03:04:05.678Z". */
struct clock_text {
    char s[32];
};
struct clock_text clock_rfc3339(int64_t realtime_ns);

#endif
