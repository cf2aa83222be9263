/* Words for the rows of the table of fields (spec_table.c): places, ranges, patterns,
 * and what several rows share. */
#ifndef PACELINE_SPEC_ROW_H
#define PACELINE_SPEC_ROW_H

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define AT(type, member) .offset = offsetof(type, member), .size = sizeof(((type *)0)->member)
#define JOB(member) AT(struct job, member)
#define JOB_LIST(member, n_member) JOB(member), .n_offset = offsetof(struct job, n_member)
#define CHANGE(member) JOB(strategy.change.member)
#define LAYER(member) AT(struct layer_spec, member)
#define RANGE(low, high) .min = (low), .max = (high)
#define EXACT_INTEGERS 9007199254740991.0 /* 2^53 - 1: what JSON carries without loss */
#define MOST 1e300
/* In the order of enum loss_type and enum metric, as losses.c has them. */
#define LOSSES \
    NAMES("softmaxCrossEntropy", "squaredError", "mse", "mae", "huber", "sigmoidCrossEntropy")
#define METRICS                                                                                 \
    NAMES("loss", "accuracy", "perplexity", "binaryAccuracy", "mae", "rmse", "r2", "precision", \
          "recall", "f1")
#define LABEL                                                                                   \
    .pattern = "^[a-z]([-a-z0-9]{0,48}[a-z0-9])?$",                                             \
    .pattern_text = "1 to 50 lower-case letters, digits and '-', from a letter to a letter or " \
                    "digit"
#define LAYER_NAME                              \
    .pattern = "^[A-Za-z][A-Za-z0-9_-]{0,49}$", \
    .pattern_text = "1 to 50 letters, digits, '_' and '-', from a letter"
#define LABEL_VALUE                                               \
    .pattern = "^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$", \
    .pattern_text = "1 to 63 letters, digits, '-', '_' and '.', from a letter or digit to one"
#define DOMAIN_NAME                                                                  \
    .pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$", \
    .pattern_text = "a domain of at most 63 characters, such as cluster.local"
/* As batch/v1 Job's managedBy. */
#define MANAGER                                                                           \
    .pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/"       \
               "[-A-Za-z0-9/._~%!$&'()*+,;=:]+$",                                         \
    .pattern_text = "a domain, '/' and a path, such as kueue.x-k8s.io/multikueue, of 63 " \
                    "characters at most"
#define RESTART_DOC                                                                            \
    "What follows when a process fails. Never: the job fails; OnFailure, Always: the kubelet " \
    "restarts the container; ExitCode: codes from 128 restart the pod, others fail the job. "  \
    "Jobs with spec.model or spec.mpi ignore it."
#define ROLE_RESTART(key, role)                                                              \
    {                                                                                        \
        "spec.replicas." key ".restartPolicy", FIELD_ENUM, JOB(replicas[role].restart),      \
            .names = NAMES("Never", "OnFailure", "Always", "ExitCode"), .default_ = "Never", \
            .fixed = true, .doc = RESTART_DOC                                                \
    }
#define TEMPLATE_DOC                                                                            \
    "The pod template. A job without spec.model needs one with a container for each role that " \
    "has replicas; one machine does not use it."
#define ROLE_TEMPLATE(key, role)                                                       \
    {                                                                                  \
        "spec.replicas." key ".template", FIELD_OPAQUE, JOB(replicas[role].template_), \
            .fixed = true, .doc = TEMPLATE_DOC                                         \
    }
/* Of a pod's volumes those that outlive it; data may come with the others, too. */
#define STORAGE                                                                                  \
    "persistentVolumeClaim", "hostPath", "nfs", "csi", "azureFile", "cephfs", "iscsi", "fc",     \
        "rbd", "cinder", "glusterfs", "portworxVolume", "vsphereVolume", "awsElasticBlockStore", \
        "gcePersistentDisk", "azureDisk", "flexVolume"

#endif
