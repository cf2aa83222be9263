#include "worker/data/store/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define POLL_NS 500000
#define WAIT_SECONDS 60

enum shared_state { SHARED_EMPTY, SHARED_FILLING, SHARED_READY, SHARED_FAILED };

/* All members map the first page; a fresh one is zero, so its state is SHARED_EMPTY. */
struct shared_head {
    _Atomic int state;
    _Atomic int opened; /* members that no longer need the name */
    struct err failure; /* valid in SHARED_FAILED */
};

_Static_assert(sizeof(struct shared_head) <= SHARED_HEAD_BYTES, "the head fits its page");

static double shared_seconds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Polls until done(s) is not 0 and returns that; 0 after WAIT_SECONDS. */
static int wait_until(struct shared *s, int (*done)(struct shared *))
{
    double give_up = shared_seconds_now() + WAIT_SECONDS;
    int result;

    while ((result = done(s)) == 0 && shared_seconds_now() < give_up)
        nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
    return result;
}

static void shared_init(struct shared *s, const char *run_id, int members)
{
    *s = (struct shared){.fd = -1, .members = members};
    snprintf(s->name, sizeof s->name, "/paceline-%u-%s", (unsigned)getuid(), run_id);
}

static int map_whole(struct shared *s, size_t bytes, struct err *err)
{
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);

    if (map == MAP_FAILED)
        return err_set(err, ERR_IO, "map %zu bytes of shared memory %s: %s", bytes, s->name,
                       strerror(errno));
    if (s->map)
        munmap(s->map, s->map_bytes);
    s->map = map;
    s->map_bytes = bytes;
    return 0;
}

/* The last member to open the memory takes its name away. */
static void count_opened(struct shared *s)
{
    struct shared_head *head = s->map;

    if (atomic_fetch_add(&head->opened, 1) + 1 == s->members)
        shm_unlink(s->name);
}

int shared_create(struct shared *s, const char *run_id, int members, struct err *err)
{
    struct shared_head *head;

    shared_init(s, run_id, members);
    s->fd = shm_open(s->name, O_CREAT | O_EXCL | O_RDWR, 0600);
    if (s->fd < 0)
        return err_set(err, ERR_IO, "create shared memory %s: %s", s->name, strerror(errno));
    if (flock(s->fd, LOCK_EX) || ftruncate(s->fd, SHARED_HEAD_BYTES)) {
        err_set(err, ERR_IO, "size shared memory %s: %s", s->name, strerror(errno));
        shm_unlink(s->name);
        return -1;
    }
    if (map_whole(s, SHARED_HEAD_BYTES, err)) {
        shm_unlink(s->name);
        return -1;
    }
    head = s->map;
    atomic_store(&head->state, SHARED_FILLING);
    count_opened(s);
    return 0;
}

int shared_allocate(struct shared *s, size_t bytes, struct err *err)
{
    /* Reserved now: a full /dev/shm must be an error here, not a SIGBUS later. */
    int rc = posix_fallocate(s->fd, 0, (off_t)(SHARED_HEAD_BYTES + bytes));

    if (rc)
        return err_set(err, ERR_IO, "%zu bytes of shared memory are needed in /dev/shm: %s", bytes,
                       strerror(rc));
    return map_whole(s, SHARED_HEAD_BYTES + bytes, err);
}

static int all_opened(struct shared *s)
{
    struct shared_head *head = s->map;

    return atomic_load(&head->opened) >= s->members;
}

/* Whether all came in time; the name is gone in any case. */
static bool wait_for_all(struct shared *s)
{
    if (wait_until(s, all_opened))
        return true;
    shm_unlink(s->name);
    return false;
}

int shared_publish(struct shared *s, int rc, struct err *err)
{
    struct shared_head *head = s->map;

    if (rc)
        head->failure = *err;
    atomic_store(&head->state, rc ? SHARED_FAILED : SHARED_READY);
    if (!wait_for_all(s) && !rc)
        return err_set(err, ERR_IO,
                       "only %d of %d ranks of this host asked for the data within %d s",
                       atomic_load(&head->opened), s->members, WAIT_SECONDS);
    return rc;
}

static int open_named(struct shared *s)
{
    s->fd = shm_open(s->name, O_RDWR, 0);
    return s->fd >= 0;
}

static int has_head(struct shared *s)
{
    struct stat st;

    return fstat(s->fd, &st) == 0 && st.st_size >= SHARED_HEAD_BYTES;
}

/* The state once it is final; SHARED_FILLING when the creator died (its lock is free). */
static int outcome(struct shared *s)
{
    struct shared_head *head = s->map;
    int state = atomic_load(&head->state);

    if (state > SHARED_FILLING)
        return state;
    if (flock(s->fd, LOCK_SH | LOCK_NB))
        return SHARED_EMPTY;
    state = atomic_load(&head->state); /* it may have finished just before its end */
    return state > SHARED_FILLING ? state : SHARED_FILLING;
}

/* A final state, however long the creator takes for it, as long as it lives: decoding has no
 * limit. SHARED_FILLING when it died. */
static int wait_for_outcome(struct shared *s)
{
    int state;

    while ((state = outcome(s)) == SHARED_EMPTY)
        nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
    return state;
}

int shared_await(struct shared *s, const char *run_id, int members, struct err *err)
{
    const struct shared_head *head;
    struct stat st;

    shared_init(s, run_id, members);
    if (!wait_until(s, open_named) || !wait_until(s, has_head))
        return err_set(err, ERR_IO, "the first rank of this host did not offer %s within %d s",
                       s->name, WAIT_SECONDS);
    if (map_whole(s, SHARED_HEAD_BYTES, err))
        return -1;
    head = s->map;
    count_opened(s);
    switch (wait_for_outcome(s)) {
    case SHARED_READY:
        break;
    case SHARED_FAILED:
        *err = head->failure;
        return -1;
    default:
        wait_for_all(s); /* the others must find the name to learn it too */
        return err_set(err, ERR_IO, "the first rank of this host died while it loaded the data");
    }
    if (fstat(s->fd, &st))
        return err_set(err, ERR_IO, "shared memory %s: %s", s->name, strerror(errno));
    return map_whole(s, (size_t)st.st_size, err);
}

void shared_release(struct shared *s)
{
    if (s->map)
        munmap(s->map, s->map_bytes);
    if (s->fd >= 0)
        close(s->fd);
    s->map = NULL;
    s->fd = -1;
}
