// LINK: common/err.c common/text.c common/mem.c worker/data/format/vocabulary.c
/* Words of a text: the first byte chooses the bound, the first half of the rest is the training
 * text. */
#include "paceline/mem.h"
#include "worker/data/format/vocabulary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(vocabulary_release) struct vocabulary v = {0};
    const int bound = size ? 2 + data[0] : 2;
    const size_t half = size / 2;
    struct err err;
    size_t n, len;

    if (size < 2 || vocabulary_build(&v, data + 1, half, "fuzz", bound, &err) ||
        vocabulary_count(data + 1 + half, size - 1 - half, "fuzz", &n, &err))
        return 0;
    AUTO(auto_free) uint32_t *tokens = xcalloc(n + 1, sizeof *tokens);
    vocabulary_encode(&v, data + 1 + half, size - 1 - half, tokens);
    if (v.n < 2 || v.n > bound || tokens[n])
        abort();
    for (size_t i = 0; i < n; i++)
        if (tokens[i] >= (uint32_t)v.n || !vocabulary_word(&v, tokens[i], &len) || !len)
            abort();
    return 0;
}
