/*
 * Whether a job fits its data: asked of the files by `paceline validate`, and of the loaded sets by
 * the engine, so that both refuse the same jobs with the same sentences.
 */
#ifndef PACELINE_FIT_H
#define PACELINE_FIT_H

#include "worker/data/data.h"

/* The facts of loaded sets. */
struct data_facts data_facts_of(const struct datasets *d);

/* The facts of a set from its files; reads their headers, labels and words. Errors as
 * datasets_load. */
MUST_CHECK int data_facts_read(struct data_facts *f, const struct job *job, struct err *err);

/* ERR_INVALID: the job does not fit the data; the message says what the data have. */
MUST_CHECK int data_fit(const struct data_facts *f, const struct job *job, const struct net *net,
                        struct err *err);

#endif
