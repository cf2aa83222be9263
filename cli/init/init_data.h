/* The data that paceline init finds at a path, for a job that does not exist yet. */
#ifndef PACELINE_CLI_INIT_DATA_H
#define PACELINE_CLI_INIT_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "paceline/err.h"
#include "paceline/net.h"

struct init_input {
    char *name; /* of its files, and of its layer; NULL: the samples, which need no layer */
    struct shape shape;
};

struct init_data {
    const char *dataset; /* a value of spec.dataset.name */
    char *path;          /* of the folder, absolute */
    struct init_input *inputs;
    size_t n_inputs;
    enum loss_type loss; /* by what the labels are */
    int outputs;         /* classes, or values of a label */
    char *class_names;   /* the first of them: "cat, dog, ..."; NULL: they have none */
    uint32_t n_train, n_test;
    /* For images: */
    int image_size;  /* that all are brought to; 0: they have one size */
    bool gray;       /* all that were looked at */
    int least, most; /* pixels of the shorter side */
    bool splits;     /* no folder of test images: a share is kept back */
};

/*
 * Looks at a folder of images, arrays or IDX files, or at a file in such a folder. ERR_INVALID: the
 * engine cannot train on what is there, and the message says what that is; ERR_DAMAGED: a file is
 * not what its name says; ERR_NOT_FOUND, ERR_IO. On failure *d is empty.
 */
MUST_CHECK int init_data_find(struct init_data *d, const char *path, struct err *err);
void init_data_release(struct init_data *d); /* also fit for AUTO */

#endif
