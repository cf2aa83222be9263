#include "worker/comm/shaper.h"

#include "paceline/mem.h"

void shaper_init(struct shaper *s, double bytes_per_second, double latency)
{
    *s = (struct shaper){.bytes_per_second = bytes_per_second, .latency = latency};
}

void shaper_release(struct shaper *s)
{
    free(s->flows);
    *s = (struct shaper){0};
}

/* Of the flows under way: how many, and what the shortest has left. */
static size_t shaper_under_way(const struct shaper *s, double *least)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++) {
        const struct flow *f = &s->flows[i];

        if (f->left > 0 && (n++ == 0 || f->left < *least))
            *least = f->left;
    }
    return n;
}

/* The line carries until `now`: from one end of a flow to the next, equal parts of all. */
static void shaper_carry(struct shaper *s, double now)
{
    double least = 0;
    size_t n;

    while (s->now < now && (n = shaper_under_way(s, &least)) > 0) {
        double room = (now - s->now) * s->bytes_per_second / (double)n;
        bool ends = room >= least;
        double part = ends ? least : room;

        s->now = ends ? s->now + part * (double)n / s->bytes_per_second : now;
        for (size_t i = 0; i < s->n; i++)
            if (s->flows[i].left > 0)
                s->flows[i].left = s->flows[i].left > part ? s->flows[i].left - part : 0;
    }
    s->now = now > s->now ? now : s->now;
}

int shaper_send(struct shaper *s, double now, size_t bytes)
{
    size_t i = 0;

    shaper_carry(s, now);
    while (i < s->n && s->flows[i].taken)
        i++;
    if (i == s->n) {
        s->flows = xrealloc(s->flows, ++s->n * sizeof *s->flows);
        s->flows[i] = (struct flow){0};
    }
    s->flows[i] = (struct flow){.taken = true, .left = s->bytes_per_second > 0 ? (double)bytes : 0};
    return (int)i;
}

bool shaper_sent(struct shaper *s, double now, int number)
{
    struct flow *f = &s->flows[number];

    shaper_carry(s, now);
    if (f->left > 0)
        return false;
    f->taken = false;
    return true;
}

double shaper_receive(struct shaper *s, double now, size_t bytes, double sharing)
{
    double seconds = s->bytes_per_second > 0 ? (double)bytes / s->bytes_per_second : 0;
    double sent = now - sharing * seconds;

    s->in_free = (s->in_free > sent ? s->in_free : sent) + seconds;
    return (s->in_free > now ? s->in_free : now) + s->latency;
}
