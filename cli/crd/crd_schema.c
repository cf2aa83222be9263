/* From the table of fields to an OpenAPI schema that the API server takes for structural. */
#include <string.h>

#include "cli/crd/crd.h"
#include "paceline/mem.h"
#include "paceline/yaml.h"

#define PRESERVE "x-kubernetes-preserve-unknown-fields"
#define MAX_CONTAINERS 64
#define MAX_WORDS 1024
#define MAX_TIME 64
#define MAX_WORD 131071 /* Linux's bound on one argument */

static cJSON *typed(const char *type)
{
    cJSON *schema = cJSON_CreateObject();

    if (type)
        cJSON_AddStringToObject(schema, "type", type);
    return schema;
}

static cJSON *preserved(const char *type)
{
    cJSON *schema = typed(type);

    cJSON_AddBoolToObject(schema, PRESERVE, true);
    return schema;
}

static cJSON *crd_schema_list_of(cJSON *items, size_t min_items, size_t max_items)
{
    cJSON *schema = typed("array");

    if (min_items)
        cJSON_AddNumberToObject(schema, "minItems", (double)min_items);
    cJSON_AddNumberToObject(schema, "maxItems", (double)max_items);
    cJSON_AddItemToObject(schema, "items", items);
    return schema;
}

/* The API server compares a bound beyond int64 with a whole number as the smallest int64. */
static void add_range(cJSON *schema, const struct field *f)
{
    if (f->min > -1e300)
        cJSON_AddNumberToObject(schema, "minimum", f->min);
    if (f->max < 1e300)
        cJSON_AddNumberToObject(schema, "maximum", f->max);
    if (f->above_min)
        cJSON_AddBoolToObject(schema, "exclusiveMinimum", true);
    if (f->below_max)
        cJSON_AddBoolToObject(schema, "exclusiveMaximum", true);
}

static cJSON *number_schema(const struct field *f, bool integer)
{
    cJSON *schema = typed(integer ? "integer" : "number");

    if (integer)
        cJSON_AddStringToObject(schema, "format", "int64");
    add_range(schema, f);
    return schema;
}

static cJSON *string_schema(const struct field *f)
{
    cJSON *schema = typed("string");

    if (f->names && f->kind != FIELD_WORD) {
        cJSON *words = cJSON_AddArrayToObject(schema, "enum");

        for (size_t i = 0; f->names[i]; i++)
            cJSON_AddItemToArray(words, cJSON_CreateString(f->names[i]));
        return schema;
    }
    if (f->kind == FIELD_STRING || f->kind == FIELD_STRINGS) /* the operator's may be empty */
        cJSON_AddNumberToObject(schema, "minLength", 1);
    cJSON_AddNumberToObject(schema, "maxLength", (double)field_max_length(f));
    if (f->pattern)
        cJSON_AddStringToObject(schema, "pattern", f->pattern);
    return schema;
}

static cJSON *time_schema(void)
{
    cJSON *schema = typed("string");

    cJSON_AddNumberToObject(schema, "maxLength", MAX_TIME);
    cJSON_AddStringToObject(schema, "format", "date-time");
    return schema;
}

/*
 * Bytes: an integer or a string. What is beyond the range as a string is refused by a rule, since
 * a schema has bounds for numbers only.
 */
static cJSON *quantity_schema(const struct field *f)
{
    cJSON *schema = typed(NULL), *rules, *rule;
    AUTO(buf_release) struct buf text, allowed;

    buf_init(&text, 0);
    buf_init(&allowed, 0);
    cJSON_AddBoolToObject(schema, "x-kubernetes-int-or-string", true);
    add_range(schema, f);
    cJSON_AddNumberToObject(schema, "maxLength", 24);
    cJSON_AddStringToObject(schema, "pattern", "^[0-9]+(Ki|Mi|Gi)$");
    buf_printf(&text,
               "type(self) == int || (quantity(self).compareTo(quantity('%.0f')) >= 0 && "
               "quantity(self).compareTo(quantity('%.0f')) <= 0)",
               f->min, f->max);
    buf_puts(&allowed, "allowed: ");
    field_allowed(f, &allowed);
    rules = cJSON_AddArrayToObject(schema, "x-kubernetes-validations");
    rule = cJSON_CreateObject();
    cJSON_AddStringToObject(rule, "rule", text.data);
    cJSON_AddStringToObject(rule, "message", allowed.data);
    cJSON_AddItemToArray(rules, rule);
    return schema;
}

/*
 * n or [height, width]: no structural type has both, so the value is kept as it is and the bounds
 * of each kind of value leave only these two (true and false pass; the operator refuses them).
 */
