// LINK: operator/objects operator/api common
// LIBS: -lcrypto
/* A job's key: its derivation, and its Secret. */
#include <openssl/evp.h>

#include "operator/objects/keys.h"
#include "tests/unit/objects_job.h"

static void from_hex(unsigned char out[KEY_BYTES], const char *hex)
{
    CHECK_INT(strlen(hex), 2 * KEY_BYTES);
    for (size_t i = 0; i < KEY_BYTES; i++) {
        char byte[3] = {hex[2 * i], hex[2 * i + 1], 0};

        out[i] = (unsigned char)strtol(byte, NULL, 16);
    }
}

/* From Python: hmac.digest over RFC 5869's extract and expand. */
static void test_derivation(void)
{
    unsigned char got[KEY_BYTES], want[KEY_BYTES];

    key_derive(got, test_config.master_key, TEST_UID);
    from_hex(want, "bfeb3fb816b55177fdb27fddd3502a3375cf692ee03c97f59361b261af23510b");
    CHECK_BYTES(got, want, KEY_BYTES);
    key_derive(got, test_config.master_key, "another");
    CHECK(memcmp(got, want, KEY_BYTES) != 0);
    key_derive(got, (const unsigned char *)"0123456789abcdef0123456789ABCDEf", TEST_UID);
    CHECK(memcmp(got, want, KEY_BYTES) != 0);
}

/* The Secret is made again with the same bytes, and holds the key. */
static void test_secret(void)
{
    AUTO(buf_release) struct buf first, again;
    unsigned char key[KEY_BYTES], encoded[64];
    struct err err;
    struct tj tj;

    test_tj_load(&tj, "tests/objects/builtin.yaml");
    key_derive(key, test_config.master_key, TEST_UID);
    EVP_EncodeBlock(encoded, key, KEY_BYTES);
    buf_init(&first, 0);
    buf_init(&again, 0);
    CHECK_INT(owned_body(&test_config, &tj, OWNED_SECRET, &first, &err), 0);
    CHECK_INT(owned_body(&test_config, &tj, OWNED_SECRET, &again, &err), 0);
    CHECK_STR(first.data, again.data);
    CHECK_CONTAINS(first.data, "\"type\":\"paceline.dev/job-key\"");
    CHECK_CONTAINS(first.data, (char *)encoded);
    CHECK_CONTAINS(first.data, "\"immutable\":true");
    test_tj_release(&tj);
}

int main(void)
{
    test_derivation();
    test_secret();
    return test_result();
}
