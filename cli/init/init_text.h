/* The job file that paceline init writes. Pure. */
#ifndef PACELINE_CLI_INIT_TEXT_H
#define PACELINE_CLI_INIT_TEXT_H

#include "cli/init/init_data.h"
#include "paceline/buf.h"

/* Appends a commented job file for these data: it validates, and trains in minutes. */
void init_text(struct buf *out, const struct init_data *d);

#endif
