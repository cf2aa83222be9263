/* Pictures made in memory as JPEG and PNG files, for tests. */
#ifndef PACELINE_TEST_PICTURE_H
#define PACELINE_TEST_PICTURE_H

#include <stdint.h>
#include <stdio.h>

#include <jpeglib.h>
#include <png.h>

#include "paceline/buf.h"

/* pixels [h][w][c], c 1, 3 or 4 (CMYK). */
static inline struct buf picture_jpeg(const uint8_t *pixels, int c, int h, int w, bool progressive)
{
    struct jpeg_compress_struct z;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL;
    unsigned long len = 0;
    struct buf file;

    z.err = jpeg_std_error(&errors);
    jpeg_create_compress(&z);
    jpeg_mem_dest(&z, &bytes, &len);
    z.image_width = (JDIMENSION)w;
    z.image_height = (JDIMENSION)h;
    z.input_components = c;
    z.in_color_space = c == 1 ? JCS_GRAYSCALE : c == 3 ? JCS_RGB : JCS_CMYK;
    jpeg_set_defaults(&z);
    jpeg_set_quality(&z, 90, TRUE);
    if (progressive)
        jpeg_simple_progression(&z);
    jpeg_start_compress(&z, TRUE);
    for (int y = 0; y < h; y++) {
        JSAMPROW row = (JSAMPROW)(uintptr_t)(pixels + (size_t)y * (size_t)w * (size_t)c);
        jpeg_write_scanlines(&z, &row, 1);
    }
    jpeg_finish_compress(&z);
    jpeg_destroy_compress(&z);
    buf_init(&file, 0);
    buf_add(&file, bytes, len);
    free(bytes);
    return file;
}

static inline void picture_write(png_structp png, png_bytep bytes, size_t n)
{
    buf_add(png_get_io_ptr(png), bytes, n);
}

/* rows as the PNG type has them, of `row` bytes each; palette: of 256 entries, or NULL. */
static inline struct buf picture_png(const uint8_t *rows, size_t row, int type, int bits, int h,
                                     int w, bool interlaced, const png_color *palette)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    struct buf file;

    buf_init(&file, 0);
    png_set_write_fn(png, &file, picture_write, NULL);
    png_set_IHDR(png, info, (png_uint_32)w, (png_uint_32)h, bits, type,
                 interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_BASE,
                 PNG_FILTER_TYPE_BASE);
    if (palette)
        png_set_PLTE(png, info, palette, 256);
    png_write_info(png, info);
    for (int pass = png_set_interlace_handling(png); pass > 0; pass--)
        for (int y = 0; y < h; y++)
            png_write_row(png, rows + (size_t)y * row);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return file;
}

#endif
