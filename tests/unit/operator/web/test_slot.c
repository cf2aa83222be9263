// LINK: operator/web/slot.c
/* The hand-over between two threads; under ASan each object is freed once, under TSan no race. */
#include <pthread.h>
#include <stdlib.h>

#include "operator/web/slot.h"
#include "tests/test.h"

enum { OBJECTS = 200000 };

struct slot_object {
    long number, copies[8]; /* all the same: an object is seen whole */
};

static struct slot_object *object(long number)
{
    struct slot_object *o = malloc(sizeof *o);

    if (!o)
        abort();
    o->number = number;
    for (int i = 0; i < 8; i++)
        o->copies[i] = number;
    return o;
}

static void test_one_thread(void)
{
    struct slot s = {NULL};
    struct slot_object *o;

    CHECK(slot_take(&s) == NULL);
    slot_put(&s, object(1));
    slot_put(&s, object(2)); /* 1 is freed here */
    o = slot_take(&s);
    CHECK(o && o->number == 2);
    CHECK(slot_take(&s) == NULL); /* it is ours now */
    slot_put(&s, object(3));
    CHECK(o && o->number == 2);
    free(o);
    slot_release(&s); /* 3 is freed here */
    CHECK(slot_take(&s) == NULL);
    slot_release(&s);
}

static void *writer(void *arg)
{
    for (long i = 1; i <= OBJECTS; i++)
        slot_put(arg, object(i));
    return NULL;
}

/* The reader sees numbers that grow, whole objects, and the last one. */
static void test_two_threads(void)
{
    struct slot s = {NULL};
    pthread_t thread;
    long last = 0, order = 0, torn = 0;

    pthread_create(&thread, NULL, writer, &s);
    while (last < OBJECTS) {
        struct slot_object *o = slot_take(&s);

        if (!o)
            continue;
        order += o->number <= last;
        last = o->number;
        for (int i = 0; i < 8; i++)
            torn += o->copies[i] != last;
        free(o);
    }
    pthread_join(thread, NULL);
    CHECK_INT(order, 0);
    CHECK_INT(torn, 0);
    CHECK(slot_take(&s) == NULL);
    slot_release(&s);
}

int main(void)
{
    test_one_thread();
    test_two_threads();
    return test_result();
}
