#include "operator/objects/builtin.h"

#include "operator/objects/tree.h"
#include "operator/objects/volumes.h"
#include "operator/objects/wiring.h"
#include "paceline/mem.h"

#define KEY_FOLDER "/etc/paceline-key" /* not below the ConfigMap's, which is read-only */
#define KEY_VOLUME "paceline-key"

/* Only where the template bounds this resource in no way: the API takes an absent request from the
 * limit, and refuses one above it. */
static void default_request(cJSON *container, const char *resource, const char *quantity)
{
    cJSON *resources = tree_object(container, "resources");

    if (!tree_get(tree_get(resources, "limits"), resource))
        tree_default_text(tree_object(resources, "requests"), resource, quantity);
}

static void add_shared_memory(cJSON *spec, cJSON *container)
{
    cJSON *empty;

    if (!volumes_mount(container, "paceline-shm", "/dev/shm", false))
        return;
    empty = tree_object(volumes_get(spec, "paceline-shm"), "emptyDir");
    cJSON_AddStringToObject(empty, "medium", "Memory");
    cJSON_AddStringToObject(empty, "sizeLimit", "64Mi"); /* what container runtimes give */
}

static void add_key(const struct tj *tj, cJSON *spec, cJSON *container)
{
    char name[NAME_SIZE];

    if (!volumes_mount(container, KEY_VOLUME, KEY_FOLDER, true))
        return;
    owned_name(name, tj, OWNED_SECRET, 0);
    tree_set_text(tree_object(volumes_get(spec, KEY_VOLUME), "secret"), "secretName", name);
}

void builtin_apply(const struct objects_config *config, const struct tj *tj, cJSON *spec)
{
    static const char *const args[] = {"--job", CONFIG_FOLDER "/" KEY_SPEC};
    cJSON *containers = tree_list(spec, "containers"), *trainer;

    if (!containers->child)
        cJSON_AddItemToArray(containers, cJSON_CreateObject());
    trainer = containers->child;
    tree_default_text(trainer, "name", "trainer");
    tree_default_text(trainer, "image", config->worker_image);
    tree_default(trainer, "args", cJSON_CreateStringArray(args, ARRAY_LEN(args)));
    default_request(trainer, "cpu", "1");
    default_request(trainer, "memory", "512Mi");
    add_key(tj, spec, trainer);
    volumes_mount_empty(spec, trainer, "paceline-tmp", "/tmp");
    add_shared_memory(spec, trainer);
}
