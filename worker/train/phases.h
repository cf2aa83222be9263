/*
 * What a rank's time goes into. One thread's time (the one that trains) is cut at each change, so
 * every second is in one phase and the phases add up to the clock.
 */
#ifndef PACELINE_PHASES_H
#define PACELINE_PHASES_H

#include <pthread.h>

enum phase {
    PHASE_OTHER,         /* events, checks, meetings */
    PHASE_DATA,          /* waiting for a batch */
    PHASE_FORWARD,       /* losses included */
    PHASE_BACKWARD,      /* with the communication that it hides */
    PHASE_COMMUNICATION, /* exposed: nothing is computed meanwhile */
    PHASE_UPDATE,        /* by this thread; what is updated within backward included */
    PHASE_EVALUATE,      /* whatever it does there */
    PHASE_CHECKPOINT,
    N_PHASES
};

/* As events name them. */
extern const char *const phase_names[N_PHASES];

struct phases {
    pthread_t thread;
    enum phase now;
    double since;
    double seconds[N_PHASES];
};

/* The calling thread's time from now on, as PHASE_OTHER; nothing is lost of what was before. */
void phases_begin(struct phases *p);
/* Until the matching phases_leave the time is this phase's; returns what it was, for that one.
 * Within PHASE_EVALUATE it stays that. On other threads both do nothing. */
enum phase phases_enter(struct phases *p, enum phase phase);
void phases_leave(struct phases *p, enum phase was);
/* The seconds of each phase up to now. */
void phases_read(struct phases *p, double seconds[N_PHASES]);

#endif
