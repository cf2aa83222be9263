/* A world: the hosts that train together, one rank each, as the operator has sent it. */
#ifndef PACELINE_AGENT_WORLD_H
#define PACELINE_AGENT_WORLD_H

#include <stddef.h>

#include "paceline/json.h"

#define WORLD_MAX_HOSTS 4096

struct world {
    long long generation;
    cJSON *job; /* the whole TrainingJob, as it came */
    struct world_host {
        char *pod, *host, *address; /* address: numeric IPv4 or IPv6 */
    } * hosts;
    size_t n_hosts;
};

/*
 * Parses a message of type "world". Names are DNS names and addresses are numeric, so both
 * are safe in files and command lines. Fails with ERR_INVALID. The caller owns *w.
 */
MUST_CHECK int world_parse(struct world *w, const cJSON *message, struct err *err);
void world_release(struct world *w); /* also fit for AUTO */

#endif
