/* The users of a kubeconfig: their credentials. */
#include "operator/kube/kubeconfig_read.h"
#include "operator/kube/secret.h"
#include "paceline/json.h"
#include "paceline/mem.h"

static const char *const exec_versions[] = {"client.authentication.k8s.io/v1",
                                            "client.authentication.k8s.io/v1beta1"};

static const cJSON *kubeconfig_user_get(const cJSON *object, const char *field)
{
    const cJSON *node = cJSON_GetObjectItemCaseSensitive(object, field);

    return cJSON_IsNull(node) ? NULL : node;
}

static int exec_args(struct exec_config *exec, const struct kubeconfig_entry *user,
                     const cJSON *list, struct err *err)
{
    const cJSON *item;

    exec->args = xcalloc((size_t)cJSON_GetArraySize(list), sizeof *exec->args);
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsString(item))
            return entry_fail(user, item, err, "exec.args holds what is no text; use quotes");
        exec->args[exec->n_args++] = xstrdup(item->valuestring);
    }
    return 0;
}

static int exec_env(struct exec_config *exec, const struct kubeconfig_entry *user,
                    const cJSON *list, struct err *err)
{
    const cJSON *item;

    exec->env = xcalloc((size_t)cJSON_GetArraySize(list), sizeof *exec->env);
    cJSON_ArrayForEach(item, list)
    {
        const char *name, *value;

        if (entry_text(user, item, "name", &name, err) ||
            entry_text(user, item, "value", &value, err))
            return -1;
        if (!name || strchr(name, '='))
            return entry_fail(user, item, err, "an entry of exec.env has no name");
        exec->env[exec->n_env++] = xasprintf("%s=%s", name, value ? value : "");
    }
    return 0;
}

/* For KUBERNETES_EXEC_INFO; config comes from the cluster's extensions, the CA when it is read. */
static int cluster_info(char **out, const struct kube_access *a,
                        const struct kubeconfig_entry *cluster, struct err *err)
{
    AUTO(auto_json) cJSON *info = cJSON_CreateObject();
    struct buf text;
    const cJSON *extensions, *item;

    cJSON_AddStringToObject(info, "server", a->server);
    if (a->tls_server_name)
        cJSON_AddStringToObject(info, "tls-server-name", a->tls_server_name);
    if (a->insecure)
        cJSON_AddTrueToObject(info, "insecure-skip-tls-verify");
    if (a->proxy_url)
        cJSON_AddStringToObject(info, "proxy-url", a->proxy_url);
    if (entry_list(cluster, cluster->body, "extensions", &extensions, err))
        return -1;
    cJSON_ArrayForEach(item, extensions)
    {
        const char *name = cJSON_GetStringValue(kubeconfig_user_get(item, "name"));

        if (name && strcmp(name, "client.authentication.k8s.io/exec") == 0 &&
            kubeconfig_user_get(item, "extension"))
            cJSON_AddItemToObject(info, "config",
                                  cJSON_Duplicate(kubeconfig_user_get(item, "extension"), true));
    }
    buf_init(&text, 0);
    json_print(info, 0, &text);
    *out = text.data;
    return 0;
}

/* An operator has no terminal, so that a plugin which insists on one cannot work. */
static int check_mode(const struct exec_config *exec, const struct kubeconfig_entry *user,
                      const cJSON *node, const char *mode, struct err *err)
{
    static const char *const modes[] = {"Never", "IfAvailable", "Always"};
    size_t i = 0;

    if (!mode && strcmp(exec->api_version, exec_versions[0]) == 0)
        return entry_fail(user, node, err,
                          "exec.interactiveMode is missing; %s needs Never or IfAvailable",
                          exec->api_version);
    while (mode && i < ARRAY_LEN(modes) && strcmp(mode, modes[i]) != 0)
        i++;
    if (i == ARRAY_LEN(modes))
        return entry_fail(user, node, err,
                          "exec.interactiveMode is \"%.60s\"; Never or IfAvailable is allowed",
                          mode);
    if (i == 2)
        return entry_fail(user, node, err,
                          "exec.interactiveMode is Always, but there is no terminal; Never or "
                          "IfAvailable is allowed");
    return 0;
}

