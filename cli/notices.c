#include "cli/notices.h"

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

void notices_add(struct notices *n, const char *line, size_t len, line_fn *fn, void *arg)
{
    bool dashes = strcmp(line, DASHES) == 0;

    if (n->state == NOTICE_DROPPED && n->dropped < DROPPED_MAX) {
        n->state = dashes ? NOTICE_NONE : NOTICE_DROPPED;
        n->dropped++;
    } else if (n->state == NOTICE_OPENED && is_about_a_rank(line)) {
        n->state = NOTICE_DROPPED;
        n->dropped = 1;
    } else {
        notices_end(n, fn, arg);
        if (dashes)
            n->state = NOTICE_OPENED;
        else
            fn(arg, line, len);
    }
}

void notices_end(struct notices *n, line_fn *fn, void *arg)
{
    if (n->state == NOTICE_OPENED)
        fn(arg, DASHES, strlen(DASHES));
    n->state = NOTICE_NONE;
}
