/*
 * How a rank spends its time. Every moment of the thread that trains belongs to one phase, so the
 * phases add up to the elapsed time.
 */
#ifndef PACELINE_PHASES_H
#define PACELINE_PHASES_H

#include <pthread.h>

enum phase {
    PHASE_OTHER,         /* events, checks, meetings */
    PHASE_DATA,          /* waiting for a batch */
    PHASE_FORWARD,       /* losses included */
    PHASE_BACKWARD,      /* includes the communication that it hides */
    PHASE_COMMUNICATION, /* exposed: nothing is computed meanwhile */
    PHASE_UPDATE,        /* by this thread; what is updated within backward included */
    PHASE_EVALUATE,      /* all of it, whatever it does */
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

/* From now on the calling thread's time counts, as PHASE_OTHER. Seconds counted before are kept. */
void phases_begin(struct phases *p);
/* From here to the matching phases_leave time counts for this phase. Returns the phase before,
 * which phases_leave wants. Within PHASE_EVALUATE all time stays PHASE_EVALUATE. On other threads
 * both do nothing. */
enum phase phases_enter(struct phases *p, enum phase phase);
void phases_leave(struct phases *p, enum phase was);
/* The seconds of each phase up to now. */
void phases_read(struct phases *p, double seconds[N_PHASES]);

#endif
