#include "worker/strategy/batch_queue.h"

#include <assert.h>

#include "paceline/mem.h"

void batch_queue_init(struct batch_queue *d, int room)
{
    *d = (struct batch_queue){.back = xcalloc((size_t)room, sizeof *d->back), .room = room};
}

void batch_queue_release(struct batch_queue *d) { free(d->back); }

void batch_queue_fill(struct batch_queue *d, uint32_t next, uint32_t end)
{
    d->next = next;
    d->end = end;
    d->n_back = 0;
}

bool batch_queue_deal(struct batch_queue *d, uint32_t *batch)
{
    if (d->n_back) {
        *batch = d->back[0];
        d->n_back--;
        memmove(d->back, d->back + 1, (size_t)d->n_back * sizeof *d->back);
        return true;
    }
    *batch = d->next;
    d->next += d->next < d->end;
    return *batch < d->end;
}

void batch_queue_return(struct batch_queue *d, uint32_t batch)
{
    int at = d->n_back++;

    assert(at < d->room);
    for (; at > 0 && d->back[at - 1] > batch; at--)
        d->back[at] = d->back[at - 1];
    d->back[at] = batch;
}
