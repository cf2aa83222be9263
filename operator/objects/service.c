/* The headless Service that gives each pod its name, ready or not: processes must find each other
 * before any of them is. */
#include "operator/objects/kinds.h"
#include "operator/objects/owner.h"

static bool has_port(const cJSON *ports, int number)
{
    for (const cJSON *p = ports->child; p; p = p->next)
        if (cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(p, "port")) == number)
            return true;
    return false;
}

/* A Service may name a port once only. */
static void service_add_port(cJSON *ports, const char *name, int number)
{
    cJSON *port;

    if (has_port(ports, number))
        return;
    port = cJSON_CreateObject();
    cJSON_AddStringToObject(port, "name", name);
    cJSON_AddNumberToObject(port, "port", number);
    cJSON_AddItemToArray(ports, port);
}

int service_fill(const struct objects_config *config, const struct tj *tj,
                 const struct cluster_layout *l, cJSON *object, struct err *err)
{
    cJSON *spec = cJSON_AddObjectToObject(object, "spec"), *ports;

    (void)config, (void)err;
    cJSON_AddStringToObject(spec, "clusterIP", "None");
    cJSON_AddTrueToObject(spec, "publishNotReadyAddresses");
    cJSON_AddItemToObject(spec, "selector", owner_selector(tj));
    if (l->launched)
        return 0;
    ports = cJSON_AddArrayToObject(spec, "ports");
    for (size_t r = 0; r < N_CLUSTER_ROLES; r++)
        if (l->replicas[r])
            service_add_port(ports, cluster_role_names[r], l->ports[r]);
    service_add_port(ports, "master", l->master_port);
    return 0;
}
