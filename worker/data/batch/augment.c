#include "worker/data/batch/augment.h"

#include <string.h>

#include "worker/kernels/random.h"

enum { DRAW_FLIP, DRAW_TOP, DRAW_LEFT }; /* elements of a sample's random numbers */

static int draw_shift(const struct random_key *key, uint32_t element, uint32_t pad)
{
    return (int)((uint64_t)random_u32(key, element) * (2 * pad + 1) >> 32) - (int)pad;
}

struct augment_view augment_draw(const struct augment *a, uint32_t epoch, uint32_t sample)
{
    const struct random_key key = {
        .seed = a->seed, .purpose = RANDOM_AUGMENT, .stream = epoch, .item = sample};

    return (struct augment_view){
        .top = a->pad ? draw_shift(&key, DRAW_TOP, a->pad) : 0,
        .left = a->pad ? draw_shift(&key, DRAW_LEFT, a->pad) : 0,
        .mirrored = a->flip && random_u32(&key, DRAW_FLIP) >> 31,
    };
}

static void mirror(uint8_t *row, int w)
{
    for (int a = 0, b = w - 1; a < b; a++, b--) {
        uint8_t kept = row[a];

        row[a] = row[b];
        row[b] = kept;
    }
}

void augment_apply(uint8_t *to, const uint8_t *from, struct shape shape, struct augment_view view)
{
    const int w = shape.w, rows = shape.c * shape.h;
    const int begin = view.left < 0 ? -view.left : 0; /* columns of the window inside the image */
    const int end = view.left > 0 ? w - view.left : w;

    memset(to, 0, (size_t)rows * (size_t)w);
    for (int row = 0; row < rows; row++) {
        const int y = row % shape.h + view.top;
        uint8_t *out = to + (ptrdiff_t)row * w;

        if (y < 0 || y >= shape.h || begin >= end)
            continue;
        memcpy(out + begin, from + (ptrdiff_t)(row + view.top) * w + begin + view.left,
               (size_t)(end - begin));
        if (view.mirrored)
            mirror(out, w);
    }
}
