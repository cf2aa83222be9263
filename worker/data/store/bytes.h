/* Data whose samples are bytes, as of images: read by a struct source_kind (source.h) into a layout
 * (layout.h), once per host, or streamed. */
#ifndef PACELINE_DATA_BYTES_H
#define PACELINE_DATA_BYTES_H

#include "worker/data/store/kind.h"

/* For data_kind, which has a source then. */
MUST_CHECK int bytes_load(const struct data_kind *k, struct datasets *d, const struct job *job,
                          const struct host_rank *h, struct err *err);
MUST_CHECK int bytes_look(const struct data_kind *k, struct data_facts *f, const struct job *job,
                          bool whole, struct err *err);

/* A row of a struct data_kind: images by this source. */
#define BYTES_KIND(source_, advice_) \
    .load = bytes_load, .look = bytes_look, .source = &(source_), .advice = (advice_)

#endif
