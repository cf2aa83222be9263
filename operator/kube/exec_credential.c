/* The input of an exec plugin, and its answer. */
#include <time.h>

#include "operator/kube/exec_plugin.h"
#include "operator/kube/secret.h"
#include "paceline/json.h"
#include "paceline/mem.h"

void exec_credential_release(struct exec_credential *c)
{
    secret_free(c->token);
    secret_free(c->cert);
    secret_free(c->key);
    *c = (struct exec_credential){0};
}

char *exec_info(const struct exec_config *exec, const char *ca)
{
    AUTO(auto_json) cJSON *info = cJSON_CreateObject();
    cJSON *spec = cJSON_AddObjectToObject(info, "spec"), *cluster;
    struct err ignored;
    struct buf text;

    cJSON_AddStringToObject(info, "kind", "ExecCredential");
    cJSON_AddStringToObject(info, "apiVersion", exec->api_version);
    cJSON_AddFalseToObject(spec, "interactive");
    if (exec->cluster &&
        json_parse(&cluster, exec->cluster, strlen(exec->cluster), "cluster", &ignored) == 0) {
        cJSON_AddItemToObject(spec, "cluster", cluster);
        if (ca) {
            AUTO(auto_free) char *data = base64_encode(ca, strlen(ca));

            cJSON_AddStringToObject(cluster, "certificate-authority-data", data);
        }
    }
    buf_init(&text, 0);
    json_print(info, 0, &text);
    return text.data;
}

/* RFC 3339, in milliseconds since 1970; fractions are cut off. */
static int parse_time(const char *text, int64_t *ms)
{
    struct tm tm = {0};
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    int hours = 0, minutes = 0, n = 0;
    int64_t offset = 0;

    if (!rest)
        return -1;
    if (*rest == '.')
        rest += 1 + strspn(rest + 1, "0123456789");
    if (strcmp(rest, "Z") != 0 && strcmp(rest, "z") != 0) {
        if ((*rest != '+' && *rest != '-') ||
            sscanf(rest + 1, "%2d:%2d%n", &hours, &minutes, &n) != 2 || n != 5 || rest[6])
            return -1;
        offset = (*rest == '-' ? -60 : 60) * (hours * 60 + minutes);
    }
    *ms = ((int64_t)timegm(&tm) - offset) * 1000;
    return 0;
}

static int text_field(const cJSON *status, const char *field, char **out, struct err *err)
{
    const cJSON *node = cJSON_GetObjectItemCaseSensitive(status, field);

    if (!node || cJSON_IsNull(node) || (cJSON_IsString(node) && !*node->valuestring))
        return 0;
    if (!cJSON_IsString(node))
        return err_set(err, ERR_INVALID, "its output: status.%s is no text", field);
    *out = xstrdup(node->valuestring);
    return 0;
}

static int exec_credential_read_status(struct exec_credential *c, const cJSON *status,
                                       struct err *err)
{
    AUTO(auto_free) char *expires = NULL;

    if (!cJSON_IsObject(status))
        return err_set(err, ERR_INVALID, "its output has no status");
    if (text_field(status, "token", &c->token, err) ||
        text_field(status, "clientCertificateData", &c->cert, err) ||
        text_field(status, "clientKeyData", &c->key, err) ||
        text_field(status, "expirationTimestamp", &expires, err))
        return -1;
    if (!c->cert != !c->key)
        return err_set(err, ERR_INVALID,
                       "its output: clientCertificateData and clientKeyData are given together or "
                       "not at all");
    if (!c->token && !c->cert)
        return err_set(err, ERR_INVALID, "its output has neither a token nor a certificate");
    if (c->token && strpbrk(c->token, "\r\n"))
        return err_set(err, ERR_INVALID, "its output: the token holds a line end");
    if (expires && parse_time(expires, &c->expires_ms))
        return err_set(err, ERR_INVALID,
                       "its output: expirationTimestamp is \"%.60s\"; RFC 3339 is allowed, such as "
                       "2030-01-31T12:00:00Z",
                       expires);
    return 0;
}

int exec_credential_parse(struct exec_credential *out, const char *text, size_t len,
                          const char *api_version, struct err *err)
{
    AUTO(exec_credential_release) struct exec_credential found = {0};
    AUTO(auto_secret_json) cJSON *root = NULL;
    const char *kind, *version;

    *out = (struct exec_credential){0};
    if (json_parse(&root, text, len, "its output", err))
        return -1;
    kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "kind"));
    version = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "apiVersion"));
    if (!kind || strcmp(kind, "ExecCredential") != 0)
        return err_set(err, ERR_INVALID, "its output: kind is \"%.60s\"; ExecCredential is allowed",
                       kind ? kind : "");
    if (!version || strcmp(version, api_version) != 0)
        return err_set(err, ERR_INVALID,
                       "its output: apiVersion is \"%.100s\"; it was asked for %s",
                       version ? version : "", api_version);
    if (exec_credential_read_status(&found, cJSON_GetObjectItemCaseSensitive(root, "status"), err))
        return -1;
    *out = found;
    found = (struct exec_credential){0};
    return 0;
}
