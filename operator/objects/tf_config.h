/* TF_CONFIG, by which the processes of TensorFlow find each other. */
#ifndef PACELINE_OPERATOR_OBJECTS_TF_CONFIG_H
#define PACELINE_OPERATOR_OBJECTS_TF_CONFIG_H

#include "operator/objects/cluster_layout.h"

/*
 * Whether processes get TF_CONFIG. TFJob gives a job of one process none, so that plain
 * TensorFlow programs run alone; a Dynamic job of one may grow and has it.
 */
bool tf_config_is_set(const struct cluster_layout *l);

/* A process by texts, which may also be placeholders: its index and its host name. */
struct tf_process {
    enum cluster_role role;
    const char *index, *host;
};

/*
 * TF_CONFIG of a process. With `by_name` the cluster (of a Dynamic job: the servers) stands there
 * as $(PACELINE_CLUSTER), $(PACELINE_PS), which the kubelet expands, so that 1,000 pods do not
 * carry 50 KB each.
 */
void tf_config_print(const struct cluster_layout *l, const struct tf_process *p, bool by_name,
                     struct buf *out);
void tf_config_cluster(const struct cluster_layout *l, struct buf *out); /* {"chief":[...],...} */
void tf_config_servers(const struct cluster_layout *l, struct buf *out); /* ["host:port",...] */

#endif
