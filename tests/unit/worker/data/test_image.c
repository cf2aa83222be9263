// LINK: common/err.c common/text.c common/mem.c
// LINK: common/buf.c worker/data/image/image.c worker/data/image/jpeg.c worker/data/image/png.c
// LIBS: -ljpeg -lpng
#include "paceline/mem.h"
#include "tests/test.h"
#include "tests/unit/draft_vectors.h"
#include "tests/unit/picture.h"
#include "worker/data/image/image.h"

enum { H = 37, W = 21 };

static uint8_t rgb[H * W * 3], gray[H * W], cmyk[H * W * 4];
static struct image_decoder *decoder;
static struct image image;

static void make_pixels(void)
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            for (int c = 0; c < 3; c++)
                rgb[(y * W + x) * 3 + c] = (uint8_t)(y * 5 + x * 9 + c * 60);
            gray[y * W + x] = (uint8_t)(y * 7 + x * 3);
            memcpy(cmyk + (size_t)(y * W + x) * 4, "\1\2\3\4", 4);
        }
}

static int decode(const struct buf *file, int channels, struct err *err)
{
    return image_decode(decoder, (const uint8_t *)file->data, file->len, channels, &image, err);
}

static void check_shape(const struct buf *file, int c)
{
    struct shape shape = {0};
    struct err err = {0};

    CHECK_INT(image_measure(decoder, (const uint8_t *)file->data, file->len, &shape, &err), 0);
    CHECK_INT(shape.c, c);
    CHECK_INT(shape.h, H);
    CHECK_INT(shape.w, W);
}

/* What libjpeg makes of the file when nothing is set. */
static uint8_t *library_defaults(const struct buf *file, size_t *n)
{
    struct jpeg_decompress_struct z;
    struct jpeg_error_mgr errors;
    uint8_t *pixels, *row;

    z.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&z);
    jpeg_mem_src(&z, (const uint8_t *)file->data, file->len);
    jpeg_read_header(&z, TRUE);
    jpeg_start_decompress(&z);
    *n = (size_t)z.output_width * z.output_height * (size_t)z.output_components;
    row = pixels = xmalloc(*n);
    while (z.output_scanline < z.output_height) {
        jpeg_read_scanlines(&z, &row, 1);
        row += z.output_width * (size_t)z.output_components;
    }
    jpeg_finish_decompress(&z);
    jpeg_destroy_decompress(&z);
    return pixels;
}

static void reads_jpeg(const uint8_t *pixels, int c, bool progressive)
{
    struct buf file = picture_jpeg(pixels, c, H, W, progressive);
    size_t n;
    uint8_t *want = library_defaults(&file, &n);
    struct err err = {0};

    check_shape(&file, c);
    CHECK_INT(decode(&file, 0, &err), 0);
    CHECK_INT(n, H * W * c);
    CHECK_INT(image.shape.c, c);
    CHECK_BYTES(image.pixels, want, n);
    CHECK_INT(decode(&file, 4 - c, &err), 0); /* the other: gray of colours, colours of gray */
    /* Gray is what the file has for it; of colours that were cut at 0 or 255 it is a little more.
     */
    CHECK_INT(image.shape.c, 4 - c);
    for (size_t i = 0; i < H * W; i++)
        if (c == 1)
            CHECK_INT(image.pixels[3 * i + 1], want[i]);
        else
            CHECK_NEAR(image.pixels[i],
                       0.299 * want[3 * i] + 0.587 * want[3 * i + 1] + 0.114 * want[3 * i + 2], 6);
    free(want);
    buf_release(&file);
}

static void check_png(struct buf file, int c, const uint8_t *want)
{
    struct err err = {0};

    check_shape(&file, c);
    CHECK_INT(decode(&file, 0, &err), 0);
    CHECK_INT(image.shape.c, c);
    CHECK_BYTES(image.pixels, want, (size_t)(H * W * c));
    buf_release(&file);
}

static void reads_png(void)
{
    uint8_t alpha[H * W * 4], wide[H * W * 2], black[H * W];
    png_color palette[256];
    struct err err = {0};
    struct buf file;

    for (int i = 0; i < H * W; i++) {
        memcpy(alpha + (size_t)i * 4, rgb + (size_t)i * 3, 3);
        alpha[i * 4 + 3] = (uint8_t)i;
        wide[i * 2] = gray[i];
        wide[i * 2 + 1] = gray[i]; /* 257 times the byte */
    }
    for (int i = 0; i < 256; i++)
        palette[i] = (png_color){(png_byte)i, (png_byte)(255 - i), 7};
    for (int i = 0; i < 2; i++) {
        check_png(picture_png(rgb, W * 3, PNG_COLOR_TYPE_RGB, 8, H, W, i, NULL), 3, rgb);
        check_png(picture_png(gray, W, PNG_COLOR_TYPE_GRAY, 8, H, W, i, NULL), 1, gray);
    }
    check_png(picture_png(alpha, W * 4, PNG_COLOR_TYPE_RGBA, 8, H, W, false, NULL), 3, rgb);
    check_png(picture_png(wide, W * 2, PNG_COLOR_TYPE_GRAY, 16, H, W, false, NULL), 1, gray);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            black[y * W + x] = rgb[y * 3 + x / 8] >> (7 - x % 8) & 1 ? 255 : 0;
    check_png(picture_png(rgb, 3, PNG_COLOR_TYPE_GRAY, 1, H, W, false, NULL), 1, black);

    file = picture_png(gray, W, PNG_COLOR_TYPE_PALETTE, 8, H, W, false, palette);
    CHECK_INT(decode(&file, 0, &err), 0);
    CHECK_INT(image.shape.c, 3);
    for (int i = 0; i < H * W; i++)
        CHECK_INT(image.pixels[3 * i] << 16 | image.pixels[3 * i + 1] << 8 |
                      image.pixels[3 * i + 2],
                  gray[i] << 16 | (255 - gray[i]) << 8 | 7);
    buf_release(&file);

    file = picture_png(rgb, W * 3, PNG_COLOR_TYPE_RGB, 8, H, W, false, NULL);
    CHECK_INT(decode(&file, 1, &err), 0);
    CHECK_INT(image.shape.c, 1);
    for (size_t i = 0; i < H * W; i++)
        CHECK_NEAR(image.pixels[i],
                   0.299 * rgb[3 * i] + 0.587 * rgb[3 * i + 1] + 0.114 * rgb[3 * i + 2], 0.51);
    buf_release(&file);
}

