/*
 * Rows: samples as the model sees them, floats that are normalised. With dataset.rowConvert each
 * batch makes its own of bytes; without, they are made once and take the place of the bytes.
 */
#ifndef PACELINE_ROWS_H
#define PACELINE_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "worker/data/store/source.h"

/* The bytes that a sample takes in memory. */
size_t rows_sample_bytes(const struct source *s);

/* Where in the room of n samples their bytes are read to, so that floats can take their place. */
uint8_t *rows_bytes(const struct source *s, uint8_t *room, uint32_t n);

/* The first n samples of the room, whose bytes lie at `bytes`, become floats, if they are to. */
void rows_convert(const struct source *s, uint8_t *room, const uint8_t *bytes, uint32_t n);

#endif
