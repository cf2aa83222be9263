/*
 * The simulation: the real controller in simulated clusters.
 *   sim --seeds 1-2000 [--jobs 2] [--stats]    many histories; the histogram at the end
 *   sim --seed 7 [--verbose]                   one, with its trace
 * --brief goes on after failures, one line each; --hash prints one number per history.
 */
#include <getopt.h>
#include <sys/wait.h>
#include <unistd.h>

#include "paceline/log.h"
#include "paceline/mem.h"
#include "tests/sim/world.h"

struct sim_options {
    uint64_t first, last;
    int jobs;
    bool verbose, stats, hash, brief;
};

static void print_failure(const struct sim_world *w, const struct sim_options *o)
{
    uint64_t from = w->n_trace > TRACE_LINES ? w->n_trace - TRACE_LINES : 0;

    printf("seed %llu broke an invariant: %s\n", (unsigned long long)w->seed, w->failure);
    if (w->verbose || o->brief)
        return;
    for (uint64_t i = from; i < w->n_trace; i++)
        printf("  %s\n", w->trace[i % TRACE_LINES]);
}

static void run_seed(uint64_t seed, const struct sim_options *o, struct stats *stats)
{
    struct sim_world *w = xcalloc(1, sizeof *w);

    world_init(w, seed, o->verbose, stats);
    if (!world_run(w)) {
        print_failure(w, o);
        if (stats->first_failure < 0)
            stats->first_failure = (int64_t)seed;
    }
    if (o->hash)
        printf("%llu %016llx\n", (unsigned long long)seed, (unsigned long long)w->hash);
    world_release(w);
    free(w);
    fflush(stdout);
}

#define ENOUGH_FAILURES 3
#define MANY_FAILURES 6 /* told briefly */

/* Every jobs-th seed. */
static void run_share(const struct sim_options *o, int share, struct stats *stats)
{
    for (uint64_t seed = o->first + (uint64_t)share; seed <= o->last; seed += (uint64_t)o->jobs) {
        run_seed(seed, o, stats);
        if (stats->failures >= (o->brief ? MANY_FAILURES : ENOUGH_FAILURES))
            return;
    }
}

static void add(struct stats *sum, const struct stats *part)
{
    for (int f = 0; f < N_FAULTS; f++) {
        for (int at = 0; at < N_SITUATIONS; at++)
            sum->cells[f][at] += part->cells[f][at];
    }
    sum->seeds += part->seeds;
    sum->events += part->events;
    sum->requests += part->requests;
    sum->pods += part->pods;
    sum->succeeded += part->succeeded;
    sum->failed += part->failed;
    sum->restarts += part->restarts;
    sum->launches += part->launches;
    sum->switches += part->switches;
    sum->running += part->running;
    sum->failures += part->failures;
    if (part->first_failure >= 0 &&
        (sum->first_failure < 0 || part->first_failure < sum->first_failure))
        sum->first_failure = part->first_failure;
}

/* One process per share; a child that crashes counts as a failure. */
static void run_all(const struct sim_options *o, struct stats *sum)
{
    int pipes[64][2];

    if (o->jobs == 1) {
        run_share(o, 0, sum);
        return;
    }
    for (int i = 0; i < o->jobs; i++) {
        if (pipe(pipes[i]))
            exit(EXIT_FAILURE);
        if (fork() == 0) {
            struct stats stats = {.first_failure = -1};

            run_share(o, i, &stats);
            _exit(write(pipes[i][1], &stats, sizeof stats) != sizeof stats);
        }
        close(pipes[i][1]);
    }
    for (int i = 0; i < o->jobs; i++) {
        struct stats part;

        if (read(pipes[i][0], &part, sizeof part) == sizeof part) {
            add(sum, &part);
        } else {
            printf("a simulation crashed: run its seeds one by one\n");
            sum->failures++;
        }
        close(pipes[i][0]);
        wait(NULL);
    }
}

static void print_histogram(const struct stats *s)
{
    int empty = 0;

    printf("%-20s", "fault \\ state");
    for (int at = 0; at < N_SITUATIONS; at++)
        printf(" %10s", situation_names[at]);
    printf("\n");
    for (int f = 0; f < N_FAULTS; f++) {
        printf("%-20s", fault_names[f]);
        for (int at = 0; at < N_SITUATIONS; at++)
            printf(" %10llu", (unsigned long long)s->cells[f][at]);
        printf("\n");
    }
    for (int f = 0; f < N_FAULTS; f++) {
        for (int at = 0; at < N_SITUATIONS; at++) {
            if (!s->cells[f][at])
                printf("%s %s x %s", empty++ ? "," : "empty:", fault_names[f], situation_names[at]);
        }
    }
    printf("%s\n", empty ? "" : "no cell is empty");
}

static int usage(void)
{
    fprintf(stderr, "usage: sim [--seed N | --seeds A-B] [--jobs N] [--verbose] [--stats] "
                    "[--hash] [--brief]\n");
    return 2;
}

/* "7" or "1-2000". */
static bool parse_seeds(struct sim_options *o, const char *text)
{
    char *end;

    o->first = o->last = strtoull(text, &end, 10);
    if (*end == '-')
        o->last = strtoull(end + 1, &end, 10);
    return !*end && o->first <= o->last;
}

static bool parse(struct sim_options *o, int argc, char **argv)
{
    static const struct option table[] = {
        {"seed", required_argument, NULL, 's'}, {"seeds", required_argument, NULL, 's'},
        {"jobs", required_argument, NULL, 'j'}, {"verbose", no_argument, NULL, 'v'},
        {"stats", no_argument, NULL, 't'},      {"hash", no_argument, NULL, 'h'},
        {"brief", no_argument, NULL, 'b'},      {0}};
    int c;

    while ((c = getopt_long(argc, argv, "", table, NULL)) != -1) {
        if (c == '?' || (c == 's' && !parse_seeds(o, optarg ? optarg : "")))
            return false;
        if (c == 'j')
            o->jobs = (int)strtol(optarg ? optarg : "", NULL, 10);
        o->verbose = o->verbose || c == 'v';
        o->stats = o->stats || c == 't';
        o->hash = o->hash || c == 'h';
        o->brief = o->brief || c == 'b';
    }
    return optind == argc && o->jobs >= 1 && o->jobs <= 64;
}

int main(int argc, char **argv)
{
    struct sim_options o = {.first = 1, .last = 2000, .jobs = 1};
    struct stats sum = {.first_failure = -1};

    if (!parse(&o, argc, argv))
        return usage();
    log_init(o.verbose ? LOG_WARN : LOG_ERROR, "sim");
    run_all(&o, &sum);
    if (o.stats)
        print_histogram(&sum);
    printf("sim: %llu seeds, %llu events, %llu requests, %llu pods, %llu restarts, "
           "%llu launches, %llu switches, %llu jobs succeeded, %llu failed, %llu run on: %s",
           (unsigned long long)sum.seeds, (unsigned long long)sum.events,
           (unsigned long long)sum.requests, (unsigned long long)sum.pods,
           (unsigned long long)sum.restarts, (unsigned long long)sum.launches,
           (unsigned long long)sum.switches, (unsigned long long)sum.succeeded,
           (unsigned long long)sum.failed, (unsigned long long)sum.running,
           sum.failures ? "BROKEN" : "all invariants held\n");
    if (sum.first_failure >= 0)
        printf(", first by seed %lld", (long long)sum.first_failure);
    if (sum.failures)
        printf("\n");
    return sum.failures ? 1 : 0;
}