static void refused(const struct buf *file, const char *part)
{
    struct err err = {0};

    CHECK_INT(decode(file, 3, &err), -1);
    CHECK_INT(err.code, ERR_DAMAGED);
    CHECK_CONTAINS(err.msg, part);
}

/* Cut anywhere, a file is an error and never half a picture. */
static void refuses_cut(struct buf file, const char *part)
{
    size_t len = file.len;

    for (file.len = 8; file.len < len - 12; file.len += 7)
        refused(&file, part);
    file.len = 0;
    refused(&file, "neither a JPEG nor a PNG file, of 0 bytes");
    file.len = len;
    buf_release(&file);
}

static void refuses(void)
{
    struct buf file = picture_jpeg(rgb, 3, H, W, false);
    const uint8_t *frame = memmem(file.data, file.len, "\xff\xc0", 2);
    struct err err = {0};

    memcpy(file.data + (frame - (const uint8_t *)file.data) + 5, "\xff\xdc\xff\xdc", 4);
    refused(&file, "65500 x 65500 pixels; sides up to 65500 and 67108864 pixels in all");
    buf_release(&file);

    file = picture_png(gray, W, PNG_COLOR_TYPE_GRAY, 8, H, W, false, NULL);
    file.data[40] ^= 1; /* in the compressed rows */
    refused(&file, "a damaged PNG file: ");
    buf_release(&file);

    file = picture_jpeg(cmyk, 4, H, W, false);
    refused(&file, "a JPEG file in CMYK; gray and RGB are allowed");
    buf_release(&file);

    refuses_cut(picture_jpeg(rgb, 3, H, W, false), "a damaged JPEG file: ");
    refuses_cut(picture_jpeg(rgb, 3, H, W, true), "a damaged JPEG file: ");
    refuses_cut(picture_png(rgb, W * 3, PNG_COLOR_TYPE_RGB, 8, H, W, false, NULL),
                "a damaged PNG file: ");

    file = picture_jpeg(gray, 1, H, W, false); /* after all this the decoder still works */
    CHECK_INT(decode(&file, 0, &err), 0);
    buf_release(&file);
}

/* At 1/2, 1/4 and 1/8 the pixels are Pillow's; never below what was asked for; PNGs stay whole. */
static void decodes_smaller(void)
{
    struct buf png = picture_png(gray, W, PNG_COLOR_TYPE_GRAY, 8, H, W, false, NULL);
    struct err err = {.msg = ""};

    for (size_t i = 0; i < ARRAY_LEN(vectors); i++) {
        const struct draft_vector *v = &vectors[i];
        struct shape whole;

        image_decoder_draft(decoder, v->least);
        CHECK_INT(image_decode(decoder, v->file, v->n, 0, &image, &err), 0);
        CHECK_STR(err.msg, "");
        CHECK_INT(image.shape.h, v->h);
        CHECK_INT(image.shape.w, v->w);
        CHECK_INT(image.shape.c, v->c);
        CHECK_BYTES(image.pixels, v->want, (size_t)(v->h * v->w * v->c));
        CHECK_INT(image_measure(decoder, v->file, v->n, &whole, &err), 0);
        CHECK(whole.h > v->h && whole.w > v->w);
        image_decoder_draft(decoder, (whole.h < whole.w ? whole.h : whole.w) / 2 + 1);
        CHECK_INT(image_decode(decoder, v->file, v->n, 0, &image, &err), 0);
        CHECK_INT(image.shape.h, whole.h);
        image_decoder_draft(decoder, 1);
        CHECK_INT(decode(&png, 0, &err), 0);
        CHECK_BYTES(image.pixels, gray, sizeof gray);
    }
    image_decoder_draft(decoder, 0);
    buf_release(&png);
}

int main(void)
{
    decoder = image_decoder_new();
    make_pixels();
    for (int progressive = 0; progressive < 2; progressive++) {
        reads_jpeg(rgb, 3, progressive);
        reads_jpeg(gray, 1, progressive);
    }
    reads_png();
    decodes_smaller();
    refuses();
    image_release(&image);
    image_decoder_free(&decoder);
    return test_result();
}
