/*
 * CIFAR's binary files (A. Krizhevsky, "Learning multiple layers of features from tiny images",
 * 2009): records of label bytes and 32 x 32 pixels, all red, all green, all blue. CIFAR-10 has one
 * byte of label; CIFAR-100 has two, of which the second is the class.
 */
#ifndef PACELINE_CIFAR_H
#define PACELINE_CIFAR_H

#include <stddef.h>
#include <stdint.h>

#include "paceline/err.h"

#define CIFAR_IMAGE_BYTES 3072 /* [3][32][32] */

struct cifar_format {
    const char *name; /* of the data set */
    size_t label_bytes;
    int classes;
};

/* ERR_DAMAGED: the file is empty or ends within a record. name is for messages. */
MUST_CHECK int cifar_records(const struct cifar_format *f, size_t len, const char *name,
                             uint32_t *n, struct err *err);

/* Where in the file the pixels of record i are. */
size_t cifar_image_at(const struct cifar_format *f, uint32_t i);

/* Takes the n records apart; images NULL: labels alone. ERR_DAMAGED: a label beyond the classes. */
MUST_CHECK int cifar_unpack(const struct cifar_format *f, const uint8_t *bytes, uint32_t n,
                            const char *name, uint8_t *images, uint16_t *labels, struct err *err);

#endif
