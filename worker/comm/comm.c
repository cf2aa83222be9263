#include <assert.h>
#include <limits.h>
#include <sanitizer/lsan_interface.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

#include "paceline/log.h"
#include "paceline/mem.h"
#include "worker/comm/timeout.h"

enum { ABORT_SECONDS = 10 };

#define AGREE_MAX (64 << 20) /* bytes that ranks compare: a job is the longest */

/* Present in builds with LeakSanitizer: MPI loads and unloads modules in MPI_Init and MPI_Finalize,
 * after which no suppression can name what they leak. */
#pragma weak __lsan_disable
#pragma weak __lsan_enable
#pragma weak __lsan_do_leak_check

/* Whether a launcher started this process as one of several ranks. */
static bool is_launched(void)
{
    static const char *const marks[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"};
    const char *size = getenv("OMPI_COMM_WORLD_SIZE");

    if (size)
        return strcmp(size, "1") != 0;
    for (size_t i = 0; i < ARRAY_LEN(marks); i++)
        if (getenv(marks[i]))
            return true;
    return false;
}

int comm_launched_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *rank = getenv(names[i]);
        if (rank)
            return (int)strtol(rank, NULL, 10);
    }
    return 0;
}

static void on_mpi_error(MPI_Comm *where, int *code, ...)
{
    char text[MPI_MAX_ERROR_STRING];
    int len = 0;

    (void)where;
    MPI_Error_string(*code, text, &len);
    log_error("MPI failed: %.*s", len, text);
    MPI_Abort(MPI_COMM_WORLD, EXIT_UNEXPECTED);
    _exit(EXIT_UNEXPECTED);
}

/* The receivers of the error name the rank. */
static void on_checked_error(MPI_Comm *where, int *code, ...)
{
    int class = MPI_SUCCESS;

    MPI_Error_class(*code, &class);
    if (class != MPI_ERR_TRUNCATE)
        on_mpi_error(where, code);
}

MPI_Comm comm_dup_checked(const struct comm *c)
{
    MPI_Errhandler handler;
    MPI_Comm world;

    MPI_Comm_dup(c->world, &world);
    MPI_Comm_create_errhandler(on_checked_error, &handler);
    MPI_Comm_set_errhandler(world, handler);
    MPI_Errhandler_free(&handler);
    return world;
}

void comm_refuse(struct comm *c, int rank, const char *fmt, ...)
{
    char what[192];
    va_list args;

    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    log_error("rank %d sent %s rank=%d", c->ranks ? c->ranks[rank] : rank, what,
              c->ranks ? c->ranks[c->rank] : c->rank);
    comm_abort(c, EXIT_UNEXPECTED);
}

void comm_check_flag(struct comm *c, int rank, uint8_t flag, const char *what)
{
    if (flag > 1)
        comm_refuse(c, rank, "%u for %s; allowed: 0 or 1", (unsigned)flag, what);
}

void comm_check_received(struct comm *c, int rank, int code, const MPI_Status *status, size_t bytes,
                         const char *what)
{
    MPI_Count got = 0;

    if (code != MPI_SUCCESS)
        comm_refuse(c, rank, "more than %zu bytes as %s; allowed: %zu", bytes, what, bytes);
    MPI_Get_elements_x(status, MPI_BYTE, &got);
    if (got != (MPI_Count)bytes)
        comm_refuse(c, rank, "%lld bytes as %s; allowed: %zu", (long long)got, what, bytes);
}

void comm_check_sum(struct comm *c, int code)
{
    if (code == MPI_SUCCESS)
        return;
    log_error("a rank sent more than its part of a sum over all ranks rank=%d", c->rank);
    comm_abort(c, EXIT_UNEXPECTED);
}

static void find_local(struct comm *c)
{
    MPI_Comm host;

    MPI_Comm_split_type(c->world, MPI_COMM_TYPE_SHARED, c->rank, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &c->local_rank);
    MPI_Comm_size(host, &c->local_size);
    MPI_Comm_free(&host);
}

static struct comm *new_comm(void)
{
    struct comm *c = xcalloc(1, sizeof *c);

