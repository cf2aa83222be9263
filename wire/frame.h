/*
 * Frames: four bytes of length, most significant first, and that many bytes of one JSON object
 * with a string "type" (docs/reference/agent.md). Input is bounded: memory grows as bytes
 * arrive, never by the length that a frame claims.
 */
#ifndef PACELINE_WIRE_FRAME_H
#define PACELINE_WIRE_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "paceline/buf.h"
#include "paceline/json.h"

#define FRAME_HEAD 4
#define FRAME_MAX ((size_t)1 << 20)
#define FRAME_VALUES_MAX ((size_t)1 << 16) /* a tree takes up to 80 bytes for each */

/* Cuts a stream of bytes into frames. */
struct frames {
    unsigned char head[FRAME_HEAD];
    size_t n_head;
    struct buf body;
    uint64_t n_messages; /* handed over so far */
};

void frames_init(struct frames *f);
void frames_release(struct frames *f); /* also fit for AUTO */

/* Takes one message, which stays the caller's. -1 with err ends the stream. */
typedef int frame_fn(void *arg, const cJSON *message, struct err *err);

/*
 * Adds bytes and calls fn for each frame that is complete. Fails (ERR_INVALID) on a length of more
 * than FRAME_MAX, on more than FRAME_VALUES_MAX values, on bytes that are no such object, and as fn
 * does; the stream is then over.
 */
MUST_CHECK int frames_add(struct frames *f, const void *bytes, size_t n, frame_fn *fn, void *arg,
                          struct err *err);

/* Appends the message as one frame. Fails (ERR_INVALID), with out as it was, when it is larger than
 * FRAME_MAX. */
MUST_CHECK int frame_encode(const cJSON *message, struct buf *out, struct err *err);

/* The message's "type"; "" when it has none. */
const char *message_type(const cJSON *message);
/* A field of a message: "" or -1 when it is absent, of another type, or no whole number. */
const char *message_text(const cJSON *message, const char *field);
long long message_integer(const cJSON *message, const char *field);

#endif
