/* The Secret with the job's key. */
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "operator/objects/keys.h"
#include "operator/objects/kinds.h"

int secret_fill(const struct objects_config *config, const struct tj *tj,
                const struct cluster_layout *l, cJSON *object, struct err *err)
{
    unsigned char key[KEY_BYTES], encoded[(KEY_BYTES + 2) / 3 * 4 + 1];

    (void)l, (void)err;
    key_derive(key, config->master_key, tj->meta.uid);
    EVP_EncodeBlock(encoded, key, KEY_BYTES);
    cJSON_AddTrueToObject(object, "immutable");
    cJSON_AddStringToObject(object, "type", "paceline.dev/job-key");
    cJSON_AddStringToObject(cJSON_AddObjectToObject(object, "data"), "key", (char *)encoded);
    OPENSSL_cleanse(key, sizeof key);
    OPENSSL_cleanse(encoded, sizeof encoded);
    return 0;
}