static cJSON *pair_schema(const struct field *f)
{
    cJSON *schema = preserved(NULL);

    add_range(schema, f);
    cJSON_AddNumberToObject(schema, "multipleOf", 1);
    cJSON_AddNumberToObject(schema, "minItems", 2);
    cJSON_AddNumberToObject(schema, "maxItems", 2);
    cJSON_AddItemToObject(schema, "items", number_schema(f, true));
    cJSON_AddNumberToObject(schema, "minLength", 1);
    cJSON_AddNumberToObject(schema, "maxLength", 0);
    cJSON_AddNumberToObject(schema, "minProperties", 1);
    cJSON_AddNumberToObject(schema, "maxProperties", 0);
    return schema;
}

/* Adds untyped properties: names without what is below them. They have no descriptions: those of
 * four templates would be a tenth of the CRD, and say what Kubernetes says of pods. */
static void add_names(cJSON *schema, const char *names)
{
    AUTO(auto_free) char *copy = xstrdup(names);
    cJSON *properties = cJSON_AddObjectToObject(schema, "properties");
    char *rest = copy, *name;

    while ((name = strsep(&rest, " ")))
        cJSON_AddItemToObject(properties, name, preserved(NULL));
}

/* One member of several, kept as it is. */
static cJSON *one_of_schema(const char *const *names)
{
    cJSON *schema = typed("object"), *properties = cJSON_AddObjectToObject(schema, "properties");

    for (size_t i = 0; names[i]; i++)
        cJSON_AddItemToObject(properties, names[i], preserved(NULL));
    cJSON_AddNumberToObject(schema, "minProperties", 1);
    cJSON_AddNumberToObject(schema, "maxProperties", 1);
    return schema;
}

static cJSON *word_schema(void)
{
    cJSON *schema = typed("string");

    cJSON_AddNumberToObject(schema, "maxLength", MAX_WORD);
    return schema;
}

/* Containers or init containers: the fields that rules ask for, and the names of the others. */
static cJSON *containers_schema(void)
{
    cJSON *container = preserved("object"), *known, *command;

    add_names(container, "args env envFrom imagePullPolicy lifecycle livenessProbe ports "
                         "readinessProbe resizePolicy resources restartPolicy restartPolicyRules "
                         "securityContext startupProbe stdin stdinOnce terminationMessagePath "
                         "terminationMessagePolicy tty volumeDevices volumeMounts workingDir");
    known = cJSON_GetObjectItem(container, "properties");
    command = crd_schema_list_of(word_schema(), 0, MAX_WORDS);
    cJSON_AddItemToObject(known, "command", command);
    cJSON_AddItemToObject(known, "image", word_schema());
    cJSON_AddItemToObject(known, "name", word_schema());
    return crd_schema_list_of(container, 0, MAX_CONTAINERS);
}

/*
 * A pod template is kept whole. Rules count its containers, and ask for names, images and a
 * command; of the rest only names are here, without which the API server takes two objects for
 * equal when one field was exchanged for another. A pod's whole schema would make the CRD larger
 * than plain `kubectl apply` can store.
 */
static void add_template(cJSON *schema)
{
    cJSON *properties = cJSON_AddObjectToObject(schema, "properties"), *known;
    cJSON *metadata = preserved("object"), *spec = preserved("object");

    cJSON_AddStringToObject(metadata, "description", "Labels and annotations of the pods.");
    add_names(metadata, "labels annotations");
    cJSON_AddItemToObject(properties, "metadata", metadata);
    cJSON_AddStringToObject(
        spec, "description",
        "See `kubectl explain pod.spec`; the first of the containers trains, and "
        "spec.mpi needs its command.");
    add_names(spec,
              "activeDeadlineSeconds affinity automountServiceAccountToken dnsConfig dnsPolicy "
              "enableServiceLinks ephemeralContainers hostAliases hostIPC hostNetwork hostPID "
              "hostUsers hostname hostnameOverride imagePullSecrets nodeName "
              "nodeSelector os overhead preemptionPolicy priority priorityClassName "
              "readinessGates resourceClaims resources restartPolicy runtimeClassName "
              "schedulerName schedulingGates schedulingGroup securityContext serviceAccount "
              "serviceAccountName setHostnameAsFQDN shareProcessNamespace subdomain "
              "terminationGracePeriodSeconds tolerations topologySpreadConstraints volumes");
    known = cJSON_GetObjectItem(spec, "properties");
    cJSON_AddItemToObject(known, "containers", containers_schema());
    cJSON_AddItemToObject(known, "initContainers", containers_schema());
    cJSON_AddItemToObject(properties, "spec", spec);
}

static cJSON *opaque_schema(const struct field *f)
{
    cJSON *schema;

    if (f->names)
        return one_of_schema(f->names);
    schema = preserved("object");
    if (f->kind == FIELD_OPAQUES)
        add_names(schema, "from ports"); /* the one list there is holds ingress rules */
    else
        add_template(schema);
    return schema;
}

