/*
 * A job's key, which the operator and the job's agents share: derived from the operator's master
 * key and the job's UID, so that the operator needs no right to read Secrets. It makes the same key
 * again.
 */
#ifndef PACELINE_OPERATOR_OBJECTS_KEYS_H
#define PACELINE_OPERATOR_OBJECTS_KEYS_H

#define KEY_BYTES 32

/* HKDF-SHA256(master, salt "paceline.dev/job-key/v2", info UID). */
void key_derive(unsigned char out[KEY_BYTES], const unsigned char master[KEY_BYTES],
                const char *uid);

/* A name for the job's key, 8 hexadecimal digits, which tells nothing about it: keys of another
 * master key have another. */
#define KEY_DIGITS_SIZE 9
void key_digits(char out[KEY_DIGITS_SIZE], const unsigned char master[KEY_BYTES], const char *uid);

#endif
