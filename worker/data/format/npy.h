/*
 * The .npy files of NumPy (its format document, "numpy.lib.format", versions 1.0 and 2.0): a magic
 * number, the length of a header, the header, which is a Python literal
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (1000, 1800), }
 *
 * and the values. Read are little-endian numbers in C order. Nothing is allocated or copied here.
 */
#ifndef PACELINE_NPY_H
#define PACELINE_NPY_H

#include <stddef.h>
#include <stdint.h>

#include "paceline/err.h"

#define NPY_MAX_DIMS 4

/* 'f': IEEE floats of 4 and 8 bytes; 'i', 'u': integers of 1, 2, 4 and 8; 'b': bools of 1. */
struct npy {
    const char *name; /* for messages; the caller's */
    char kind;
    int size; /* bytes of a value */
    int n_dims;
    size_t dims[NPY_MAX_DIMS]; /* 1 and more each */
    const uint8_t *values;     /* at any address; within the bytes of npy_open */
    size_t n_each;             /* values of one of dims[0] */
};

/*
 * Reads the header and checks it against the length of the file; bytes and name must outlive f.
 * ERR_DAMAGED: no such file, another kind of values, Fortran order, no dimension or more than four,
 * an empty one, a file that is cut short or has trailing bytes.
 */
MUST_CHECK int npy_open(struct npy *f, const uint8_t *bytes, size_t len, const char *name,
                        struct err *err);

/* Row i of dims[0] as n_each floats: of doubles the nearest, of u1 v / 255 as pixels everywhere;
 * f is of floats, or of u1. -1: one of them is not finite. */
MUST_CHECK int npy_floats(const struct npy *f, size_t i, float *x);

/* Row i as floats, unscaled, from values of any type. Returns -1 if one is not finite, or is an
 * integer beyond 2^24, where floats no longer represent every integer. */
MUST_CHECK int npy_numbers(const struct npy *f, size_t i, float *x);

/* Value i of an array of integers or bools; values above INT64_MAX become -1. */
int64_t npy_integer(const struct npy *f, size_t i);

#endif
