/*
 * Pod templates that the API server has recently accepted in a dry run, so that five hundred jobs
 * with one template do not make five hundred dry runs. It is only a hint; the creation of the pods
 * decides.
 */
#ifndef PACELINE_OPERATOR_CONTROLLER_ACCEPTED_TEMPLATES_H
#define PACELINE_OPERATOR_CONTROLLER_ACCEPTED_TEMPLATES_H

#include <stdbool.h>

#include "operator/api/trainingjob.h"

#define N_TEMPLATES 64

struct accepted_templates {
    struct {
        uint64_t hash;
        int64_t until_mono_ms;
    } known[N_TEMPLATES];
    int next;
};

bool accepted_templates_known(const struct accepted_templates *t, const struct tj *tj,
                              enum cluster_role role, int64_t mono_ms);
void accepted_templates_note(struct accepted_templates *t, const struct tj *tj,
                             enum cluster_role role, int64_t mono_ms);

#endif
