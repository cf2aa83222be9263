// LINK: worker/train/telemetry/phases.c
/* Each second is in one phase: they nest, evaluation is one whatever it does, and other threads'
 * time is not counted. */
#include <time.h>

#include "tests/test.h"
#include "worker/train/telemetry/phases.h"

#define EACH 0.02

static double seconds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* By this thread's own clock; a stopped machine makes it longer. */
static void pass_time(void)
{
    const double start = seconds_now();

    while (seconds_now() - start < EACH)
        continue;
}

static void within(struct phases *p, enum phase phase)
{
    const enum phase was = phases_enter(p, phase);

    pass_time();
    phases_leave(p, was);
}

static void *elsewhere(void *arg)
{
    within(arg, PHASE_UPDATE);
    return NULL;
}

int main(void)
{
    struct phases p = {0};
    double begin = seconds_now(), seconds[N_PHASES], sum = 0;
    pthread_t thread;
    enum phase was;

    phases_begin(&p);
    within(&p, PHASE_FORWARD);
    was = phases_enter(&p, PHASE_BACKWARD);
    within(&p, PHASE_COMMUNICATION);
    pthread_create(&thread, NULL, elsewhere, &p);
    pthread_join(thread, NULL);
    phases_leave(&p, was);
    was = phases_enter(&p, PHASE_EVALUATE);
    within(&p, PHASE_FORWARD);
    within(&p, PHASE_EVALUATE);
    phases_leave(&p, was);
    CHECK_INT(p.now, PHASE_OTHER);
    phases_read(&p, seconds);

    CHECK(seconds[PHASE_FORWARD] >= EACH && seconds[PHASE_COMMUNICATION] >= EACH);
    CHECK(seconds[PHASE_BACKWARD] >= EACH); /* while the other thread was busy */
    CHECK(seconds[PHASE_EVALUATE] >= 2 * EACH);
    CHECK_INT(seconds[PHASE_UPDATE] > 0, 0);
    for (int i = 0; i < N_PHASES; i++) {
        CHECK(phase_names[i]);
        sum += seconds[i];
    }
    /* They are the clock: what lies between two readings of it is left. */
    CHECK(sum >= 5 * EACH && sum <= seconds_now() - begin);
    CHECK(sum > 0.5 * (seconds_now() - begin));
    return test_result();
}
