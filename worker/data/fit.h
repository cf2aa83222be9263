/*
 * Whether a job fits its data: asked of the files by `paceline validate`, and of the loaded sets by
 * the engine, so that both refuse the same jobs with the same sentences.
 */
#ifndef PACELINE_FIT_H
#define PACELINE_FIT_H

#include "worker/data/data.h"

struct data_facts {
    struct shape shape;
    uint32_t n_train;    /* samples, without those of the validation set */
    int classes, values; /* as in struct dataset; classes 0: nobody knows them */
    bool words;
    uint32_t n_skipped; /* files in folders of images that are none */
    char skipped[256];  /* the first of them */
};

/* Of sets that are loaded. */
struct data_facts data_facts_of(const struct datasets *d);

/* From the files of a set, of which headers, labels and words are read. Errors as datasets_load. */
MUST_CHECK int data_facts_read(struct data_facts *f, const struct job *job, struct err *err);

/* ERR_INVALID: what the data have and the job does not fit. */
MUST_CHECK int data_fit(const struct data_facts *f, const struct job *job, const struct net *net,
                        struct err *err);

#endif
