/* The kinds of objects that a job owns besides its pods. */
#ifndef PACELINE_OPERATOR_API_OWNED_H
#define PACELINE_OPERATOR_API_OWNED_H

enum owned_kind {
    OWNED_SERVICE,
    OWNED_SECRET,
    OWNED_CONFIG_MAP, /* of one generation: "<job>-<generation>" */
    OWNED_NETWORK_POLICY,
    OWNED_POD_GROUP,
    N_OWNED
};
extern const char *const owned_kind_names[N_OWNED]; /* "Service", ... */

#endif
