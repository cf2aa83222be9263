/* Whether a TCP connection to a port comes about. Nothing is sent on it. */
#ifndef PACELINE_OPERATOR_AGENTS_PROBE_H
#define PACELINE_OPERATOR_AGENTS_PROBE_H

#include <stdint.h>

#define PROBE_MS 2000

struct probe {
    int fd; /* -1: none is under way */
    int64_t until_ms;
};

enum probe_result { PROBE_WAITS, PROBE_CONNECTED, PROBE_NOT_CONNECTED };

/* Begins to connect to a numeric address, without waiting. A call that fails at once leaves fd -1.
 */
void probe_begin(struct probe *p, const char *address, int port, int64_t now_ms);
/* PROBE_NOT_CONNECTED: it was refused, or PROBE_MS have passed. */
enum probe_result probe_step(const struct probe *p, int64_t now_ms);
void probe_end(struct probe *p); /* closes the connection; fine when there is none */

#endif
