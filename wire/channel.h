/*
 * One connection between agents, or of the operator to an agent: TLS 1.3 where both ends have the
 * job's key and take no other, then frames. Non-blocking, for a loop around poll: wait for
 * channel_wants on channel_fd until channel_next_ms at the latest, then call channel_step. Time is
 * monotonic milliseconds, an argument. The program must ignore SIGPIPE.
 */
#ifndef PACELINE_WIRE_CHANNEL_H
#define PACELINE_WIRE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "paceline/err.h"
#include "wire/frame.h"

enum {
    CHANNEL_PORT = 7420,
    CHANNEL_CONNECT_MS = 250,    /* until TCP is connected; then try again */
    CHANNEL_HANDSHAKE_MS = 2000, /* from then until TLS is there */
    CHANNEL_PING_MS = 1000,      /* of our own silence */
    CHANNEL_SILENCE_MS = 5000,   /* of the other's */
};
#define CHANNEL_QUEUE_MAX ((size_t)4 << 20)

/* The job's key, for any number of channels; lives longer than they do. */
struct channel_tls;

#define CHANNEL_KEY_BYTES 32

/* Fails (ERR_INVALID) when the key has another length; else the caller owns *out, which has a copy
 * of it. */
MUST_CHECK int channel_tls_new(struct channel_tls **out, const void *key, size_t n,
                               struct err *err);
void channel_tls_free(struct channel_tls *tls);

struct channel;

/*
 * A channel on a non-blocking socket, which the channel owns from now on. channel_connect takes one
 * whose connect is under way (channel_dial) or done. Its tls may be NULL, so that the key is made
 * only if somebody answers. Call channel_set_tls, then channel_step, once channel_needs_tls is
 * true. Messages go to fn during channel_step; pings do not. fn may send, but not free the channel:
 * it returns -1 for that.
 */
struct channel *channel_connect(struct channel_tls *tls, int fd, frame_fn *fn, void *arg,
                                int64_t now_ms);
struct channel *channel_accept(struct channel_tls *tls, int fd, frame_fn *fn, void *arg,
                               int64_t now_ms);
bool channel_needs_tls(const struct channel *c);
void channel_set_tls(struct channel *c, struct channel_tls *tls);
void channel_free(struct channel *c); /* closes the socket; NULL is fine */

/* Begins to connect to a numeric IPv4 or IPv6 address. Returns the non-blocking socket, or -1
 * (ERR_INVALID: no address; ERR_TRANSIENT: refused at once). */
MUST_CHECK int channel_dial(const char *address, int port, struct err *err);

int channel_fd(const struct channel *c);
short channel_wants(const struct channel *c);     /* POLLIN, POLLOUT */
int64_t channel_next_ms(const struct channel *c); /* when to step at the latest; 0: at once */

/*
 * Goes on as far as it can without waiting; revents are poll's (0: time has passed). -1 when the
 * connection is over: ERR_GONE (ended in order), ERR_FORBIDDEN (the other end has another key, or
 * none), ERR_INVALID (what came was no message, or fn refused it), ERR_SILENT (nothing in
 * time), ERR_TRANSIENT (reset, a queue that is full).
 */
MUST_CHECK int channel_step(struct channel *c, short revents, int64_t now_ms, struct err *err);

/* Queues a message, also before TLS is there. A queue of more than CHANNEL_QUEUE_MAX, and a message
 * that is too large, end the connection at the next step. */
void channel_send(struct channel *c, const cJSON *message);

/* Bytes received so far, pings included, and bytes that the channel buffers in both directions. */
uint64_t channel_received(const struct channel *c); /* bytes */
uint64_t channel_messages(const struct channel *c);
size_t channel_memory(const struct channel *c); /* bytes */

/* Sends what is queued and reads no more; then channel_step says ERR_GONE, after
 * CHANNEL_HANDSHAKE_MS at the latest. */
void channel_finish(struct channel *c, int64_t now_ms);

/* Whether TLS is there. A client's other end may still refuse it: its first message proves it. */
bool channel_ready(const struct channel *c);
/* Whether everything queued was handed to the system. */
bool channel_drained(const struct channel *c);

/* {"type":"refused","message":...} */
void channel_refuse(struct channel *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
