#include "operator/web/slot.h"

#include <stdlib.h>

/* Release: the object's bytes are written before it can be seen. Acquire: whoever frees it does so
 * after its bytes were written. */
void slot_put(struct slot *s, void *object)
{
    free(atomic_exchange_explicit(&s->newest, object, memory_order_acq_rel));
}

void *slot_take(struct slot *s)
{
    return atomic_exchange_explicit(&s->newest, NULL, memory_order_acquire);
}

void slot_release(struct slot *s) { free(slot_take(s)); }
