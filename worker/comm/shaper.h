/*
 * A slower network, simulated: each rank has a line out and a line in, of so many bytes per second,
 * and a message is there `latency` seconds after the line has carried it. Only times are counted;
 * nobody sleeps, whoever polls asks whether it is time. Pure: the clock is an argument.
 *
 * Out, messages under way together share the line equally, as TCP streams do about; one is handed
 * to MPI when it is through. In, they come one after another, but the line in has carried a
 * message while the sender's line did, so far as it was idle then.
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

/* A message begins to go out; the number to ask for it by. */
int shaper_send(struct shaper *s, double now, size_t bytes);
/* Whether the line has carried it; a number that was answered true is free for another. */
bool shaper_sent(struct shaper *s, double now, int number);
/* A message has come, which has shared its sender's line with others, `sharing` in all: when it may
 * be acted on. */
double shaper_receive(struct shaper *s, double now, size_t bytes, double sharing);

#endif
