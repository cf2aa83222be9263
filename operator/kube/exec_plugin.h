/*
 * Exec plugins: a program prints an ExecCredential. It runs beside us; its pipes are watched by
 * whoever polls, so that nothing waits for it.
 */
#ifndef PACELINE_OPERATOR_KUBE_EXEC_PLUGIN_H
#define PACELINE_OPERATOR_KUBE_EXEC_PLUGIN_H

#include <stdint.h>

#include "operator/kube/access.h"

#define EXEC_MAX_OUTPUT ((size_t)256 << 10)

struct exec_credential {
    char *token, *cert, *key; /* NULL: not given; a certificate comes with its key */
    int64_t expires_ms;       /* since 1970; 0: never */
};
void exec_credential_release(struct exec_credential *c); /* also fit for AUTO */

/* Reads what a plugin printed. api_version is what it was asked for. */
MUST_CHECK int exec_credential_parse(struct exec_credential *out, const char *text, size_t len,
                                     const char *api_version, struct err *err);

/* KUBERNETES_EXEC_INFO; the caller frees it. ca: PEM or NULL. */
char *exec_info(const struct exec_config *exec, const char *ca);

/*
 * Starts the plugin, without a shell, in a process group of its own, with nothing of ours open.
 * It has timeout_ms; more than EXEC_MAX_OUTPUT is an error. The caller frees *out.
 */
struct exec_run;
MUST_CHECK int exec_start(struct exec_run **out, const struct exec_config *exec, const char *ca,
                          int64_t now_ms, int64_t timeout_ms, struct err *err);
void exec_run_free(struct exec_run *run); /* kills what still runs */

/* The descriptors to wait for (readable), at most 2; returns how many. */
int exec_run_fds(const struct exec_run *run, int fds[2]);
/* Milliseconds until exec_run_step must be called though nothing is readable. */
int64_t exec_run_next_ms(const struct exec_run *run, int64_t now_ms);

/* Never blocks. 0: still running; 1: done, *out is filled; -1: failed. Call it no more then. */
MUST_CHECK int exec_run_step(struct exec_run *run, int64_t now_ms, struct exec_credential *out,
                             struct err *err);

#endif
