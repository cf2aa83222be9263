/*
 * safetensors: an 8-byte little-endian header length, a JSON header (names, dtype, shape, byte
 * offsets, "__metadata__" of strings), then the bytes. Read by the Python package.
 * Writing is atomic (temporary file, fsync, rename): a full disk leaves the old file whole.
 */
#ifndef PACELINE_SAFETENSORS_H
#define PACELINE_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cjson/cJSON.h>

#include "paceline/err.h"
#include "paceline/file.h"

enum st_dtype { ST_F32, ST_F64, ST_I64, ST_U8 };

struct st_tensor {
    const char *name;
    enum st_dtype dtype;
    int n_dims;
    int64_t dims[4];
    const void *data; /* of a file that is read: NULL where that is left on the disk */
    size_t bytes;
    size_t offset;                  /* of a file that is read: where the data begins in it */
    const void *(*load)(void *arg); /* writing, with data NULL: gives it; stays until the next */
    void *arg;
};

struct st_meta {
    const char *key, *value;
};

const char *st_dtype_name(enum st_dtype dtype); /* "F32" */
size_t st_dtype_bytes(enum st_dtype dtype);     /* of one element */

/* Tensors are written in the order given, the first at a multiple of 64 bytes; metadata keys in
 * order given, their values as they are when all tensors have been loaded: until then they may
 * change, but not in length. Same input, same bytes. Between them is no padding: put 8-byte types
 * before 4-byte ones before bytes, since a tensor off its natural place is refused when read.
 * ERR_IO: the path, the cause and the bytes needed; the old file is whole and no temporary file is
 * left. */
MUST_CHECK int st_write(const char *path, const struct st_tensor *tensors, size_t n,
                        const struct st_meta *meta, size_t n_meta, struct err *err);

/* An opened file, mapped read-only or left on the disk; everything inside is bounds-checked at
 * opening: names are unique, and the tensors, listed in the order of their data, cover it without
 * gap or overlap. */
struct st_file {
    struct st_tensor *tensors;
    size_t n;
    struct st_meta *meta;
    size_t n_meta;
    struct file_map map;
    FILE *disk;    /* NULL: its data is in memory */
    cJSON *header; /* owner of names, keys, values */
};
/* ERR_NOT_FOUND, ERR_IO, ERR_DAMAGED: file, what was found, what is allowed; *f is empty then. */
MUST_CHECK int st_open(struct st_file *f, const char *path, struct err *err);
/* The same on bytes in memory (fuzzing); the bytes must outlive f. */
MUST_CHECK int st_parse(struct st_file *f, const void *bytes, size_t len, const char *name,
                        struct err *err);
/* The same, but of the data nothing is in memory, nor in the address space, until it is read. */
MUST_CHECK int st_open_on_disk(struct st_file *f, const char *path, struct err *err);
/* Of such a file: n bytes of its data, from byte `at` of the file, which some tensor has. ERR_IO:
 * they cannot be read any more; the message starts with path. */
MUST_CHECK int st_read(const struct st_file *f, const char *path, size_t at, void *to, size_t n,
                       struct err *err);
void st_close(struct st_file *f);
const struct st_tensor *st_find(const struct st_file *f, const char *name);
const char *st_meta_get(const struct st_file *f, const char *key);

#endif
