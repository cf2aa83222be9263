#include "operator/api/kept.h"

#include "operator/api/meta.h"

#define KEEP(member)     \
    {                    \
        .name = (member) \
    }
#define PART(member, members)                 \
    {                                         \
        .name = (member), .fields = (members) \
    }
#define LARGE(member, bytes, values)                                                        \
    {                                                                                       \
        .name = (member), .rule = SIEVE_WHOLE, .max_bytes = (bytes), .max_values = (values) \
    }
#define END          \
    {                \
        .name = NULL \
    }

static const struct sieve_field nothing[] = {END};

static const struct sieve_field owner_reference[] = {
    KEEP("apiVersion"), KEEP("kind"), KEEP("name"), KEEP("uid"), KEEP("controller"), END,
};

/* Of the owners only the one that controls the object; of other finalizers than ours only that
 * there are some. */
#define META                                                                                      \
    KEEP("name"), KEEP("namespace"), KEEP("uid"), KEEP("resourceVersion"), KEEP("generation"),    \
        KEEP("creationTimestamp"), KEEP("deletionTimestamp"), KEEP("deletionGracePeriodSeconds"), \
        {.name = "ownerReferences", .fields = owner_reference, .when = "controller"},             \
    {                                                                                             \
        .name = "finalizers", .only = TRACKING_FINALIZER                                          \
    }

/* Of any object, and of the Status that an answer or an ERROR event may be instead. */
#define TOP KEEP("apiVersion"), KEEP("kind"), KEEP("code"), KEEP("reason"), KEEP("message")

static const struct sieve_field pod_labels[] = {
    KEEP(LABEL_ROLE),
    KEEP(LABEL_INDEX),
    KEEP(LABEL_INCARNATION),
    END,
};
static const struct sieve_field pod_meta[] = {META, PART("labels", pod_labels), END};
static const struct sieve_field container[] = {
    KEEP("name"),
    PART("readinessProbe", nothing), /* whether there is one */
    END,
};
static const struct sieve_field volume_secret[] = {KEEP("secretName"), END};
static const struct sieve_field volume[] = {
    KEEP("name"),
    PART("secret", volume_secret),
    END,
};
static const struct sieve_field pod_spec[] = {
    KEEP("nodeName"),
    PART("containers", container),
    PART("volumes", volume),
    END,
};
static const struct sieve_field condition[] = {
    KEEP("type"), KEEP("status"), KEEP("reason"), KEEP("message"), END,
};
static const struct sieve_field waiting[] = {KEEP("reason"), KEEP("message"), END};
static const struct sieve_field terminated[] = {
    KEEP("exitCode"), KEEP("reason"), KEEP("message"), KEEP("finishedAt"), END,
};
static const struct sieve_field container_state[] = {
    PART("running", nothing),
    PART("waiting", waiting),
    PART("terminated", terminated),
    END,
};
static const struct sieve_field container_status[] = {
    KEEP("name"),
    KEEP("restartCount"),
    PART("state", container_state),
    END,
};
static const struct sieve_field pod_status[] = {
    KEEP("phase"),
    KEEP("reason"),
    KEEP("message"),
    KEEP("podIP"),
    KEEP("startTime"),
    PART("conditions", condition),
    PART("initContainerStatuses", container_status),
    PART("containerStatuses", container_status),
    END,
};
const struct sieve_field kept_pod[] = {
    TOP, PART("metadata", pod_meta), PART("spec", pod_spec), PART("status", pod_status), END,
};

static const struct sieve_field job_meta[] = {
    META,
    LARGE("labels", KEPT_LABELS_BYTES, KEPT_NOTES),
    LARGE("annotations", KEPT_ANNOTATIONS_BYTES, KEPT_NOTES),
    END,
};
/* A job of another controller is left alone, however large it is. */
static const struct sieve_field large_run_policy[] = {KEEP("managedBy"), END};
static const struct sieve_field large_spec_fields[] = {PART("runPolicy", large_run_policy), END};
static const struct sieve_field large_spec = {.fields = large_spec_fields};
const struct sieve_field kept_job[] = {
    TOP,
    PART("metadata", job_meta),
    {
        .name = "spec",
        .rule = SIEVE_WHOLE,
        .max_bytes = KEPT_SPEC_BYTES,
        .max_values = KEPT_SPEC_VALUES,
        .large = &large_spec,
    },
    LARGE("status", KEPT_STATUS_BYTES, KEPT_STATUS_VALUES),
    END,
};

static const struct sieve_field owned_meta[] = {META, END};
const struct sieve_field kept_owned[] = {
    TOP,
    KEEP("status"),
    PART("metadata", owned_meta),
    END,
};

static const struct sieve_field list_meta[] = {
    KEEP("resourceVersion"),
    KEEP("continue"),
    END,
};
#define LIST(object)                                                        \
    {                                                                       \
        TOP, PART("metadata", list_meta),                                   \
            {.name = "items", .fields = (object), .rule = SIEVE_ITEMS}, END \
    }
const struct sieve_field kept_pod_list[] = LIST(kept_pod);
const struct sieve_field kept_job_list[] = LIST(kept_job);
const struct sieve_field kept_owned_list[] = LIST(kept_owned);

#define EVENT(object)                             \
    {                                             \
        KEEP("type"), PART("object", object), END \
    }
const struct sieve_field kept_pod_event[] = EVENT(kept_pod);
const struct sieve_field kept_job_event[] = EVENT(kept_job);
const struct sieve_field kept_owned_event[] = EVENT(kept_owned);

/* With a pod's labels, which say for which of its job's places it stands. */
const struct sieve_field kept_identity[] = {PART("metadata", pod_meta), END};
const struct sieve_field kept_identity_event[] = EVENT(kept_identity);

static const struct sieve_field series[] = {KEEP("lastObservedTime"), END};
static const struct sieve_field event_meta[] = {KEEP("creationTimestamp"), END};
static const struct sieve_field about_pod[] = {
    KEEP("type"),
    KEEP("reason"),
    KEEP("message"),
    KEEP("lastTimestamp"),
    KEEP("eventTime"),
    PART("series", series),
    PART("metadata", event_meta),
    END,
};
const struct sieve_field kept_events[] = {TOP, PART("items", about_pod), END};
