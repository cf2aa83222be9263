// LINK: common worker/strategy/batch_queue.c
/* Batches that are dealt: in order, what came back first, each as often as it was there. */
#include "tests/test.h"
#include "worker/strategy/batch_queue.h"

static void check_deal(struct batch_queue *d, int64_t want)
{
    uint32_t batch = 0;
    bool there = batch_queue_deal(d, &batch);

    CHECK_INT(there ? (int64_t)batch : -1, want);
}

static void test_deck(void)
{
    static const uint32_t back[] = {3, 1, 2};
    struct batch_queue d;

    batch_queue_init(&d, 3);
    check_deal(&d, -1);
    batch_queue_fill(&d, 1, 5);
    for (int i = 1; i < 4; i++)
        check_deal(&d, i);
    for (int i = 0; i < 3; i++)
        batch_queue_return(&d, back[i]);
    check_deal(&d, 1);
    check_deal(&d, 2);
    batch_queue_return(&d, 1);
    check_deal(&d, 1);
    check_deal(&d, 3);
    check_deal(&d, 4);
    check_deal(&d, -1);
    check_deal(&d, -1);
    batch_queue_return(&d, 4);
    check_deal(&d, 4);
    check_deal(&d, -1);
    batch_queue_return(&d, 4);
    batch_queue_fill(&d, 0, 1); /* another epoch: nothing of the last one */
    check_deal(&d, 0);
    check_deal(&d, -1);
    batch_queue_release(&d);
}

int main(void)
{
    test_deck();
    return test_result();
}
