/* agent_ops on TCP and TLS (wire/channel.h), for the control thread's loop. */
#ifndef PACELINE_OPERATOR_AGENTS_NET_H
#define PACELINE_OPERATOR_AGENTS_NET_H

#include "operator/agents/agents.h"
#include "paceline/err.h"

struct agent_net;

/* Fails (ERR_IO) when the system has no room for it. */
MUST_CHECK int agent_net_new(struct agent_net **out, struct err *err);
void agent_net_free(struct agent_net *net); /* ends all links without callbacks */

/* The functions for a controller, with the net as `net`. */
const struct agent_ops *agent_net_ops(void);

/* Readable when agent_net_step has something to do. */
int agent_net_fd(const struct agent_net *net);
/* Milliseconds until it must be called though nothing happens; -1: not at all. */
int64_t agent_net_next_ms(const struct agent_net *net, int64_t mono_ms);
/* Receives and sends without waiting. The one place that callbacks are called from. */
void agent_net_step(struct agent_net *net, int64_t mono_ms);

#endif