static int read_exec(struct kube_access *a, const struct kubeconfig_entry *user,
                     const struct kubeconfig_entry *cluster, const cJSON *node, struct err *err)
{
    const char *command, *version, *hint, *mode;
    const cJSON *args, *env;
    bool want_cluster;

    if (!cJSON_IsObject(node))
        return entry_fail(user, node, err, "exec is no mapping");
    if (entry_text(user, node, "command", &command, err) ||
        entry_text(user, node, "apiVersion", &version, err) ||
        entry_text(user, node, "installHint", &hint, err) ||
        entry_text(user, node, "interactiveMode", &mode, err) ||
        entry_bool(user, node, "provideClusterInfo", &want_cluster, err) ||
        entry_list(user, node, "args", &args, err) || entry_list(user, node, "env", &env, err))
        return -1;
    if (!command)
        return entry_fail(user, node, err, "exec.command is missing");
    if (!version ||
        (strcmp(version, exec_versions[0]) != 0 && strcmp(version, exec_versions[1]) != 0))
        return entry_fail(user, node, err,
                          "exec.apiVersion is \"%.100s\"; %s or v1beta1 is allowed",
                          version ? version : "", exec_versions[0]);
    /* As Go does: a bare name is looked up in PATH, a relative path begins at the file. */
    a->exec.command = strchr(command, '/') ? entry_path(user, command) : xstrdup(command);
    a->exec.api_version = xstrdup(version);
    a->exec.install_hint = hint ? xstrdup(hint) : NULL;
    if (check_mode(&a->exec, user, node, mode, err) || exec_args(&a->exec, user, args, err) ||
        exec_env(&a->exec, user, env, err))
        return -1;
    return want_cluster ? cluster_info(&a->exec.cluster, a, cluster, err) : 0;
}

static int refuse_unsupported(const struct kubeconfig_entry *user, struct err *err)
{
    static const struct {
        const char *field, *advice;
    } unsupported[] = {
        {"auth-provider", "was removed from Kubernetes; use exec"},
        {"as", "is not supported: give the operator credentials of its own"},
        {"as-uid", "is not supported: give the operator credentials of its own"},
        {"as-groups", "is not supported: give the operator credentials of its own"},
        {"as-user-extra", "is not supported: give the operator credentials of its own"},
    };

    for (size_t i = 0; i < ARRAY_LEN(unsupported); i++) {
        const cJSON *node = kubeconfig_user_get(user->body, unsupported[i].field);

        if (node)
            return entry_fail(user, node, err, "%s %s", unsupported[i].field,
                              unsupported[i].advice);
    }
    return 0;
}

/* One way to say who we are, a client certificate apart. */
static int check_ways(const struct kube_access *a, const struct kubeconfig_entry *user,
                      struct err *err)
{
    bool token = a->token.file || a->token.text;

    if (token + (a->username != NULL) + (a->exec.command != NULL) > 1)
        return entry_fail(user, user->body, err,
                          "found more than one of token, username and exec; one is allowed");
    if (a->password && !a->username)
        return entry_fail(user, user->body, err, "password stands without username");
    if (a->username && strchr(a->username, ':'))
        return entry_fail(user, user->body, err, "username holds a colon");
    if (!(a->cert.file || a->cert.text) != !(a->key.file || a->key.text))
        return entry_fail(user, user->body, err,
                          "client-certificate and client-key are given together or not at all");
    return 0;
}

int kubeconfig_user(struct kube_access *a, const struct kubeconfig_entry *user,
                    const struct kubeconfig_entry *cluster, struct err *err)
{
    const char *token, *token_file, *username, *password;
    const cJSON *exec = kubeconfig_user_get(user->body, "exec");

    if (refuse_unsupported(user, err) || entry_text(user, user->body, "token", &token, err) ||
        entry_text(user, user->body, "tokenFile", &token_file, err) ||
        entry_text(user, user->body, "username", &username, err) ||
        entry_text(user, user->body, "password", &password, err) ||
        entry_material(user, "client-certificate", &a->cert, err) ||
        entry_material(user, "client-key", &a->key, err) ||
        (exec && read_exec(a, user, cluster, exec, err)))
        return -1;
    if (token || token_file) { /* the file wins: it is what rotates */
        a->token.where = xasprintf("%s of user \"%s\" in %s", token_file ? "tokenFile" : "token",
                                   user->name, user->file->path);
        a->token.file = token_file ? entry_path(user, token_file) : NULL;
        a->token.text = token_file ? NULL : xstrdup(token);
    }
    a->username = username ? xstrdup(username) : NULL;
    a->password = password ? xstrdup(password) : NULL;
    return check_ways(a, user, err);
}
