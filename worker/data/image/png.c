/* PNG by libpng: what its pixels say, without gamma, background or profile. */
#include <png.h>
#include <setjmp.h>

#include "paceline/mem.h"
#include "worker/data/image/image_decoders.h"

struct png_reader {
    const uint8_t *bytes;
    size_t len, at;
    char message[128];
};

static void png_read_bytes(png_structp png, png_bytep to, size_t n)
{
    struct png_reader *r = png_get_io_ptr(png);

    if (n > r->len - r->at)
        png_error(png, "cut short");
    memcpy(to, r->bytes + r->at, n);
    r->at += n;
}

__attribute__((noreturn)) static void png_fail(png_structp png, png_const_charp message)
{
    struct png_reader *r = png_get_error_ptr(png);

    snprintf(r->message, sizeof r->message, "%s", message);
    longjmp(png_jmpbuf(png), 1);
}

static void png_warn(png_structp png, png_const_charp message) { (void)png, (void)message; }

/* Rec. 601 in 16 bits, from [n][3] to [n], in place. */
static void to_gray(uint8_t *pixels, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint8_t *p = pixels + 3 * i;
        pixels[i] = (uint8_t)((p[0] * 19595u + p[1] * 38470u + p[2] * 7471u + 32768u) >> 16);
    }
}

/* Asks for 8-bit gray or RGB; the number of channels that rows will have. */
static int set_transforms(png_structp png, png_infop info, int channels)
{
    int type = png_get_color_type(png, info), colours = type & PNG_COLOR_MASK_COLOR ? 3 : 1;

    if (type == PNG_COLOR_TYPE_PALETTE)
        png_set_palette_to_rgb(png);
    if (type == PNG_COLOR_TYPE_GRAY)
        png_set_expand_gray_1_2_4_to_8(png);
    png_set_scale_16(png);
    png_set_strip_alpha(png);
    if (colours == 1 && channels == 3)
        png_set_gray_to_rgb(png);
    return channels == 3 ? 3 : colours;
}

/* Below the setjmp: what fails does not come back. */
static int read_image(png_structp png, png_infop info, int channels, bool pixels, struct image *out,
                      struct err *err)
{
    int c, passes;

    png_set_user_limits(png, IMAGE_MAX_SIDE, IMAGE_MAX_SIDE);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_read_info(png, info);
    c = set_transforms(png, info, channels);
    if (image_set_shape(out, c, png_get_image_height(png, info), png_get_image_width(png, info),
                        err))
        return -1;
    if (!pixels)
        return 0;
    passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    if (png_get_rowbytes(png, info) != (size_t)out->shape.w * (size_t)c)
        png_error(png, "rows of another length");
    image_make_room(out);
    for (int pass = 0; pass < passes; pass++)
        for (int y = 0; y < out->shape.h; y++)
            png_read_row(png, out->pixels + (size_t)y * (size_t)out->shape.w * (size_t)c, NULL);
    png_read_end(png, NULL);
    if (c == 3 && channels == 1) {
        to_gray(out->pixels, (size_t)out->shape.h * (size_t)out->shape.w);
        out->shape.c = 1;
    }
    return 0;
}

int png_decode(const uint8_t *bytes, size_t len, int channels, bool pixels, struct image *out,
               struct err *err)
{
    struct png_reader reader = {.bytes = bytes, .len = len};
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, png_fail, png_warn);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    int rc;

    if (!info) {
        png_destroy_read_struct(&png, NULL, NULL);
        return err_set(err, ERR_IO, "libpng cannot start");
    }
    png_set_read_fn(png, &reader, png_read_bytes);
    if (setjmp(png_jmpbuf(png))) {
        png_destroy_read_struct(&png, &info, NULL);
        return err_set(err, ERR_DAMAGED, "a damaged PNG file: %s", reader.message);
    }
    rc = read_image(png, info, channels, pixels, out, err);
    png_destroy_read_struct(&png, &info, NULL);
    return rc;
}
