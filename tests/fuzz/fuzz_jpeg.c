// LINK: common/err.c common/mem.c worker/data/image/image.c
// LINK: worker/data/image/jpeg.c worker/data/image/png.c common/text.c
// LIBS: -ljpeg -lpng
/* JPEG files; what a header announces is decoded. The first byte chooses the channels.
 */
#include "paceline/mem.h"
#include "worker/data/image/image_decoders.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int channels[] = {0, 1, 3}, least[] = {0, 1, 16};
    struct jpeg_decoder *d = jpeg_decoder_new();
    struct image small = {0}, image = {0};
    struct err err;

    if (size && jpeg_decode(d, data + 1, size - 1, 0, 0, false, &small, &err) == 0 &&
        small.shape.h * small.shape.w <= 1 << 16 && /* larger ones only take time */
        jpeg_decode(d, data + 1, size - 1, channels[data[0] % 3], least[data[0] / 3 % 3], true,
                    &image, &err) == 0 &&
        (image.shape.h > small.shape.h ||
         (image.shape.h < small.shape.h && image.shape.h < least[data[0] / 3 % 3]) ||
         (data[0] / 3 % 3 == 0 && image.shape.w != small.shape.w)))
        abort();
    image_release(&image);
    jpeg_decoder_free(d);
    return 0;
}
