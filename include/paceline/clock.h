#ifndef PACELINE_CLOCK_H
#define PACELINE_CLOCK_H

#include <stdint.h>

int64_t clock_ms(void);          /* monotonic */
int64_t clock_realtime_ns(void); /* since 1970 */

#endif
