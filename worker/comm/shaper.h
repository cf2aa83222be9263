/*
 * Simulates a slower network. Each rank has a line out and a line in, which carry bytes_per_second;
 * a message arrives `latency` seconds after the line has carried it. Nobody sleeps: a rank that
 * polls asks whether the time has come. Pure: the clock is an argument.
 *
 * Messages that go out together share the line out equally, about as TCP streams do. A message is
 * handed to MPI when the line out has carried it. Messages come in one after another; the line in
 * carries a message at the same time as the sender's line, unless it is busy then.
 */
#ifndef PACELINE_SHAPER_H
#define PACELINE_SHAPER_H

#include <stdbool.h>
#include <stddef.h>

struct flow {
    bool taken;
    double left; /* bytes; 0: through */
};

struct shaper {
    double bytes_per_second; /* 0: no limit */
    double latency;          /* seconds */
    double now, in_free;     /* how far the line out is; when the line in is idle */
    struct flow *flows;      /* out */
    size_t n;
};

void shaper_init(struct shaper *s, double bytes_per_second, double latency);
void shaper_release(struct shaper *s);
static inline bool shaper_is_on(const struct shaper *s)
{
    return s->bytes_per_second > 0 || s->latency > 0;
}

/* A message begins to go out. Returns the number for shaper_sent. */
int shaper_send(struct shaper *s, double now, size_t bytes);
/* Whether the line has carried it. Once this was true, the number may be given to another message.
 */
bool shaper_sent(struct shaper *s, double now, int number);
/* A message has come, which shared its sender's line: `sharing` messages in all. Returns the time
 * from which it may be acted on. */
double shaper_receive(struct shaper *s, double now, size_t bytes, double sharing);

#endif
