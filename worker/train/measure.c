#include "worker/train/measure.h"

#include <assert.h>
#include <math.h>

#include "paceline/mem.h"

/* Behind the phases, which come first. */
enum { PREPARE = N_PHASES, N_MEASURES };
static_assert(N_MEASURES <= MEASURES_MAX, "room for all of them");

static const char *const names[N_MEASURES] = {[PREPARE] = "prepare"};

static const char *name_of(int measure)
{
    return measure < N_PHASES ? phase_names[measure] : names[measure];
}

void measure_now(struct trainer *t, struct measured *m)
{
    phases_read(&t->phases, m->values);
    m->values[PREPARE] = t->prepared + batcher_busy_seconds(t->batches);
}

/* To the microsecond: that is what fits a line for all ranks. */
static double rounded(double value) { return round(value * 1e6) / 1e6; }

void measure_add(const struct trainer *t, const struct measured *from, const struct measured *to,
                 cJSON *event)
{
    const int size = comm_size(t->comm);
    const int told = size < MEASURE_RANKS_MAX ? size : MEASURE_RANKS_MAX;
    AUTO(auto_free) struct measured *all = xcalloc((size_t)size, sizeof *all);
    struct measured mine = *to;
    cJSON *ranks;

    for (int i = 0; i < N_MEASURES; i++)
        mine.values[i] -= from->values[i];
    comm_gather(t->comm, &mine, sizeof mine, all, 0);
    if (!event)
        return;
    ranks = cJSON_AddObjectToObject(event, "perRank");
    for (int i = 0; i < N_MEASURES; i++) {
        cJSON *values = cJSON_AddArrayToObject(ranks, name_of(i));

        for (int r = 0; r < told; r++)
            cJSON_AddItemToArray(values, cJSON_CreateNumber(rounded(all[r].values[i])));
    }
}
