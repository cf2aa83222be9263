#include "worker/data/image/image.h"

#include <stdbool.h>

#include "paceline/mem.h"
#include "worker/data/image/image_decoders.h"

struct image_decoder {
    struct jpeg_decoder *jpeg;
    int least; /* pixels of a side of a JPEG that is decoded smaller; 0: none is */
};

void image_release(struct image *image)
{
    free(image->pixels);
    *image = (struct image){0};
}

struct image_decoder *image_decoder_new(void)
{
    struct image_decoder *d = xcalloc(1, sizeof *d);

    d->jpeg = jpeg_decoder_new();
    return d;
}

void image_decoder_free(struct image_decoder **d)
{
    if (*d)
        jpeg_decoder_free((*d)->jpeg);
    free(*d);
    *d = NULL;
}

void image_decoder_draft(struct image_decoder *d, int least) { d->least = least; }

int image_set_shape(struct image *image, int c, unsigned h, unsigned w, struct err *err)
{
    if (h < 1 || w < 1 || h > IMAGE_MAX_SIDE || w > IMAGE_MAX_SIDE ||
        (size_t)h * w > IMAGE_MAX_PIXELS)
        return err_set(err, ERR_DAMAGED,
                       "%u x %u pixels; sides up to %d and %d pixels in all are allowed", h, w,
                       IMAGE_MAX_SIDE, IMAGE_MAX_PIXELS);
    image->shape = (struct shape){c, (int)h, (int)w};
    return 0;
}

void image_make_room(struct image *image)
{
    const struct shape *s = &image->shape;
    size_t need = (size_t)s->c * (size_t)s->h * (size_t)s->w;

    if (image->room >= need)
        return;
    free(image->pixels);
    image->pixels = xmalloc(need);
    image->room = need;
}

static int image_decode_format(struct image_decoder *d, const uint8_t *bytes, size_t len,
                               int channels, bool pixels, struct image *out, struct err *err)
{
    if (len >= 2 && memcmp(bytes, "\xff\xd8", 2) == 0)
        return jpeg_decode(d->jpeg, bytes, len, channels, pixels ? d->least : 0, pixels, out, err);
    if (len >= 8 && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0)
        return png_decode(bytes, len, channels, pixels, out, err);
    return err_set(err, ERR_DAMAGED, "neither a JPEG nor a PNG file, of %zu bytes", len);
}

int image_decode(struct image_decoder *d, const uint8_t *bytes, size_t len, int channels,
                 struct image *out, struct err *err)
{
    return image_decode_format(d, bytes, len, channels, true, out, err);
}

int image_measure(struct image_decoder *d, const uint8_t *bytes, size_t len, struct shape *shape,
                  struct err *err)
{
    struct image image = {0};

    if (image_decode_format(d, bytes, len, 0, false, &image, err))
        return -1;
    *shape = image.shape;
    return 0;
}
