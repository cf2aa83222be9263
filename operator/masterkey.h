/*
 * The operator's one secret: 32 bytes from which every job's key is derived. It comes from a file,
 * or from the Secret "paceline-operator-key" in the operator's namespace, which is made with random
 * bytes when it is absent. Losing it means that running jobs' keys can not be derived again.
 */
#ifndef PACELINE_OPERATOR_MASTERKEY_H
#define PACELINE_OPERATOR_MASTERKEY_H

#include <stdint.h>

#include "operator/kube/kube.h"
#include "paceline/err.h"

#define MASTERKEY_BYTES 32
#define MASTERKEY_SECRET "paceline-operator-key"

/* Reads the file, which has exactly the 32 bytes. Fails with ERR_NOT_FOUND, ERR_IO, ERR_INVALID. */
MUST_CHECK int masterkey_read_file(unsigned char key[MASTERKEY_BYTES], const char *path,
                                   struct err *err);

/* Gets it from the API, trying for as long as it takes: without a key the operator is not ready. */
struct masterkey *masterkey_new(const struct kube_ops *ops, void *kube, const char *namespace_,
                                int64_t request_ms);
void masterkey_free(struct masterkey *k); /* cancels its request and wipes the key; NULL is fine */

/* Sends what is due. Times are of a monotonic clock. */
void masterkey_step(struct masterkey *k, int64_t now_ms);
int64_t masterkey_next_ms(const struct masterkey *k, int64_t now_ms); /* -1: an answer is awaited */
const unsigned char *masterkey_bytes(const struct masterkey *k);      /* NULL: not there yet */

#endif
