#include "cli/run/mpirun_filter.h"

#include <string.h>

#include "paceline/mem.h"

#define DASHES "--------------------------------------------------------------------------"
#define DROPPED_MAX 16 /* the longest has six lines: an end that never comes hides little else */

/* How these paragraphs begin, after the name of the program or without it. */
static const char *const beginnings[] = {
    "MPI_ABORT was invoked on rank ",
    " has exited due to process rank ",
    " noticed that process rank ",
    " detected that one or more processes exited with non-zero status",
};

static bool is_about_a_rank(const char *line)
{
    for (size_t i = 0; i < ARRAY_LEN(beginnings); i++)
        if (strstr(line, beginnings[i]))
            return true;
    return false;
}

void mpirun_filter_add(struct mpirun_filter *n, const char *line, size_t len, line_fn *fn,
                       void *arg)
{
    bool dashes = strcmp(line, DASHES) == 0;

    if (n->state == FILTER_DROPPED && n->dropped < DROPPED_MAX) {
        n->state = dashes ? FILTER_NONE : FILTER_DROPPED;
        n->dropped++;
    } else if (n->state == FILTER_OPENED && is_about_a_rank(line)) {
        n->state = FILTER_DROPPED;
        n->dropped = 1;
    } else {
        mpirun_filter_end(n, fn, arg);
        if (dashes)
            n->state = FILTER_OPENED;
        else
            fn(arg, line, len);
    }
}

void mpirun_filter_end(struct mpirun_filter *n, line_fn *fn, void *arg)
{
    if (n->state == FILTER_OPENED)
        fn(arg, DASHES, strlen(DASHES));
    n->state = FILTER_NONE;
}
