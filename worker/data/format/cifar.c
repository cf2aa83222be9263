#include "worker/data/format/cifar.h"

static size_t record_bytes(const struct cifar_format *f)
{
    return f->label_bytes + CIFAR_IMAGE_BYTES;
}

size_t cifar_image_at(const struct cifar_format *f, uint32_t i)
{
    return i * record_bytes(f) + f->label_bytes;
}

int cifar_records(const struct cifar_format *f, size_t len, const char *name, uint32_t *n,
                  struct err *err)
{
    size_t records = len / record_bytes(f);

    if (!len || len % record_bytes(f) || records > INT32_MAX)
        return err_set(err, ERR_DAMAGED,
                       "%s: %zu bytes; a whole number of records of %zu bytes is needed", name, len,
                       record_bytes(f));
    *n = (uint32_t)records;
    return 0;
}

int cifar_unpack(const struct cifar_format *f, const uint8_t *bytes, uint32_t n, const char *name,
                 uint8_t *images, uint16_t *labels, struct err *err)
{
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *image = bytes + cifar_image_at(f, i);
        int label = image[-1];

        if (label >= f->classes)
            return err_set(err, ERR_DAMAGED, "%s: label %d of record %u; 0 to %d are allowed", name,
                           label, i, f->classes - 1);
        labels[i] = (uint16_t)label;
        if (images)
            memcpy(images + (size_t)i * CIFAR_IMAGE_BYTES, image, CIFAR_IMAGE_BYTES);
    }
    return 0;
}
