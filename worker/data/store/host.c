#include "worker/data/store/host.h"

#include <sys/mman.h>

#include "paceline/mem.h"
#include "worker/data/store/shared.h"

struct host_room {
    struct shared *shared; /* NULL: private memory */
    struct host_memory *memory;
};

void *host_room_take(struct host_room *room, size_t bytes, struct err *err)
{
    struct host_memory *m = room->memory;

    if (room->shared)
        return shared_allocate(room->shared, bytes, err)
                   ? NULL
                   : (char *)room->shared->map + SHARED_HEAD_BYTES;
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) {
        err_set(err, ERR_IO, "no memory for its %zu bytes", bytes);
        return NULL;
    }
    madvise(map, bytes, MADV_HUGEPAGE); /* refused: only slower */
    *m = (struct host_memory){map, map, bytes};
    return map;
}

int host_memory_make(struct host_memory *m, const struct host_rank *h, host_fill_fn *fill,
                     void *arg, struct err *err)
{
    AUTO(shared_release) struct shared shared = {.fd = -1};
    struct host_room room = {.memory = m};

    *m = (struct host_memory){0};
    if (h->local_size == 1)
        return fill(arg, &room, err);
    if (h->local_rank > 0) {
        if (shared_await(&shared, h->run_id, h->local_size, err))
            return -1;
    } else {
        room.shared = &shared;
        if (shared_create(&shared, h->run_id, h->local_size, err) ||
            shared_publish(&shared, fill(arg, &room, err), err))
            return -1;
    }
    m->bytes = shared.map_bytes;
    m->begin = (char *)shared.map + SHARED_HEAD_BYTES;
    m->map = STEAL(shared.map);
    return 0;
}
