/* The batches of an epoch that are to be dealt: in order, those that came back first. Pure. */
#ifndef PACELINE_DECK_H
#define PACELINE_DECK_H

#include <stdbool.h>
#include <stdint.h>

struct deck {
    uint32_t next, end;
    uint32_t *back; /* n_back of them, ascending */
    int n_back, room;
};

/* Room for so many that are back at once; empty. */
void deck_init(struct deck *d, int room);
void deck_release(struct deck *d);
/* From now on batches next .. end. */
void deck_fill(struct deck *d, uint32_t next, uint32_t end);
/* The smallest one, which leaves; false: there is none. */
bool deck_deal(struct deck *d, uint32_t *batch);
void deck_return(struct deck *d, uint32_t batch);

#endif
