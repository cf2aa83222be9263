/*
 * The description of a model in its checkpoint, so that the checkpoint can be used without the
 * job's file. It consists of texts in the metadata of the safetensors file.
 *
 *     version     of the program that wrote it: "0.1.0"
 *     spec        the fields of the job that decide its bytes (job_record), as JSON
 *     shape       of a sample, as JSON: [channels, height, width]
 *     classes     how many classes the data have, of a text different words, else values
 *     classNames  their names by label, of a text the words, as a JSON list; absent where the data
 *                 have none, or more than CONFIG_NAMES_MAX bytes of them
 *     classNamesBytes  which of these, as a JSON list of numbers from 0, are not UTF-8: each
 *                 character of such a name stands for the byte of the same number; absent where
 *                 all are UTF-8
 *     columns     of data from a table, the names of the columns of a sample's values, as a JSON
 *                 list; else absent
 *
 * The values for normalising samples are in the spec (dataset.normalize). If they were computed
 * from the data, they are the tensors normalize.mean and normalize.std.
 */
#ifndef PACELINE_CONFIG_H
#define PACELINE_CONFIG_H

#include "paceline/arena.h"
#include "paceline/spec.h"
#include "worker/checkpoint/safetensors.h"

#define CONFIG_SPEC_MAX ((size_t)1 << 20)
#define CONFIG_NAMES_MAX ((size_t)16 << 20)
#define CONFIG_CLASSES_MAX (1 << 24)
#define CONFIG_ITEMS 7

/* The names of classes: n texts, each ended by a NUL, one after the other. texts NULL: none. */
struct config_names {
    const char *texts;
    size_t n;
};

/* Appends the names to out as classNames above, and to bytes (may be NULL) classNamesBytes; nothing
 * if there are none or the list of names has more than max bytes. */
void config_print_names(struct config_names names, size_t max, struct buf *out, struct buf *bytes);

/* The texts for a checkpoint to be written. */
struct config_texts {
    struct buf spec, names, name_bytes, columns;
    char shape[48], classes[24];
};
void config_print(struct config_texts *c, const struct job *job, struct shape shape, int classes,
                  struct config_names names, struct config_names columns);
void config_texts_release(struct config_texts *c); /* also fit for AUTO */
/* Lists the items of c, at most CONFIG_ITEMS, and returns how many there are. They point into c. */
size_t config_items(const struct config_texts *c, struct st_meta *items);

/* The description as it was read. */
struct config {
    struct job *job; /* without spec.dataset.path; NULL: the file is of an engine that wrote none */
    const char *version;  /* "" where it is not said; as the file is */
    struct shape shape;   /* c 0: not said */
    int classes;          /* 0: not said */
    cJSON *names;         /* a list of `classes` strings, or NULL */
    cJSON *name_bytes;    /* classNamesBytes, or NULL */
    cJSON *column_list;   /* what columns point into */
    const char **columns; /* as many names as a sample has values, or NULL */
};
/* ERR_DAMAGED: no engine writes such metadata. ERR_INVALID: the spec has fields or values that this
 * engine does not know; a later engine may have written them. f must outlive c. */
MUST_CHECK int config_read(struct config *c, const struct st_file *f, const char *path,
                           struct err *err);
void config_release(struct config *c); /* also fit for AUTO */

/* The names by number, as the data have them, byte for byte. A name is NULL if the file does not
 * tell: an earlier version has replaced some of its bytes. The list lives as long as a and c. */
const char **config_names_list(const struct config *c, struct arena *a);

/* Whether labels of the data mean the same to the model of file f, by their names. ERR_INVALID if
 * not. Names that one of the two does not have are not compared. */
MUST_CHECK int config_check_names(const struct st_file *f, const char *path,
                                  struct config_names names, bool words, struct err *err);

#endif
