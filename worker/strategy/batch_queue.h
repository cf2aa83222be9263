/* The batches of an epoch that are still to be given out, in order; returned ones come first. Pure.
 */
#ifndef PACELINE_BATCH_QUEUE_H
#define PACELINE_BATCH_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

struct batch_queue {
    uint32_t next, end;
    uint32_t *back; /* n_back returned batches, ascending */
    int n_back, room;
};

/* Empty, with room for this many returned batches at once. */
void batch_queue_init(struct batch_queue *d, int room);
void batch_queue_release(struct batch_queue *d);
/* From now on gives out the batches from next up to, but without, end. */
void batch_queue_fill(struct batch_queue *d, uint32_t next, uint32_t end);
/* Takes the smallest batch out; false if there is none. */
bool batch_queue_deal(struct batch_queue *d, uint32_t *batch);
void batch_queue_return(struct batch_queue *d, uint32_t batch);

#endif
