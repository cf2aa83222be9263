// LINK: common/err.c common/text.c common/mem.c worker/data/format/cifar.c
/* CIFAR's records. The first byte chooses between CIFAR-10 and CIFAR-100. */
#include "paceline/mem.h"
#include "worker/data/format/cifar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct cifar_format formats[] = {{"cifar10", 1, 10}, {"cifar100", 2, 100}};
    const struct cifar_format *f = formats + (size ? data[0] % 2 : 0);
    struct err err;
    uint32_t n;

    if (!size || cifar_records(f, size - 1, "fuzz", &n, &err))
        return 0;
    AUTO(auto_free) uint8_t *images = xmalloc((size_t)n * CIFAR_IMAGE_BYTES);
    AUTO(auto_free) uint16_t *labels = xcalloc(n, sizeof *labels);
    if (cifar_unpack(f, data + 1, n, "fuzz", images, labels, &err) == 0 && labels[0] >= f->classes)
        abort();
    return 0;
}
