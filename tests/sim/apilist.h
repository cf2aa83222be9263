/* Of apiserver.c: lists. */
#ifndef PACELINE_TESTS_SIM_APILIST_H
#define PACELINE_TESTS_SIM_APILIST_H

#include "tests/sim/apiserver.h"

/* Answers GET of a collection. */
void api_list(struct api *api, const struct target *t, struct api_answer *a);

#endif
