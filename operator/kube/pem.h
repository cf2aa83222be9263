/* Certificates and keys are checked when they are read, not when a handshake fails. */
#ifndef PACELINE_OPERATOR_KUBE_PEM_H
#define PACELINE_OPERATOR_KUBE_PEM_H

#include "paceline/err.h"

/* ERR_INVALID unless pem holds at least one certificate and all of them can be read. */
MUST_CHECK int pem_check_certificates(const char *pem, const char *where, struct err *err);
/* ERR_INVALID unless key is an unencrypted private key that belongs to the first certificate. */
MUST_CHECK int pem_check_pair(const char *cert, const char *key, const char *where,
                              struct err *err);

#endif
