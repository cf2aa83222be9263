/* The Secret with the job's key pair. */
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "operator/objects/keys.h"
#include "operator/objects/kinds.h"
#include "paceline/mem.h"

static void add_base64(cJSON *data, const char *key, const struct buf *text)
{
    AUTO(auto_free) char *encoded = xmalloc(text->len / 3 * 4 + 5);

    EVP_EncodeBlock((unsigned char *)encoded, (const unsigned char *)text->data, (int)text->len);
    cJSON_AddStringToObject(data, key, encoded);
    OPENSSL_cleanse(encoded, strlen(encoded));
}

int secret_fill(const struct objects_config *config, const struct tj *tj, const struct wiring *w,
                cJSON *object, struct err *err)
{
    AUTO(buf_release) struct buf private_key, certificate;
    unsigned char scalar[KEY_BYTES];
    cJSON *data;

    (void)w, (void)err;
    buf_init_secret(&private_key, 0);
    buf_init(&certificate, 0);
    key_scalar(scalar, config->master_key, tj->meta.uid);
    key_pem(scalar, &private_key, &certificate);
    cJSON_AddTrueToObject(object, "immutable");
    cJSON_AddStringToObject(object, "type", "kubernetes.io/tls");
    data = cJSON_AddObjectToObject(object, "data");
    add_base64(data, "tls.crt", &certificate);
    add_base64(data, "tls.key", &private_key);
    OPENSSL_cleanse(scalar, sizeof scalar);
    return 0;
}