    *c = (struct comm){
        .size = 1, .local_size = 1, .world = MPI_COMM_NULL, .patience = COMM_FOR_EVER};
    c->lanes_request = MPI_REQUEST_NULL;
    return c;
}

/* Once the world is there. */
static void init_ranks(struct comm *c)
{
    if (c->world != MPI_COMM_NULL) {
        MPI_Comm_rank(c->world, &c->rank);
        MPI_Comm_size(c->world, &c->size);
        find_local(c);
    }
    if (!c->sent)
        c->sent = xcalloc((size_t)c->size, sizeof *c->sent);
    c->lanes_counts = xcalloc((size_t)c->size, sizeof *c->lanes_counts);
    c->lanes_offsets = xcalloc((size_t)c->size, sizeof *c->lanes_offsets);
}

static void comm_release(struct comm *c)
{
    shaper_release(&c->shaper);
    if (!c->ranks)
        free(c->sent);
    free(c->ranks);
    free(c->lanes_mine);
    free(c->lanes_all);
    free(c->lanes_counts);
    free(c->lanes_offsets);
    free(c);
}

struct comm *comm_init(int *argc, char ***argv)
{
    struct comm *c = new_comm();

    if (is_launched()) {
        MPI_Errhandler handler;
        int provided;

        if (__lsan_disable)
            __lsan_disable();
        MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &provided);
        if (__lsan_enable)
            __lsan_enable();
        MPI_Comm_create_errhandler(on_mpi_error, &handler);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
        MPI_Comm_dup(MPI_COMM_WORLD, &c->world);
        MPI_Errhandler_free(&handler);
    }
    init_ranks(c);
    return c;
}

/* MPI knows them, so no message, which would have to be checked, is needed. */
static void find_ranks(struct comm *part, const struct comm *whole)
{
    AUTO(auto_free) int *own = xcalloc((size_t)part->size, sizeof *own);
    MPI_Group from, to;

    for (int i = 0; i < part->size; i++)
        own[i] = i;
    MPI_Comm_group(part->world, &from);
    MPI_Comm_group(whole->world, &to);
    MPI_Group_translate_ranks(from, part->size, own, to, part->ranks);
    MPI_Group_free(&from);
    MPI_Group_free(&to);
}

struct comm *comm_part(struct comm *c, int part)
{
    struct comm *p = new_comm();

    MPI_Comm_split(c->world, part < 0 ? MPI_UNDEFINED : part, c->rank, &p->world);
    if (p->world == MPI_COMM_NULL) {
        free(p);
        return NULL;
    }
    p->patience = c->patience;
    p->sent = c->sent;
    init_ranks(p);
    p->ranks = xcalloc((size_t)p->size, sizeof *p->ranks);
    find_ranks(p, c);
    return p;
}

void comm_part_free(struct comm *part)
{
    if (!part)
        return;
    MPI_Comm_free(&part->world);
    comm_release(part);
}

const uint64_t *comm_sent(const struct comm *c) { return c->sent; }

uint64_t comm_bytes_sent(const struct comm *c)
{
    uint64_t sum = 0;

    for (int r = 0; r < c->size; r++)
        sum += c->sent[r];
    return sum;
}

void comm_simulate(struct comm *c, double bytes_per_second, double latency)
{
    shaper_release(&c->shaper);
    shaper_init(&c->shaper, bytes_per_second, latency);
}

void comm_finalize(struct comm *c)
{
    if (c->world != MPI_COMM_NULL) {
        if (__lsan_do_leak_check)
            __lsan_do_leak_check();
        MPI_Comm_free(&c->world);
        MPI_Finalize();
    }
    comm_release(c);
}

int comm_rank(const struct comm *c) { return c->rank; }

int comm_size(const struct comm *c) { return c->size; }

int comm_local_rank(const struct comm *c) { return c->local_rank; }

int comm_local_size(const struct comm *c) { return c->local_size; }

void comm_host(char name[COMM_HOST_MAX])
{
    const char *given = getenv("PACELINE_HOST");

    memset(name, 0, COMM_HOST_MAX);
    if (given && *given)
        snprintf(name, COMM_HOST_MAX, "%s", given);
    else if (gethostname(name, COMM_HOST_MAX - 1) != 0)
        snprintf(name, COMM_HOST_MAX, "unknown");
}

