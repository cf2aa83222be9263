/* agent_ops on TCP and TLS (wire/channel.h), for the control thread's loop. */
#ifndef PACELINE_OPERATOR_AGENTS_TRANSPORT_H
#define PACELINE_OPERATOR_AGENTS_TRANSPORT_H

#include "operator/agents/agent_ops.h"
#include "paceline/err.h"

struct agent_transport;

/* Fails (ERR_IO) when the system has no room for it. */
MUST_CHECK int agent_transport_new(struct agent_transport **out, struct err *err);
void agent_transport_free(struct agent_transport *transport); /* ends all links without callbacks */

/* The functions for a controller, with the transport as their first argument. */
const struct agent_ops *agent_transport_ops(void);

/* Readable when agent_transport_step has something to do. */
int agent_transport_fd(const struct agent_transport *transport);
/* Milliseconds until it must be called though nothing happens; -1: not at all. */
int64_t agent_transport_next_ms(const struct agent_transport *transport, int64_t mono_ms);
/* Receives and sends without waiting. The one place that callbacks are called from. */
void agent_transport_step(struct agent_transport *transport, int64_t mono_ms);

#endif