static cJSON *map_schema(void)
{
    cJSON *schema = typed("object"), *value = typed("string");

    cJSON_AddNumberToObject(value, "maxLength", 4096);
    cJSON_AddItemToObject(schema, "additionalProperties", value);
    cJSON_AddNumberToObject(schema, "maxProperties", 256);
    return schema;
}

static cJSON *field_schema(const struct field *f)
{
    switch (f->kind) {
    case FIELD_STRING:
    case FIELD_ENUM:
    case FIELD_TEXT:
    case FIELD_WORD:
    case FIELD_INDICES:
    case FIELD_COUNTS:
        return string_schema(f);
    case FIELD_TIME:
        return time_schema();
    case FIELD_INT:
    case FIELD_FLOAT:
        return number_schema(f, f->kind == FIELD_INT);
    case FIELD_QUANTITY:
        return quantity_schema(f);
    case FIELD_BOOL:
        return typed("boolean");
    case FIELD_PAIR:
        return pair_schema(f);
    case FIELD_INTS:
    case FIELD_FLOATS:
        return crd_schema_list_of(number_schema(f, f->kind == FIELD_INTS), 1, f->max_items);
    case FIELD_STRINGS:
        return crd_schema_list_of(string_schema(f), 1, f->max_items);
    case FIELD_LAYERS:
        return crd_schema_list_of(typed("object"), 1, f->max_items);
    case FIELD_LIST:
    case FIELD_CONDITIONS:
        return crd_schema_list_of(typed("object"), 0, f->max_items);
    case FIELD_OPAQUE:
        return opaque_schema(f);
    case FIELD_OPAQUES:
        return crd_schema_list_of(opaque_schema(f), 1, f->max_items);
    case FIELD_MAP:
        return map_schema();
    case FIELD_OBJECT:
    case FIELD_IGNORED:
        break;
    }
    return typed("object");
}

cJSON *crd_schema_at(cJSON *schema, const char *path)
{
    AUTO(auto_free) char *copy = xstrdup(path);
    char *rest = copy, *key;

    while (schema && (key = strsep(&rest, "."))) {
        char *brackets = strstr(key, "[]");

        if (brackets)
            *brackets = '\0';
        schema = cJSON_GetObjectItem(cJSON_GetObjectItem(schema, "properties"), key);
        if (brackets)
            schema = cJSON_GetObjectItem(schema, "items");
    }
    return schema;
}

static bool has_choices(const struct field *f)
{
    size_t n;

    field_choices(f, &n);
    return n > 0;
}

/* Only what depends on nothing else: conditional defaults are the operator's. */
static void crd_schema_add_default(cJSON *schema, const struct field *f)
{
    AUTO(yaml_release) struct yaml_doc doc = {0};
    struct err err;

    if (f->present)
        cJSON_AddObjectToObject(schema, "default");
    else if (f->default_ && yaml_parse(&doc, f->default_, strlen(f->default_), f->path, &err) == 0)
        cJSON_AddItemToObject(schema, "default", STEAL(doc.root));
}

/* What the field means; words of an enum are explained one by one, of others the first sentence is
 * enough: `paceline explain` and the reference page have all of it. */
static void add_description(cJSON *schema, const struct field *f)
{
    const char *end = f->kind == FIELD_ENUM ? NULL : strstr(f->doc, ". ");
    AUTO(auto_free)
    char *text =
        xasprintf("%.*s", (int)(end ? (size_t)(end + 1 - f->doc) : strlen(f->doc)), f->doc);

    cJSON_AddStringToObject(schema, "description", text);
}

static void add_field(cJSON *root, const struct field *f)
{
    size_t len = (size_t)(field_key(f) - f->path);
    AUTO(auto_free) char *above = xstrdup(f->path);
    cJSON *parent = root, *properties, *schema = field_schema(f), *required;

    if (len) {
        above[len - 1] = '\0';
        parent = crd_schema_at(root, above);
    }
    add_description(schema, f);
    crd_schema_add_default(schema, f);
    properties = cJSON_GetObjectItem(parent, "properties");
    if (!properties)
        properties = cJSON_AddObjectToObject(parent, "properties");
    cJSON_AddItemToObject(properties, field_key(f), schema);
    if (!f->required || has_choices(f))
        return;
    required = cJSON_GetObjectItem(parent, "required");
    if (!required)
        required = cJSON_AddArrayToObject(parent, "required");
    cJSON_AddItemToArray(required, cJSON_CreateString(field_key(f)));
}

cJSON *crd_schema_new(const struct field *fields, size_t n)
{
    cJSON *root = typed("object");

    for (size_t i = 0; i < n; i++)
        add_field(root, &fields[i]);
    return root;
}
