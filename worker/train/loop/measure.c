#include "worker/train/loop/measure.h"

#include <assert.h>
#include <math.h>

#include "paceline/mem.h"

enum { USAGE = MEASURE_CONVERT + 1, N_MEASURES = USAGE + N_USAGE };
static_assert(N_MEASURES <= MEASURES_MAX, "room for all of them");

static const char *measure_name_of(int measure)
{
    static const char *const names[] = {
        [MEASURE_PREPARE] = "prepare",
        [MEASURE_DECODE] = "decode",
        [MEASURE_CONVERT] = "convert",
    };

    if (measure < N_PHASES)
        return phase_names[measure];
    return measure < USAGE ? names[measure] : usage_names[measure - USAGE];
}

static bool counts(int measure)
{
    return measure < USAGE || usage_counts((enum usage)(measure - USAGE));
}

void measure_now(struct trainer *t, struct measured *m)
{
    phases_read(&t->phases, m->values);
    const struct batcher_seconds prepared = trainer_prepared(t);
    m->values[MEASURE_PREPARE] = prepared.making;
    m->values[MEASURE_DECODE] = prepared.decoding;
    m->values[MEASURE_CONVERT] = prepared.converting;
    usage_read("", m->values + USAGE);
}

/* To the microsecond: that is what fits a line for all ranks. */
static double measure_rounded(double value) { return round(value * 1e6) / 1e6; }

/* One value of each rank as an array; what is not there as null. */
static void measure_add(cJSON *object, const char *name, const struct measured *all, int n,
                        int measure)
{
    cJSON *values = cJSON_AddArrayToObject(object, name);

    for (int r = 0; r < n; r++)
        cJSON_AddItemToArray(values, cJSON_CreateNumber(measure_rounded(all[r].values[measure])));
}

/* Collective: those of all ranks on rank 0; how many of them are told. */
static int measure_gather(const struct trainer *t, const struct measured *mine,
                          struct measured **all)
{
    const int size = comm_size(t->comm);

    *all = xcalloc((size_t)size, sizeof **all);
    comm_gather(t->comm, mine, sizeof *mine, *all, 0);
    return size < MEASURE_RANKS_MAX ? size : MEASURE_RANKS_MAX;
}

cJSON *measure_ranks(const struct trainer *t, const struct measured *from,
                     const struct measured *to)
{
    AUTO(auto_free) struct measured *all = NULL;
    struct measured mine = *to;
    cJSON *ranks;
    int n;

    for (int i = 0; i < N_MEASURES; i++)
        mine.values[i] -= counts(i) ? from->values[i] : 0;
    n = measure_gather(t, &mine, &all);
    if (comm_rank(t->comm) > 0)
        return NULL;
    ranks = cJSON_CreateObject();
    for (int i = 0; i < N_MEASURES; i++)
        measure_add(ranks, measure_name_of(i), all, n, i);
    return ranks;
}

cJSON *measure_idle(const struct trainer *t, const double idle[N_USAGE])
{
    const struct measured mine = {.values = {idle[USAGE_MEMORY], idle[USAGE_GROUP_MEMORY]}};
    AUTO(auto_free) struct measured *all = NULL;
    const int n = measure_gather(t, &mine, &all);
    cJSON *ranks;

    if (comm_rank(t->comm) > 0)
        return NULL;
    ranks = cJSON_CreateObject();
    measure_add(ranks, "idleBytes", all, n, 0);
    measure_add(ranks, "idleGroupBytes", all, n, 1);
    return ranks;
}
