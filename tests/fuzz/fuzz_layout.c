// LINK: common worker/data/store/layout.c
// LINK: worker/data/store/source.c worker/data/store/rows.c worker/data/batch/normalize.c
/* The bytes of a packed copy: what is accepted can be read, pixels and labels of both sets. */
#include "paceline/digest.h"
#include "paceline/mem.h"
#include "worker/data/store/layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(auto_free) uint8_t *bytes = xmalloc(size + 1);

    memcpy(bytes, data, size);
    if (!layout_check((const struct layout *)bytes, size))
        return 0;
    for (int set = 0; set < N_SETS; set++) {
        struct dataset view = layout_view((const struct layout *)bytes, set, false);
        size_t each = (size_t)view.shape.c * (size_t)view.shape.h * (size_t)view.shape.w;
        if (digest_bytes(view.images, view.n * each) == 1 ||
            view.labels[view.n - 1] >= view.classes)
            abort();
    }
    return 0;
}
