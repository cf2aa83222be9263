/*
 * Preloaded into the ranks of a run (tests/cli/test_spoiled.sh): spoils one message on its way out.
 * SPOIL is "RANK TAG SKIP AT VALUE": of the messages of bytes that this rank sends with this tag,
 * or of its broadcasts of N bytes (TAG -N), or of the doubles that it gives to all (TAG -1), the
 * one after the first SKIP has the 32-bit VALUE at byte AT.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static struct {
    bool on;
    int tag, skip, at, value;
} spoil;

static int read_number(char **text) { return (int)strtol(*text, text, 10); }

__attribute__((constructor)) static void read_spoil(void)
{
    char *text = getenv("SPOIL");
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");

    if (!text || !rank || read_number(&text) != (int)strtol(rank, NULL, 10))
        return;
    spoil.on = true;
    spoil.tag = read_number(&text);
    spoil.skip = read_number(&text);
    spoil.at = read_number(&text);
    spoil.value = read_number(&text);
}

/* A copy, which stays: the sender may not change what is on its way. */
static void *spoiled(const void *bytes, int n)
{
    char *copy = malloc((size_t)n);

    if (!copy || n < spoil.at + (int)sizeof spoil.value)
        abort();
    memcpy(copy, bytes, (size_t)n);
    memcpy(copy + spoil.at, &spoil.value, sizeof spoil.value);
    return copy;
}

static bool is_due(MPI_Datatype type, int tag)
{
    return spoil.on && type == MPI_BYTE && tag == spoil.tag && spoil.skip-- == 0;
}

int MPI_Isend(const void *bytes, int n, MPI_Datatype type, int to, int tag, MPI_Comm c,
              MPI_Request *request)
{
    const bool now = is_due(type, tag);

    return PMPI_Isend(now ? spoiled(bytes, n) : bytes, n, type, to, tag, c, request);
}

int MPI_Ibcast(void *bytes, int n, MPI_Datatype type, int root, MPI_Comm c, MPI_Request *request)
{
    int rank;

    MPI_Comm_rank(c, &rank);
    const bool now = rank == root && is_due(type, -n);

    return PMPI_Ibcast(now ? spoiled(bytes, n) : bytes, n, type, root, c, request);
}

int MPI_Iallgatherv(const void *values, int n, MPI_Datatype type, void *all, const int *counts,
                    const int *offsets, MPI_Datatype of_all, MPI_Comm c, MPI_Request *request)
{
    const bool now = spoil.on && type == MPI_DOUBLE && spoil.tag == -1 && spoil.skip-- == 0;

    return PMPI_Iallgatherv(now ? spoiled(values, n * (int)sizeof(double)) : values, n, type, all,
                            counts, offsets, of_all, c, request);
}
