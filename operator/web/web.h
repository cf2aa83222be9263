/*
 * The web thread: GET /metrics, /healthz and /readyz over plain HTTP. It has its own libwebsockets
 * context and shares nothing with the control thread but a slot of snapshots.
 *
 * Each connection serves one request and lives at most WEB_DEADLINE_MS. When WEB_CONNECTIONS are
 * open, a new one closes the oldest, so that clients who hold connections cannot keep the kubelet's
 * probes out.
 */
#ifndef PACELINE_OPERATOR_WEB_WEB_H
#define PACELINE_OPERATOR_WEB_WEB_H

#include "operator/web/snapshot.h"
#include "paceline/listener.h"

#define WEB_CONNECTIONS 64
#define WEB_DEADLINE_MS 5000

struct web;

/*
 * Listens and starts the thread. version and start_ms (since 1970) are told by /metrics. NULL when
 * the address cannot be had (ERR_IO). All signals are blocked in the thread.
 */
struct web *web_start(const struct listener_address *address, const char *version, int64_t start_ms,
                      struct err *err);
/* Ends the thread, closes its connections, frees all. NULL is fine. */
void web_stop(struct web *w);

/* Gives a copy of s to the thread, which serves the newest. */
void web_publish(struct web *w, const struct snapshot *s);
int web_port(const struct web *w);

#endif
