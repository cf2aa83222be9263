#include "worker/strategy/deck.h"

#include <assert.h>

#include "paceline/mem.h"

void deck_init(struct deck *d, int room)
{
    *d = (struct deck){.back = xcalloc((size_t)room, sizeof *d->back), .room = room};
}

void deck_release(struct deck *d) { free(d->back); }

void deck_fill(struct deck *d, uint32_t next, uint32_t end)
{
    d->next = next;
    d->end = end;
    d->n_back = 0;
}

bool deck_deal(struct deck *d, uint32_t *batch)
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

void deck_return(struct deck *d, uint32_t batch)
{
    int at = d->n_back++;

    assert(at < d->room);
    for (; at > 0 && d->back[at - 1] > batch; at--)
        d->back[at] = d->back[at - 1];
    d->back[at] = batch;
}
