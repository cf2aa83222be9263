/* The PodGroup that a gang scheduler counts a job's pods by. */
#include "operator/objects/kinds.h"
#include "operator/objects/scheduling.h"

int pod_group_fill(const struct objects_config *config, const struct tj *tj,
                   const struct cluster_layout *l, cJSON *object, struct err *err)
{
    cJSON *spec = cJSON_AddObjectToObject(object, "spec");

    (void)config, (void)err;
    cJSON_AddNumberToObject(spec, "minMember", (double)scheduling_min_members(tj, l));
    if (tj->job->scheduling.gang != GANG_VOLCANO)
        return 0; /* scheduler-plugins knows no more */
    if (tj->job->scheduling.queue)
        cJSON_AddStringToObject(spec, "queue", tj->job->scheduling.queue);
    if (tj->job->scheduling.priority_class)
        cJSON_AddStringToObject(spec, "priorityClassName", tj->job->scheduling.priority_class);
    return 0;
}
