/* paceline crd: the CustomResourceDefinition, as YAML. */
#include "cli/crd/crd.h"

#include <stdio.h>
#include <string.h>

#include "cli/base/options.h"
#include "cli/init/yaml_text.h"
#include "operator/api/status_table.h"
#include "paceline/json.h"
#include "paceline/mem.h"

static const struct command_line command = {
    .before = "usage: paceline crd\n"
              "Prints the CustomResourceDefinition of the TrainingJob, for `kubectl apply -f -`.\n",
    .after = "examples:\n"
             "  paceline crd | kubectl apply -f -\n",
};

/* The table's objects around the spec that the API server has a schema for anyway. */
static bool in_schema(const struct field *f)
{
    return strncmp(f->path, "spec", 4) == 0 || strcmp(f->path, "metadata") == 0 ||
           strcmp(f->path, "metadata.name") == 0;
}

static cJSON *schema_new(void)
{
    struct field fields[SPEC_MAX_FIELDS];
    cJSON *schema, *status, *conditions;
    size_t n = 0;

    for (size_t i = 0; i < n_spec_fields; i++)
        if (in_schema(&spec_fields[i]))
            fields[n++] = spec_fields[i];
    schema = crd_schema_new(fields, n);
    crd_add_rules(schema);
    cJSON_AddStringToObject(schema, "description",
                            "A TrainingJob trains one network: with the built-in engine, or with "
                            "any image.");
    /* kubectl and the API server read and check these themselves. */
    cJSON_ReplaceItemInObject(schema, "required", cJSON_Parse("[\"spec\"]"));
    cJSON_DeleteItemFromObject(crd_schema_at(schema, "metadata"), "required");
    cJSON_DeleteItemFromObject(crd_schema_at(schema, "metadata"), "description");
    cJSON_DeleteItemFromObject(crd_schema_at(schema, "metadata.name"), "description");

    status = crd_schema_new(status_fields, n_status_fields);
    conditions = crd_schema_at(status, "status.conditions");
    cJSON_AddStringToObject(conditions, "x-kubernetes-list-type", "map");
    cJSON_AddItemToObject(conditions, "x-kubernetes-list-map-keys", cJSON_Parse("[\"type\"]"));
    cJSON_AddItemToObject(
        cJSON_GetObjectItem(schema, "properties"), "status",
        cJSON_DetachItemFromObject(cJSON_GetObjectItem(status, "properties"), "status"));
    cJSON_Delete(status);
    return schema;
}

static void add_columns(cJSON *version)
{
    static const struct {
        const char *name, *type, *path, *description;
        bool wide; /* with -o wide only */
    } columns[] = {
        {"State", "string", ".status.state", "The job in one word.", false},
        {"Workers", "integer", ".spec.replicas.worker.replicas", "How many workers are wanted.",
         false},
        {"Epoch", "integer", ".status.progress.epoch", "The current epoch.", false},
        {"Accuracy", "number", ".status.progress.accuracy", "After the last epoch.", false},
        {"Samples/s", "number", ".status.progress.samplesPerSecond", "Over all workers.", false},
        {"Speedup", "number", ".status.progress.speedup", "Against one worker.", false},
        {"Age", "date", ".metadata.creationTimestamp", "Since the job was created.", false},
        {"Why", "string", ".status.message", "Why it is in this state.", true},
    };
    cJSON *list = cJSON_AddArrayToObject(version, "additionalPrinterColumns");

    for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
        cJSON *column = cJSON_CreateObject();

        cJSON_AddStringToObject(column, "name", columns[i].name);
        cJSON_AddStringToObject(column, "type", columns[i].type);
        cJSON_AddStringToObject(column, "jsonPath", columns[i].path);
        cJSON_AddStringToObject(column, "description", columns[i].description);
        if (columns[i].wide)
            cJSON_AddNumberToObject(column, "priority", 1);
        cJSON_AddItemToArray(list, column);
    }
}

static cJSON *version_new(void)
{
    cJSON *version = cJSON_CreateObject(), *schema;

    cJSON_AddStringToObject(version, "name", "v1");
    cJSON_AddBoolToObject(version, "served", true);
    cJSON_AddBoolToObject(version, "storage", true);
    add_columns(version);
    cJSON_AddItemToObject(
        version, "subresources",
        cJSON_Parse("{\"status\": {}, \"scale\": {"
                    "\"specReplicasPath\": \".spec.replicas.worker.replicas\","
                    "\"statusReplicasPath\": \".status.replicaStatuses.worker.active\","
                    "\"labelSelectorPath\": \".status.selector\"}}"));
    schema = cJSON_AddObjectToObject(version, "schema");
    cJSON_AddItemToObject(schema, "openAPIV3Schema", schema_new());
    return version;
}

cJSON *crd_new(void)
{
    cJSON *crd =
        cJSON_Parse("{\"apiVersion\": \"apiextensions.k8s.io/v1\","
                    "\"kind\": \"CustomResourceDefinition\","
                    "\"metadata\": {\"name\": \"trainingjobs.paceline.dev\"},"
                    "\"spec\": {\"group\": \"paceline.dev\", \"scope\": \"Namespaced\","
                    "\"names\": {\"kind\": \"TrainingJob\", \"listKind\": \"TrainingJobList\","
                    "\"plural\": \"trainingjobs\", \"singular\": \"trainingjob\","
                    "\"shortNames\": [\"tj\"], \"categories\": [\"all\", \"ai\"]}}}");
    cJSON *versions = cJSON_AddArrayToObject(cJSON_GetObjectItem(crd, "spec"), "versions");

    cJSON_AddItemToArray(versions, version_new());
    return crd;
}

int cmd_crd(int argc, char **argv)
{
    AUTO(auto_json) cJSON *crd = NULL;
    AUTO(buf_release) struct buf text = {0};
    AUTO(options_release) struct options o;
    int code;

    if (!options_parse(&o, argc, argv, &command, &code))
        return code;
    buf_init(&text, 0);
    crd = crd_new();
    buf_puts(&text, "# Made by `paceline crd` from the table of fields; do not edit.\n");
    yaml_text(crd, &text);
    fputs(text.data, stdout);
    return EXIT_OK;
}