int comm_rank_elsewhere(struct comm *c)
{
    char mine[COMM_HOST_MAX];
    AUTO(auto_free) char(*all)[COMM_HOST_MAX] = xcalloc((size_t)c->size, sizeof *all);
    int rank = 1;

    comm_host(mine);
    comm_gather(c, mine, sizeof mine, all, 0);
    for (int i = 0; i < c->size; i++)
        all[i][COMM_HOST_MAX - 1] = '\0';
    while (c->rank == 0 && rank < c->size && strcmp(all[rank], all[0]) == 0)
        rank++;
    comm_broadcast(c, &rank, sizeof rank, 0);
    if (rank < 1 || rank > c->size)
        comm_refuse(c, 0, "rank %d as one of another host; allowed: 1 to %d", rank, c->size);
    return rank < c->size ? rank : -1;
}

_Noreturn void comm_abort(struct comm *c, int exit_code)
{
    if (c && c->world != MPI_COMM_NULL) {
        /* MPI_Abort asks the launcher, which may be gone. */
        signal(SIGALRM, SIG_DFL);
        alarm(ABORT_SECONDS);
        MPI_Abort(MPI_COMM_WORLD, exit_code);
    }
    _exit(exit_code);
}

void comm_set_patience(struct comm *c, int64_t seconds) { c->patience = seconds; }

/* Until it is done. A call of MPI that waits itself would wait for a rank that is stopped for ever.
 */
static void comm_finish(struct comm *c, MPI_Request request, const char *what, const char *whom)
{
    timeout_wait(c, c->patience, &request, 1, what, whom);
}

void comm_barrier(struct comm *c)
{
    MPI_Request request;

    if (c->size == 1)
        return;
    MPI_Ibarrier(c->world, &request);
    comm_finish(c, request, "a barrier", "all workers");
}

void comm_broadcast(struct comm *c, void *bytes, size_t n, int root)
{
    MPI_Request request;

    assert(n <= INT_MAX);
    if (c->size == 1)
        return;
    MPI_Ibcast(bytes, (int)n, MPI_BYTE, root, c->world, &request);
    comm_finish(c, request, "a broadcast", peer_name(root).s);
}

void comm_pass(struct comm *c, void *bytes, size_t n, int from, int to)
{
    MPI_Request request;

    assert(n <= INT_MAX && from != to);
    if (c->rank == from)
        MPI_Isend(bytes, (int)n, MPI_BYTE, to, 0, c->world, &request);
    else
        MPI_Irecv(bytes, (int)n, MPI_BYTE, from, 0, c->world, &request);
    if (c->rank == from)
        comm_finish(c, request, "an answer", peer_name(to).s);
    else
        timeout_wait_received(c, c->patience, &request, from, n, "a message");
}

int64_t comm_max(struct comm *c, int64_t value)
{
    MPI_Request request;

    if (c->size == 1)
        return value;
    MPI_Iallreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, MPI_MAX, c->world, &request);
    comm_finish(c, request, "a number", "all workers");
    return value;
}

uint64_t comm_local_sum(struct comm *c, uint64_t value)
{
    MPI_Comm host;

    if (c->size == 1)
        return value;
    MPI_Comm_split_type(c->world, MPI_COMM_TYPE_SHARED, c->rank, MPI_INFO_NULL, &host);
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_UINT64_T, MPI_SUM, host);
    MPI_Comm_free(&host);
    return value;
}

void comm_gather(struct comm *c, const void *mine, size_t n, void *all, int root)
{
    MPI_Request request;

    assert(n <= INT_MAX);
    if (c->size == 1) {
        memcpy(all, mine, n);
        return;
    }
    MPI_Igather(mine, (int)n, MPI_BYTE, all, (int)n, MPI_BYTE, root, c->world, &request);
    comm_finish(c, request, "values", "all workers");
}

