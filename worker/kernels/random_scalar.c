#include "worker/kernels/philox.h"
#include "worker/kernels/random.h"

void random_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];

    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        uint64_t product0 = (uint64_t)c0 * PHILOX_M0, product1 = (uint64_t)c2 * PHILOX_M1;

        c0 = (uint32_t)(product1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)product1;
        c2 = (uint32_t)(product0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)product0;
        k0 += PHILOX_W0;
        k1 += PHILOX_W1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

uint32_t random_u32(const struct random_key *key, uint32_t i)
{
    const uint32_t k[2] = {(uint32_t)key->seed, (uint32_t)(key->seed >> 32)};
    const uint32_t counter[4] = {i / 64 * 16 + i % 16, key->item, key->stream,
                                 key->purpose << 16 | key->layer};
    uint32_t out[4];

    random_philox(out, counter, k);
    return out[i % 64 / 16];
}

void random_permutation(uint32_t *perm, uint32_t n, uint64_t seed, uint32_t purpose, uint32_t epoch)
{
    const struct random_key key = {.seed = seed, .purpose = purpose, .stream = epoch};

    for (uint32_t i = 0; i < n; i++)
        perm[i] = i;
    for (uint32_t i = n; i-- > 1;) {
        uint32_t j = (uint32_t)((uint64_t)random_u32(&key, i) * (i + 1) >> 32), kept = perm[i];

        perm[i] = perm[j];
        perm[j] = kept;
    }
}
