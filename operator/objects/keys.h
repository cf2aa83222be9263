/*
 * A job's key pair: P-256, derived from the operator's master key and the job's UID, so that the
 * operator needs no right to read Secrets: it makes the same key again. The certificate is made the
 * same way, byte for byte, because the signature's nonce is RFC 6979's.
 */
#ifndef PACELINE_OPERATOR_OBJECTS_KEYS_H
#define PACELINE_OPERATOR_OBJECTS_KEYS_H

#include <stddef.h>

#include "paceline/buf.h"

#define KEY_BYTES 32

/*
 * The scalar: HKDF-SHA256(master, salt "paceline.dev/job-key/v1", info UID), and while that is not
 * in 1..n-1, with info UID, NUL, 1, 2, ... (one byte).
 */
void key_scalar(unsigned char out[KEY_BYTES], const unsigned char master[KEY_BYTES],
                const char *uid);

/* A name for the job's key, 8 hexadecimal digits, which tells nothing about it: keys of another
 * master key have another. */
#define KEY_DIGITS_SIZE 9
void key_digits(char out[KEY_DIGITS_SIZE], const unsigned char master[KEY_BYTES], const char *uid);

/*
 * ECDSA with SHA-256 on P-256, deterministic (RFC 6979): r and s, 32 bytes each, over a message.
 */
void key_sign(unsigned char r[KEY_BYTES], unsigned char s[KEY_BYTES],
              const unsigned char scalar[KEY_BYTES], const void *message, size_t n);

/* Appends the private key (PKCS #8) and a self-signed certificate for it, both PEM. */
void key_pem(const unsigned char scalar[KEY_BYTES], struct buf *private_key,
             struct buf *certificate);

#endif
