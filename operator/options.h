/* The command line of paceline-operator. */
#ifndef PACELINE_OPERATOR_OPTIONS_H
#define PACELINE_OPERATOR_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "paceline/log.h"
#include "paceline/version.h"

struct operator_options {
    const char *kubeconfig, *context; /* NULL: in the cluster, else kubectl's defaults */
    const char *namespace_;           /* NULL: where the credentials belong */
    bool all_namespaces;
    const char *operator_namespace;    /* of the Lease and the master key; NULL: as namespace_ */
    const char *lease_name, *identity; /* identity NULL: the host's name and a random number */
    bool no_election;
    bool reach_pods;
    bool release_finalizers; /* only that */
    int64_t lease_ms, renew_ms, retry_ms, request_ms;
    int64_t max_writes, page;
    double qps, burst;          /* 0: no limit; the burst then does not matter */
    const char *web_address;    /* "none": no web thread; NULL: by where it runs */
    const char *cluster_domain; /* NULL: none */
    const char *worker_image;
    const char *master_key_file; /* NULL: the Secret */
    enum log_level log_level;
};

/*
 * Parses argv. False when the program ends here, with its exit code: after --help and --version, or
 * after a problem, which was printed as one sentence. Strings are argv's, the environment's or
 * static. Every value is checked, so that what is wrong is said before anything starts.
 */
bool options_parse(struct operator_options *o, int argc, char **argv, int *exit_code);

#endif
