/*
 * The user's own kubectl as a child process, with the user's kubeconfig; never a shell. Ctrl-C and
 * SIGTERM reach us as a failure of the call that is under way, so that a command can tidy up.
 */
#ifndef PACELINE_CLI_KUBECTL_H
#define PACELINE_CLI_KUBECTL_H

#include <stdint.h>

#include <cjson/cJSON.h>

#include "paceline/buf.h"

#define KUBECTL_OUTPUT_MAX ((size_t)16 << 20)

struct kubectl {
    const char *context, *namespace_; /* NULL: those of the kubeconfig */
    int signals;                      /* descriptor */
};

/* From now on Ctrl-C, SIGTERM and SIGHUP only end calls of k. The strings are the caller's. */
void kubectl_init(struct kubectl *k, const char *context, const char *namespace_);
void kubectl_release(struct kubectl *k); /* also fit for AUTO; the signals stay blocked */

/*
 * Runs kubectl with the arguments (NULL-terminated) and input as its standard input (NULL: none);
 * its output is appended to out, which has a maximum. Fails with one sentence, kubectl's own last
 * one where there is one: ERR_NOT_FOUND, ERR_CONFLICT, ERR_FORBIDDEN and ERR_INVALID as the API
 * server says; ERR_INVALID: also no kubectl, or more output than out takes; ERR_GONE: a command in
 * a pod has failed; ERR_INTERRUPTED; ERR_TRANSIENT: anything else.
 */
MUST_CHECK int kubectl_run(const struct kubectl *k, const char *const *arguments, const char *input,
                           struct buf *out, struct err *err);

/* The same for commands that print one JSON value; the caller owns *out (cJSON_Delete). */
MUST_CHECK int kubectl_json(const struct kubectl *k, const char *const *arguments, cJSON **out,
                            struct err *err);

/* Waits; fails with ERR_INTERRUPTED when a signal comes. */
MUST_CHECK int kubectl_pause(const struct kubectl *k, int64_t ms, struct err *err);

#endif
