/* Memory with secrets in it is wiped before it is freed. */
#ifndef PACELINE_OPERATOR_KUBE_SECRET_H
#define PACELINE_OPERATOR_KUBE_SECRET_H

#include <stddef.h>

#include <cjson/cJSON.h>

#include "paceline/err.h"

void secret_free(char *s); /* NULL is fine */
void auto_secret(char **s);
/* Wipes every string of the tree and deletes it. */
void secret_json_free(cJSON *tree);
void auto_secret_json(cJSON **tree);

/*
 * Reads a file of at most max bytes into *out, NUL-terminated; the caller frees it (secret_free).
 * ERR_NOT_FOUND, ERR_IO, or ERR_INVALID (too large, or a NUL inside); the message begins with path.
 */
MUST_CHECK int secret_read_file(char **out, size_t *len, const char *path, size_t max,
                                struct err *err);

/* Base64 as in RFC 4648; both give a string that the caller frees. */
char *base64_encode(const void *bytes, size_t n);
/* Line ends inside are skipped, as Go does; *out gets a NUL after its *len bytes. -1: not base64.
 */
int base64_decode(char **out, size_t *len, const char *text);

#endif
