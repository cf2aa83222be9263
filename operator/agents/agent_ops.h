/*
 * Connections to the agents of built-in jobs (docs/reference/agent.md), asynchronous.
 * operator/agents/transport.c makes them, tests stand in for them; the controller knows only this.
 */
#ifndef PACELINE_OPERATOR_AGENTS_AGENT_OPS_H
#define PACELINE_OPERATOR_AGENTS_AGENT_OPS_H

#include <stdbool.h>

#include <cjson/cJSON.h>

struct agent_link; /* one connection's attempt and life */

/* A message of the agent, its hello included; it stays the caller's. */
typedef void agent_message_fn(void *arg, const cJSON *message);
/* The connection could not be made or is over; comes once, then the link is gone. */
typedef void agent_end_fn(void *arg, const char *why);

/* Whether TCP came to be connected. */
typedef void agent_probe_fn(void *arg, bool connected);

struct agent_target {
    const char *address;      /* numeric */
    const unsigned char *key; /* the job's key_derive, KEY_BYTES */
};

struct agent_ops {
    /* Begins to connect, as control. No callback is called from inside these functions. */
    struct agent_link *(*open)(void *transport, const struct agent_target *target,
                               agent_message_fn *message, agent_end_fn *end, void *arg);
    void (*send)(void *transport, struct agent_link *link, const cJSON *message);
    /* Ends it without callbacks. Safe from inside a callback. */
    void (*close)(void *transport, struct agent_link *link);
    /*
     * Tries whether another TCP port of the link's address can be connected to, within 2 s. done
     * comes once, with open's arg, unless the link ends before. False: too many are under way, or
     * one of this link is; done does not come.
     */
    bool (*probe)(void *transport, struct agent_link *link, int port, agent_probe_fn *done);
};

#endif
