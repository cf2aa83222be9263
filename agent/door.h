/*
 * Who comes in: listens, lets at most DOOR_STRANGERS show the job's key at a time, DOOR_PER_SOURCE
 * of one address, takes their hello, and keeps the connections: at most one of the operator, and
 * those of other pods' mpirun.
 */
#ifndef PACELINE_AGENT_DOOR_H
#define PACELINE_AGENT_DOOR_H

#include "agent/waits.h"
#include "wire/channel.h"

enum {
    DOOR_STRANGERS = 32, /* that have not said hello */
    DOOR_PER_SOURCE = 4,
    DOOR_GUESTS = 96, /* that have */
    PROTOCOL = 1,
};

enum guest { GUEST_CONTROL, GUEST_EXEC };

struct door_config {
    struct channel_tls *tls;
    int listener; /* the caller's */
    /* Answers a hello that was taken. */
    void (*on_hello)(void *arg, enum guest guest, struct channel *c);
    /* As a frame_fn. */
    int (*on_message)(void *arg, enum guest guest, struct channel *c, const cJSON *message,
                      struct err *err);
    /* The connection is over; c is freed after this. */
    void (*on_end)(void *arg, enum guest guest, struct channel *c);
    void *arg;
};

struct door;

struct door *door_new(const struct door_config *config);
void door_free(struct door *d); /* ends all; calls nobody */

/* The operator's connection; NULL: there is none. */
struct channel *door_control(const struct door *d);

void door_wait(const struct door *d, struct waits *w);
void door_step(struct door *d, const struct waits *w, int64_t now_ms);

#endif