void comm_broadcast_err(struct comm *c, struct err *err, int root)
{
    comm_broadcast(c, err, sizeof *err, root);
    err->msg[sizeof err->msg - 1] = '\0';
    if ((unsigned)err->code > ERR_INTERRUPTED)
        comm_refuse(c, root, "an error of code %d; allowed: 0 to %d", (int)err->code,
                    ERR_INTERRUPTED);
}

/* A rank that comm_max has found; size: none. */
static int found_rank(struct comm *c, int64_t rank)
{
    if (rank >= 0 && rank <= c->size)
        return (int)rank;
    log_error("the ranks agreed on rank %lld; allowed: 0 to %d rank=%d", (long long)rank, c->size,
              c->rank);
    comm_abort(c, EXIT_UNEXPECTED);
}

static int disagree(struct comm *c, int rank, const char *what, struct err *err)
{
    char here[COMM_HOST_MAX], there[COMM_HOST_MAX];

    comm_host(here);
    memcpy(there, here, sizeof there);
    comm_broadcast(c, here, sizeof here, 0);
    comm_broadcast(c, there, sizeof there, rank);
    here[sizeof here - 1] = there[sizeof there - 1] = '\0';
    return err_set(err, ERR_INVALID,
                   "rank %d on %s and rank 0 on %s differ in %s; all ranks must agree", rank, there,
                   here, what);
}

int comm_agree(struct comm *c, const char *what, const void *bytes, size_t n, struct err *err)
{
    uint64_t root_n = n;

    comm_broadcast(c, &root_n, sizeof root_n, 0);
    if (root_n > AGREE_MAX)
        comm_refuse(c, 0, "a length of %llu bytes for its %s; allowed: %d",
                    (unsigned long long)root_n, what, AGREE_MAX);

    AUTO(auto_free) unsigned char *root_bytes = xmalloc(root_n + 1);

    assert(bytes || c->rank != 0);
    if (c->rank == 0)
        memcpy(root_bytes, bytes, n);
    comm_broadcast(c, root_bytes, root_n, 0);

    bool same = !bytes || (n == root_n && memcmp(bytes, root_bytes, n) == 0);
    /* The smallest rank that differs, as a maximum of negative numbers. */
    const int first = found_rank(c, -comm_max(c, same ? -c->size : -c->rank));

    return first < c->size ? disagree(c, first, what, err) : 0;
}

int comm_verdict(struct comm *c, int rc, struct err *err)
{
    const int root = found_rank(c, -comm_max(c, rc ? -c->rank : -c->size));

    if (root == c->size)
        return 0;
    comm_broadcast_err(c, err, root);
    return -1;
}

void comm_lanes_begin(struct comm *c, struct lane_tree tree, const double *mine, int n)
{
    int all = 0, own;

    for (int rank = 0; rank < c->size; rank++) {
        int first, count;

        lane_tree_share(tree, rank, &first, &count);
        c->lanes_counts[rank] = count * n;
        c->lanes_offsets[rank] = first * n;
        all += count * n;
    }
    own = c->lanes_counts[c->rank];
    c->lanes_doubles = (size_t)all;
    if (c->lanes_room < c->lanes_doubles) {
        c->lanes_mine = xrealloc(c->lanes_mine, c->lanes_doubles * sizeof *c->lanes_mine);
        c->lanes_all = xrealloc(c->lanes_all, c->lanes_doubles * sizeof *c->lanes_all);
        c->lanes_room = c->lanes_doubles;
    }
    if (c->size == 1) {
        memcpy(c->lanes_all, mine, (size_t)own * sizeof *mine);
        return;
    }
    memcpy(c->lanes_mine, mine, (size_t)own * sizeof *mine);
    comm_lock(c);
    MPI_Iallgatherv(c->lanes_mine, own, MPI_DOUBLE, c->lanes_all, c->lanes_counts, c->lanes_offsets,
                    MPI_DOUBLE, c->world, &c->lanes_request);
    comm_unlock(c);
}

void comm_lanes_end(struct comm *c, double *all)
{
    int done = c->size == 1;

    while (!done) {
        comm_lock(c);
        MPI_Test(&c->lanes_request, &done, MPI_STATUS_IGNORE);
        comm_unlock(c);
    }
    memcpy(all, c->lanes_all, c->lanes_doubles * sizeof *all);
}
