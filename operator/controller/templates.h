/*
 * Pod templates that the API server has recently accepted in a dry run, so that five hundred jobs
 * with one template do not make five hundred dry runs. It is only a hint; the creation of the pods
 * decides.
 */
#ifndef PACELINE_OPERATOR_CONTROLLER_TEMPLATES_H
#define PACELINE_OPERATOR_CONTROLLER_TEMPLATES_H

#include <stdbool.h>

#include "operator/api/trainingjob.h"

#define N_TEMPLATES 64

struct templates {
    struct {
        uint64_t hash;
        int64_t until_mono_ms;
    } known[N_TEMPLATES];
    int next;
};

bool templates_known(const struct templates *t, const struct tj *tj, enum cluster_role role,
                     int64_t mono_ms);
void templates_note(struct templates *t, const struct tj *tj, enum cluster_role role,
                    int64_t mono_ms);

#endif
