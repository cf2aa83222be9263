/*
 * A one-way hand-over of the newest immutable heap object from one thread to another. An object
 * that was replaced before it was taken is freed by the writer; what was taken is the reader's.
 * So each object is freed by exactly one side, and neither ever waits. It carries state, not
 * counts: a reader sees the newest object, not each one.
 */
#ifndef PACELINE_OPERATOR_WEB_SLOT_H
#define PACELINE_OPERATOR_WEB_SLOT_H

#include <stdatomic.h>

struct slot {
    _Atomic(void *) newest; /* all zero: nothing to take */
};

/* Writer: gives the object (from malloc) away; the reader must not find it changed later. */
void slot_put(struct slot *s, void *object);
/* Reader: the newest object, now the caller's (free); NULL: nothing new since the last take. */
void *slot_take(struct slot *s);
/* When both threads are done: frees what nobody took. */
void slot_release(struct slot *s);

#endif
