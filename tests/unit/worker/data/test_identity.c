// LINK: common worker/data worker/kernels/random_scalar.c
// LIBS: -ljpeg -lpng
// A digest of a set's samples tells another byte, two that changed places and one more or less; of
// what is mapped and large it knows those that are spread over it.
#include <sys/mman.h>

#include "paceline/mem.h"
#include "tests/test.h"
#include "worker/data/store/identity.h"
#include "worker/data/store/layout.h"

enum { N = 9, PIXELS = 2 * 3 * 5 };

static const struct shape shape = {2, 3, 5};
static struct job job;

static uint64_t samples(const struct dataset *set, bool packed)
{
    struct err err;
    uint64_t digest = 0;

    job.dataset.cache_path = packed ? (char *)"." : NULL;
    CHECK_INT(identity_samples(&digest, set, &job, &err), 0);
    return digest;
}

/* Any bit of any of the bytes, and any two of the n pieces. */
static void check_all(const struct dataset *set, uint8_t *bytes, size_t n, size_t each)
{
    const uint64_t want = samples(set, false);
    uint8_t spare[PIXELS * sizeof(float)];

    CHECK(samples(set, false) == want && samples(set, true) == want);
    for (size_t bit = 0; bit < 8 * n * each; bit += 3) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        CHECK(samples(set, false) != want);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < a; b++) {
            memcpy(spare, bytes + a * each, each);
            memcpy(bytes + a * each, bytes + b * each, each);
            memcpy(bytes + b * each, spare, each);
            CHECK(samples(set, false) != want);
            memcpy(bytes + b * each, bytes + a * each, each);
            memcpy(bytes + a * each, spare, each);
        }
    CHECK(samples(set, false) == want);
}

static void test_images(void)
{
    uint8_t bytes[N * PIXELS + 1], copy[N * PIXELS + 1];
    struct dataset set = {.ops = &bytes_in_memory, .n = N, .shape = shape, .images = bytes};

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 37 + i / 11);
    check_all(&set, bytes, N, PIXELS);

    const uint64_t want = samples(&set, false);
    /* Hosts of any CPU agree: this value is of zlib's CRC-32 and the same formula in Python. */
    CHECK(want == 0xf0682b651c161e76u);
    memcpy(copy + 1, bytes, N * PIXELS);
    set.images = copy + 1; /* wherever it lies */
    CHECK(samples(&set, false) == want);
    set.n--;
    CHECK(samples(&set, false) != want);
}

static void test_rows(void)
{
    float rows[N * PIXELS];
    const struct dataset set = {
        .ops = &rows_in_memory, .n = N, .shape = shape, .images = (uint8_t *)rows};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        rows[i] = (float)i / 7;
    check_all(&set, (uint8_t *)rows, N, PIXELS * sizeof *rows);
}

static void test_labels(void)
{
    uint16_t labels[N] = {3, 1, 4, 1, 5, 9, 2, 6, 5};
    const struct dataset set = {.ops = &bytes_in_memory, .n = N, .shape = shape, .labels = labels};
    const uint64_t want = identity_labels(&set);

    for (int i = 0; i < N; i++) {
        labels[i] ^= 256;
        CHECK(identity_labels(&set) != want);
        labels[i] ^= 256;
    }
    CHECK(identity_labels(&set) == want);
}

/* Whether the digest knows byte `at`. */
static bool knows(const struct dataset *set, bool packed, uint8_t *bytes, size_t at)
{
    const uint64_t before = samples(set, packed);

    bytes[at] ^= 1;
    const uint64_t after = samples(set, packed);
    bytes[at] ^= 1;
    return before != after;
}

/* Memory that nobody has written to takes no room. */
static void test_large(void)
{
    const size_t each = 32768, n = IDENTITY_WHOLE_BYTES / each + 1;
    uint8_t *bytes = mmap(NULL, n * each, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct dataset set = {
        .ops = &bytes_in_memory, .n = (uint32_t)n, .shape = {2, 128, 128}, .images = bytes};

    CHECK(bytes != MAP_FAILED);
    CHECK(knows(&set, false, bytes, n * each - 1));
    CHECK(knows(&set, false, bytes, 5 * each));
    for (uint32_t k = 0; k < IDENTITY_SPREAD; k += 15) /* the first and the last, and between */
        CHECK(knows(&set, true, bytes, k * (n - 1) / (IDENTITY_SPREAD - 1) * each + k));
    CHECK(!knows(&set, true, bytes, 5 * each));
    job.dataset.staging = STAGING_STREAM; /* another host's files may not be compressed */
    CHECK(!knows(&set, false, bytes, 5 * each));
    job.dataset.staging = STAGING_MATERIALIZE;
    set.n--; /* that is not too large */
    CHECK(knows(&set, true, bytes, 5 * each));
    const size_t huge = IDENTITY_WHOLE_BYTES / 3; /* of which three may be read */
    set = (struct dataset){
        .ops = &bytes_in_memory, .n = 4, .shape = {1, 1, (int)huge}, .images = bytes};
    munmap(bytes, n * each);
    bytes = mmap(NULL, 4 * huge, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(bytes != MAP_FAILED);
    set.images = bytes;
    CHECK(knows(&set, true, bytes, 0) && knows(&set, true, bytes, huge));
    CHECK(!knows(&set, true, bytes, 2 * huge) && knows(&set, true, bytes, 3 * huge));
    munmap(bytes, 4 * huge);
}

/* Who trains on the first 5 does not ask for the others. */
static void test_limit(void)
{
    uint8_t bytes[N * PIXELS] = {0};
    struct dataset set = {
        .ops = &bytes_in_memory, .n = N, .shape = shape, .images = bytes, .number = SET_TRAIN};

    job.dataset.limit = 5;
    CHECK(knows(&set, false, bytes, 5 * PIXELS - 1));
    CHECK(!knows(&set, false, bytes, 5 * PIXELS));
    set.number = SET_TEST;
    CHECK(knows(&set, false, bytes, 5 * PIXELS));
    job.dataset.limit = N + 1;
    set.number = SET_TRAIN;
    CHECK(knows(&set, false, bytes, N * PIXELS - 1));
    job.dataset.limit = 0;
}

int main(void)
{
    test_images();
    test_rows();
    test_labels();
    test_large();
    test_limit();
    return test_result();
}
