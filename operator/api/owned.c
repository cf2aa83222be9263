#include "operator/api/owned.h"

const char *const owned_kind_names[N_OWNED] = {
    [OWNED_SERVICE] = "Service",      [OWNED_SECRET] = "Secret",
    [OWNED_CONFIG_MAP] = "ConfigMap", [OWNED_NETWORK_POLICY] = "NetworkPolicy",
    [OWNED_POD_GROUP] = "PodGroup",
};
