/* JPEG by libjpeg-turbo's defaults: the accurate integer DCT, smooth upsampling of colours. */
#include <setjmp.h>
#include <stdio.h> /* jpeglib.h needs it */

#include <jpeglib.h>

#include "paceline/mem.h"
#include "worker/data/image/image_decoders.h"

#define MAX_SCANS 100 /* of a progressive file; each costs time, whatever its length */
#define ROWS 8

struct jpeg_decoder {
    struct jpeg_decompress_struct z;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf escape;
    char message[JMSG_LENGTH_MAX];
};

/* Warnings after which pixels are made up; others, as of bytes between segments, are everyday. */
static bool made_up(const char *warning)
{
    return strstr(warning, "Premature end") ||
           (strstr(warning, "Corrupt JPEG data") && !strstr(warning, "extraneous bytes"));
}

__attribute__((noreturn)) static void jpeg_fail(j_common_ptr z)
{
    struct jpeg_decoder *d = z->client_data;

    z->err->format_message(z, d->message);
    longjmp(d->escape, 1);
}

/* Codes have no names here: jerror.h uses what banned.h poisons. */
static void jpeg_warn(j_common_ptr z, int level)
{
    if (level < 0 && made_up(z->err->jpeg_message_table[z->err->msg_code]))
        jpeg_fail(z);
}

static void count_scans(j_common_ptr z)
{
    struct jpeg_decoder *d = z->client_data;

    if (d->z.input_scan_number <= MAX_SCANS)
        return;
    snprintf(d->message, sizeof d->message, "more than %d scans", MAX_SCANS);
    longjmp(d->escape, 1);
}

struct jpeg_decoder *jpeg_decoder_new(void)
{
    struct jpeg_decoder *d = xcalloc(1, sizeof *d);

    d->z.err = jpeg_std_error(&d->errors);
    d->z.client_data = d;
    d->errors.error_exit = jpeg_fail;
    d->errors.emit_message = jpeg_warn;
    d->progress.progress_monitor = count_scans;
    if (setjmp(d->escape)) { /* another version of the library than its header's */
        fprintf(stderr, "libjpeg: %s\n", d->message);
        abort();
    }
    jpeg_create_decompress(&d->z);
    d->z.progress = &d->progress;
    return d;
}

void jpeg_decoder_free(struct jpeg_decoder *d)
{
    jpeg_destroy_decompress(&d->z);
    free(d);
}

static int jpeg_read_shape(struct jpeg_decoder *d, int channels, struct image *out, struct err *err)
{
    int c = channels ? channels : d->z.num_components == 1 ? 1 : 3;

    if (d->z.jpeg_color_space == JCS_CMYK || d->z.jpeg_color_space == JCS_YCCK)
        return err_set(err, ERR_DAMAGED, "a JPEG file in CMYK; gray and RGB are allowed");
    d->z.out_color_space = c == 1 ? JCS_GRAYSCALE : JCS_RGB;
    return image_set_shape(out, c, d->z.image_height, d->z.image_width, err);
}

static void jpeg_read_rows(struct jpeg_decoder *d, const struct image *out)
{
    size_t row = (size_t)out->shape.w * (size_t)out->shape.c;
    JSAMPROW rows[ROWS];

    jpeg_start_decompress(&d->z);
    while (d->z.output_scanline < d->z.output_height) {
        unsigned left = d->z.output_height - d->z.output_scanline, n = left < ROWS ? left : ROWS;
        for (unsigned i = 0; i < n; i++)
            rows[i] = out->pixels + (d->z.output_scanline + i) * row;
        jpeg_read_scanlines(&d->z, rows, n);
    }
    jpeg_finish_decompress(&d->z);
}

/* The smallest size that is large enough; out has the whole one. */
static void jpeg_scale(struct jpeg_decoder *d, int least, struct image *out)
{
    const int h = out->shape.h / least, w = out->shape.w / least, times = h < w ? h : w;

    d->z.scale_denom = times >= 8 ? 8 : times >= 4 ? 4 : times >= 2 ? 2 : 1;
    jpeg_calc_output_dimensions(&d->z);
    out->shape.h = (int)d->z.output_height;
    out->shape.w = (int)d->z.output_width;
}

int jpeg_decode(struct jpeg_decoder *d, const uint8_t *bytes, size_t len, int channels, int least,
                bool pixels, struct image *out, struct err *err)
{
    if (setjmp(d->escape)) {
        jpeg_abort_decompress(&d->z);
        return err_set(err, ERR_DAMAGED, "a damaged JPEG file: %s", d->message);
    }
    jpeg_mem_src(&d->z, bytes, len);
    jpeg_read_header(&d->z, TRUE);
    if (jpeg_read_shape(d, channels, out, err)) {
        jpeg_abort_decompress(&d->z);
        return -1;
    }
    if (pixels) {
        if (least > 0)
            jpeg_scale(d, least, out);
        image_make_room(out);
        jpeg_read_rows(d, out);
    } else {
        jpeg_abort_decompress(&d->z);
    }
    return 0;
}
