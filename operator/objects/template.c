#include "operator/objects/template.h"

#include <string.h>

#include "operator/objects/tree.h"
#include "paceline/mem.h"

/* Volumes whose names begin so are ours. */
#define OUR_VOLUMES "paceline-"
/* Each container gets an environment and defaults of ours, so a small template could make a large
 * pod. */
#define CONTAINERS_MAX 128

struct template_place {
    const char *key; /* members divided by dots */
    enum { A_OBJECT, A_LIST, A_LIST_OF_OBJECTS } is;
};

static const struct template_place places[] = {
    {"metadata", A_OBJECT},
    {"metadata.labels", A_OBJECT},
    {"metadata.annotations", A_OBJECT},
    {"metadata.finalizers", A_LIST},
    {"spec", A_OBJECT},
    {"spec.containers", A_LIST_OF_OBJECTS},
    {"spec.initContainers", A_LIST_OF_OBJECTS},
    {"spec.volumes", A_LIST_OF_OBJECTS},
    {"spec.tolerations", A_LIST_OF_OBJECTS},
    {"spec.securityContext", A_OBJECT},
};
static const struct template_place container_places[] = {
    {"env", A_LIST_OF_OBJECTS},
    {"volumeMounts", A_LIST_OF_OBJECTS},
    {"ports", A_LIST_OF_OBJECTS},
    {"resources", A_OBJECT},
    {"resources.requests", A_OBJECT},
    {"resources.limits", A_OBJECT},
    {"securityContext", A_OBJECT},
    {"securityContext.capabilities", A_OBJECT},
    {"securityContext.capabilities.add", A_LIST},
};

/* The member at a dotted key; NULL where there is none. */
static const cJSON *find_at(const cJSON *root, const char *key)
{
    AUTO(auto_free) char *copy = xstrdup(key);
    char *rest = copy, *name;

    while (root && (name = strsep(&rest, ".")))
        root = tree_get(root, name);
    return root;
}

static int check_objects(const cJSON *list, const char *path, const char *key, struct err *err)
{
    int i = 0;

    for (const cJSON *c = list->child; c; c = c->next, i++)
        if (!cJSON_IsObject(c))
            return err_set(err, ERR_INVALID, "%s.%s[%d]: needed: an object", path, key, i);
    return 0;
}

static int check_places(const cJSON *root, const char *path, const struct template_place *place,
                        size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++, place++) {
        const cJSON *found = find_at(root, place->key);
        bool object = place->is == A_OBJECT;

        if (!found)
            continue;
        if (object ? !cJSON_IsObject(found) : !cJSON_IsArray(found))
            return err_set(err, ERR_INVALID, "%s.%s: needed: %s", path, place->key,
                           object ? "an object" : "a list");
        if (place->is == A_LIST_OF_OBJECTS && check_objects(found, path, place->key, err))
            return -1;
    }
    return 0;
}

static int check_containers(const cJSON *spec, const char *key, const char *path, struct err *err)
{
    int i = 0, n = cJSON_GetArraySize(tree_get(spec, key));

    if (n > CONTAINERS_MAX)
        return err_set(err, ERR_INVALID, "%s.spec.%s: found %d containers; allowed: up to %d", path,
                       key, n, CONTAINERS_MAX);
    for (const cJSON *c = cJSON_GetArrayItem(tree_get(spec, key), 0); c; c = c->next, i++) {
        AUTO(auto_free) char *at = xasprintf("%s.spec.%s[%d]", path, key, i);

        if (check_places(c, at, container_places, ARRAY_LEN(container_places), err))
            return -1;
    }
    return 0;
}

/* Fails for volumes that would hide ours. */
static int check_volumes(const cJSON *spec, const char *path, struct err *err)
{
    int i = 0;

    for (const cJSON *v = cJSON_GetArrayItem(tree_get(spec, "volumes"), 0); v; v = v->next, i++) {
        const char *name = tree_text(v, "name");

        if (name && strncmp(name, OUR_VOLUMES, strlen(OUR_VOLUMES)) == 0)
            return err_set(err, ERR_INVALID,
                           "%s.spec.volumes[%d].name: found \"%.63s\"; allowed: names that do not "
                           "begin with \"" OUR_VOLUMES "\"",
                           path, i, name);
    }
    return 0;
}

static int check_template(cJSON *root, const char *path, bool builtin, struct err *err)
{
    cJSON *spec;

    if (!cJSON_IsObject(root))
        return err_set(err, ERR_INVALID, "%s: needed: an object", path);
    if (check_places(root, path, places, ARRAY_LEN(places), err))
        return -1;
    spec = tree_object(root, "spec");
    if (cJSON_GetArraySize(tree_list(spec, "containers")) == 0 && !builtin)
        return err_set(err, ERR_INVALID, "%s.spec.containers: needed: at least one container",
                       path);
    if (check_containers(spec, "containers", path, err) ||
        check_containers(spec, "initContainers", path, err))
        return -1;
    return check_volumes(spec, path, err);
}

int template_parse(cJSON **out, const struct job *job, enum cluster_role role, struct err *err)
{
    const char *text = job->replicas[role].template_;
    AUTO(auto_free)
    char *path = xasprintf("spec.replicas.%s.template", cluster_role_names[role]);
    AUTO(auto_json) cJSON *root = NULL;

    if (!text)
        text = "{}";
    /* Bytes that UTF-8 never has mark places in our own output (pod_maker.c). */
    if (strchr(text, '\xff'))
        return err_set(err, ERR_INVALID, "%s: not UTF-8", path);
    if (json_parse(&root, text, strlen(text), path, err) ||
        check_template(root, path, job_builtin(job), err))
        return -1;
    *out = STEAL(root);
    return 0;
}

const cJSON *template_main_container(const cJSON *template_)
{
    static const char *const names[] = {"tensorflow", "pytorch", "trainer"};
    const cJSON *list = tree_get(tree_get(template_, "spec"), "containers");

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const cJSON *found = tree_find(list, "name", names[i]);

        if (found)
            return found;
    }
    return list ? list->child : NULL;
}

static bool is_named(const cJSON *port, const char *const *names)
{
    const char *name = tree_text(port, "name");

    for (; name && *names; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

int template_port(const cJSON *template_, const char *const *names)
{
    const cJSON *c = tree_get(tree_get(template_, "spec"), "containers");

    for (c = c ? c->child : NULL; c; c = c->next) {
        const cJSON *p = tree_get(c, "ports");

        for (p = p ? p->child : NULL; p; p = p->next) {
            const cJSON *number = tree_get(p, "containerPort");

            if (cJSON_IsNumber(number) && number->valuedouble >= 1 &&
                number->valuedouble <= 65535 && is_named(p, names))
                return (int)number->valuedouble;
        }
    }
    return 0;
}
