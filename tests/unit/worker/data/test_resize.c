// LINK: common/err.c common/text.c common/mem.c worker/data/image/resize.c
/* The rule of resize.h against Pillow, axis by axis and byte for byte, and against what must hold
 * of any.
 */
#include "paceline/mem.h"
#include "tests/test.h"
#include "tests/unit/resize_vectors.h"
#include "worker/data/image/resize.h"

static uint8_t pixel(int y, int x, int c)
{
    return (uint8_t)(y * 37 + x * x * 11 + c * 91 + x * y * 5);
}

static void as_pillow(struct resizer *r, const struct resize_vector *v)
{
    struct image in = {.shape = {v->c, v->h, v->w}};
    uint8_t got[1024];

    in.pixels = xmalloc((size_t)(v->h * v->w * v->c));
    for (int y = 0; y < v->h; y++)
        for (int x = 0; x < v->w; x++)
            for (int c = 0; c < v->c; c++)
                in.pixels[(y * v->w + x) * v->c + c] = pixel(y, x, c);
    resize(r, &in, v->to_h, v->to_w, got);
    CHECK_BYTES(got, v->want, (size_t)(v->to_h * v->to_w * v->c));
    free(in.pixels);
}

/* One colour stays, at the extremes of both axes. */
static void keeps_a_colour(struct resizer *r, int h, int w, int to_h, int to_w)
{
    struct image in = {.shape = {1, h, w}, .pixels = xmalloc((size_t)h * (size_t)w)};
    uint8_t *got = xmalloc((size_t)to_h * (size_t)to_w);
    size_t wrong = 0;

    for (int colour = 0; colour < 256; colour += 85) {
        memset(in.pixels, colour, (size_t)h * (size_t)w);
        resize(r, &in, to_h, to_w, got);
        for (size_t i = 0; i < (size_t)to_h * (size_t)to_w; i++)
            wrong += got[i] != colour;
    }
    CHECK_INT(wrong, 0);
    free(got);
    free(in.pixels);
}

int main(void)
{
    AUTO(resizer_free) struct resizer *r = resizer_new();

    for (int twice = 0; twice < 2; twice++) /* what is kept between images does no harm */
        for (size_t i = 0; i < ARRAY_LEN(vectors); i++)
            as_pillow(r, &vectors[i]);
    keeps_a_colour(r, 1, IMAGE_MAX_SIDE, 1, 1);
    keeps_a_colour(r, IMAGE_MAX_SIDE, 2, 3, 16);
    keeps_a_colour(r, 1, 1, 4096, 17);
    return test_result();
}
