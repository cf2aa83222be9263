/*
 * Arrays of numbers as a data set: in a folder, for each input of the network and each of the two
 * sets, a .npy file (npy.h) of a row per sample, and one of the labels:
 *
 *     train-NAME.npy, test-NAME.npy    for each input layer, by its name; else x
 *     train-y.npy, test-y.npy          the labels: integers from 0, one of each sample; with a loss
 *                                      of numbers or bits (losses.h) a row of values
 *
 * A sample is its rows, one after the other in the order of the input layers, which are read when
 * it is asked for: what has been read before is the system's, shared by all ranks of a host.
 */
#ifndef PACELINE_ARRAYS_H
#define PACELINE_ARRAYS_H

#include "paceline/spec.h"
#include "worker/data/format/npy.h"

/* Whether an array's rows can be samples of an input of this shape. ERR_DAMAGED. */
MUST_CHECK int arrays_check(const struct npy *f, struct shape s, struct err *err);

/* How many input layers the job's network has; 0: its one input has no layer. */
size_t arrays_inputs(const struct job *job);
/* The NAME in the file names of input i. The caller frees it. */
char *arrays_input_name(const struct job *job, size_t i);
struct shape arrays_input_shape(const struct job *job, size_t i); /* of input layer i */

#endif
