/*
 * mpi: each rank folds its own blocks, MPI_Allreduce does the rest in an order of its own: the
 * oracle of the other algorithms. A rank without samples adds zeros.
 */
#include "worker/comm/reducer.h"

#define BF16_CHUNK_MAX ((size_t)1024 * 1024)

static float bf16_value(uint16_t x)
{
    uint32_t bits = (uint32_t)x << 16;
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* To the nearest, ties to even; a NaN stays one. */
static uint16_t bf16_round(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* An MPI_User_function, which has no argument that could bring the kernels. */
static void bf16_sum(void *in, void *inout, int *n, MPI_Datatype *type)
{
    const uint16_t *x = in;
    uint16_t *acc = inout;

    (void)type;
    for (int i = 0; i < *n; i++)
        acc[i] = bf16_round(bf16_value(acc[i]) + bf16_value(x[i]));
}

static void mpi_plan(struct reducer *r)
{
    r->chunk_max = r->n;
    r->max_requests = 1;
    if (r->config.wire == WIRE_FP32)
        return;
    if (r->chunk_max > BF16_CHUNK_MAX)
        r->chunk_max = BF16_CHUNK_MAX;
    r->buffer_bytes = r->chunk_max * r->wire_bytes;
    MPI_Op_create(bf16_sum, 1, &r->bf16_sum);
}

static void mpi_start(struct reducer *r, struct chunk *p)
{
    bool bf16 = r->config.wire == WIRE_BF16;
    float *sums = r->blocks[0] + p->offset;
    void *values = bf16 ? (void *)p->buffer : sums;
    MPI_Op op = bf16 ? r->bf16_sum : MPI_SUM;

    fold_locate_mine(r, p->offset);
    fold_leaves(r, p->n, sums);
    if (bf16)
        r->kernels->to_bf16(values, sums, p->n);
    comm_count(r->comm, r->rank, p->n * r->wire_bytes);
    if (r->config.schedule == COMM_END)
        comm_check_sum(r->comm,
                       MPI_Allreduce(MPI_IN_PLACE, values, (int)p->n, r->wire_type, op, r->world));
    else
        MPI_Iallreduce(MPI_IN_PLACE, values, (int)p->n, r->wire_type, op, r->world,
                       chunk_request(r, p, 0));
}

static bool mpi_advance(struct reducer *r, struct chunk *p)
{
    if (r->config.wire == WIRE_BF16)
        r->kernels->from_bf16(r->blocks[0] + p->offset, (const uint16_t *)(void *)p->buffer, p->n);
    return true;
}

const struct reducer_ops mpi_ops = {
    .local_fold = true, .plan = mpi_plan, .start = mpi_start, .advance = mpi_advance};
