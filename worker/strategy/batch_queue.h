/* The batches of an epoch that are to be dealt: in order, those that came back first. Pure. */
#ifndef PACELINE_BATCH_QUEUE_H
#define PACELINE_BATCH_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

struct batch_queue {
    uint32_t next, end;
    uint32_t *back; /* n_back of them, ascending */
    int n_back, room;
};

/* Room for so many that are back at once; empty. */
void batch_queue_init(struct batch_queue *d, int room);
void batch_queue_release(struct batch_queue *d);
/* From now on batches next .. end. */
void batch_queue_fill(struct batch_queue *d, uint32_t next, uint32_t end);
/* The smallest one, which leaves; false: there is none. */
bool batch_queue_deal(struct batch_queue *d, uint32_t *batch);
void batch_queue_return(struct batch_queue *d, uint32_t batch);

#endif
