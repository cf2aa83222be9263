// LINK: cli/commands/crd.c cli/crd/crd_schema.c cli/crd/crd_rules.c cli/init/yaml_text.c
// LINK: cli/base/cli.c cli/base/options.c
// LINK: operator/api/status_table.c common
/* The CRD: what of each field is in it, CEL written out, YAML that reads back. */
#include <string.h>

#include "cli/crd/crd.h"
#include "cli/init/yaml_text.h"
#include "operator/api/status_table.h"
#include "paceline/json.h"
#include "paceline/mem.h"
#include "paceline/yaml.h"
#include "tests/test.h"

static cJSON *schema_of(const cJSON *crd)
{
    const cJSON *versions = cJSON_GetObjectItem(cJSON_GetObjectItem(crd, "spec"), "versions");

    return cJSON_GetObjectItem(cJSON_GetObjectItem(cJSON_GetArrayItem(versions, 0), "schema"),
                               "openAPIV3Schema");
}

static bool is_user_field(const struct field *f) { return strncmp(f->path, "spec", 4) == 0; }

/* Every field of the table has its sentence, and bounds that the API server's limits need. */
static void check_bounds(const char *path, const cJSON *schema)
{
    const cJSON *type = cJSON_GetObjectItem(schema, "type");
    const char *t = type ? type->valuestring : "";
    bool is_enum = cJSON_GetObjectItem(schema, "enum") != NULL;

    if (strcmp(t, "string") == 0 && !is_enum && !cJSON_GetObjectItem(schema, "maxLength"))
        TEST_FAIL("%s has no maxLength", path);
    if (strcmp(t, "array") == 0 && !cJSON_GetObjectItem(schema, "maxItems"))
        TEST_FAIL("%s has no maxItems", path);
    if (cJSON_GetObjectItem(schema, "additionalProperties") &&
        !cJSON_GetObjectItem(schema, "maxProperties"))
        TEST_FAIL("%s has no maxProperties", path);
    if (strcmp(t, "object") == 0 && !cJSON_GetObjectItem(schema, "properties") &&
        !cJSON_GetObjectItem(schema, "x-kubernetes-preserve-unknown-fields"))
        TEST_FAIL("%s loses what is in it", path);
    test_checked++;
    for (const cJSON *c = schema->child; c; c = c->next) {
        if (strcmp(c->string, "items") == 0)
            check_bounds(path, c);
        for (const cJSON *p = c->child; strcmp(c->string, "properties") == 0 && p; p = p->next)
            if (strcmp(p->string, "metadata") != 0)
                check_bounds(p->string, p);
    }
}

/* A description is the field's first sentence, or all of them. */
static void check_description(const struct field *f, const char *text)
{
    const size_t len = text ? strlen(text) : 0;

    CHECK(len > 1 && text[len - 1] == '.');
    if (len && f->kind == FIELD_ENUM)
        CHECK_STR(text, f->doc);
    else if (len)
        CHECK(strncmp(text, f->doc, len) == 0 && (!f->doc[len] || f->doc[len] == ' ') &&
              !strstr(text, ". "));
}

static void test_fields(const cJSON *crd)
{
    cJSON *schema = schema_of(crd);

    CHECK(schema != NULL);
    for (size_t i = 0; i < n_spec_fields; i++) {
        const struct field *f = &spec_fields[i];
        const cJSON *at = crd_schema_at(schema, f->path), *preset;

        if (!is_user_field(f))
            continue;
        CHECK(at != NULL);
        check_description(f, cJSON_GetStringValue(cJSON_GetObjectItem(at, "description")));
        preset = cJSON_GetObjectItem(at, "default");
        CHECK_INT(preset != NULL, f->default_ != NULL || f->present);
    }
    for (size_t i = 0; i < n_status_fields; i++)
        CHECK(crd_schema_at(schema, status_fields[i].path) != NULL);
    check_bounds("schema", schema);
}

static void test_details(const cJSON *crd)
{
    static const struct {
        const char *path, *wanted; /* as JSON, without the description */
    } cases[] = {
        {"spec.training.epochs", "{\"type\":\"integer\",\"format\":\"int64\",\"minimum\":1,"
                                 "\"maximum\":1000000,\"default\":5}"},
        {"spec.dataset.normalize.std", "{\"type\":\"number\",\"minimum\":0,\"maximum\":1000000,"
                                       "\"exclusiveMinimum\":true}"},
        {"spec.training.clipNorm", "{\"type\":\"number\",\"minimum\":0,\"default\":0}"},
        {"spec.runPolicy.suspend", "{\"type\":\"boolean\",\"default\":false}"},
        {"spec.strategy.type",
         "{\"type\":\"string\",\"enum\":[\"AllReduce\",\"ParameterServer\",\"LocalSGD\","
         "\"ElasticAveraging\",\"ModelParallel\",\"StrategySwitch\"],"
         "\"default\":\"AllReduce\"}"},
        {"spec.dataset.path", "{\"type\":\"string\",\"minLength\":1,\"maxLength\":4096}"},
        {"spec.model.hidden",
         "{\"type\":\"array\",\"minItems\":1,\"maxItems\":8,\"items\":{\"type\":\"integer\","
         "\"format\":\"int64\",\"minimum\":1,\"maximum\":1048576}}"},
        {"status.startTime", "{\"type\":\"string\",\"maxLength\":64,\"format\":\"date-time\"}"},
        {"metadata.name", "{\"type\":\"string\",\"minLength\":1,\"maxLength\":4096,\"pattern\":"
                          "\"^[a-z]([-a-z0-9]{0,48}[a-z0-9])?$\"}"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(auto_json)
        cJSON *at = cJSON_Duplicate(crd_schema_at(schema_of(crd), cases[i].path), 1);
        AUTO(buf_release) struct buf text;

        buf_init(&text, 0);
        CHECK(at != NULL);
        if (!at)
            continue;
        cJSON_DeleteItemFromObject(at, "description");
        json_print(at, 0, &text);
        CHECK_STR(text.data, cases[i].wanted);
    }
}

static void test_cel(void)
{
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"1 > 0", "1 > 0"},
        {"{spec.replicas.worker.replicas}", "self.replicas.worker.replicas"},
        {"{spec.training.epochs} > 1", "self.?training.epochs.orValue(5) > 1"},
        {"{?spec.dataset.path}", "self.?dataset.?path.hasValue()"},
        {"{?spec.training.epochs}", "has(self.training)"},
        {"{?spec.replicas.worker.template}", "has(self.replicas.worker.template)"},
        {"{spec.training.lastBatch}", "self.?training.lastBatch.orValue('keep')"},
        {"{spec.dataset.limit}", "self.?dataset.limit.orValue(0)"},
        {"{spec.training.optimizer.momentum|0.9}",
         "self.?training.?optimizer.?momentum.orValue(0.9)"},
        {"size({spec.model.hidden})", "size(self.model.hidden)"},
        {"has({spec.replicas.worker.template}.spec)", "has(self.replicas.worker.template.spec)"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(buf_release) struct buf out, old;

        buf_init(&out, 0);
        buf_init(&old, 0);
        crd_cel(cases[i].text, "self", &out);
        CHECK_STR(out.data, cases[i].wanted);
        crd_cel(cases[i].text, "oldSelf", &old);
        CHECK_INT(strstr(old.data, "oldSelf.") != NULL, strstr(out.data, "self.") != NULL);
    }
}

static const cJSON *rule_at(const cJSON *schema, const char *path, const char *part)
{
    const cJSON *list = cJSON_GetObjectItem(schema, "x-kubernetes-validations");

    for (const cJSON *r = list ? list->child : NULL; r; r = r->next) {
        const char *at = cJSON_GetStringValue(cJSON_GetObjectItem(r, "fieldPath"));

        if (at && strcmp(at, path) == 0 &&
            strstr(cJSON_GetStringValue(cJSON_GetObjectItem(r, "rule")), part))
            return r;
    }
    return NULL;
}

/* Every rule of the table is asked, or is a warning; what may not change is asked for. */
static void test_rules(const cJSON *crd)
{
    cJSON *spec = crd_schema_at(schema_of(crd), "spec");
    const struct rule *rule;
    const cJSON *r;

    for (size_t i = 0; (rule = spec_rule(i)); i++) {
        if (!rule->warning)
            CHECK(rule_at(spec, rule->paths[0] + 4, "") != NULL);
    }
    for (size_t i = 0; i < n_spec_fields; i++)
        if (spec_fields[i].fixed || spec_fields[i].paused)
            CHECK(rule_at(spec, spec_fields[i].path + 4, "oldSelf") != NULL);
    CHECK(rule_at(spec, ".runPolicy.schedulingPolicy.queue", "oldSelf.?runPolicy.suspend") != NULL);
    CHECK(!rule_at(spec, ".runPolicy.scalePolicy", "oldSelf.?runPolicy.suspend"));
    CHECK(rule_at(spec, ".replicas.ps.replicas", "oldSelf") != NULL);
    r = rule_at(spec, ".training.lanes", "in [0, 1, 2");
    CHECK_CONTAINS(r ? cJSON_GetStringValue(cJSON_GetObjectItem(r, "messageExpression")) : NULL,
                   "'found %d; allowed: a power of two, or 0'.format([self.?training.lanes."
                   "orValue(0)])");
    r = rule_at(crd_schema_at(schema_of(crd), "spec.model.layers[]"), ".rate", "");
    CHECK_STR(r ? cJSON_GetStringValue(cJSON_GetObjectItem(r, "rule")) : NULL,
              "!has(self.rate) || self.type == 'dropout'");
}

static void check_yaml(const cJSON *tree)
{
    AUTO(buf_release) struct buf yaml, want, got;
    AUTO(yaml_release) struct yaml_doc doc;
    struct err err = {0};

    buf_init(&yaml, 0);
    buf_init(&want, 0);
    buf_init(&got, 0);
    yaml_text(tree, &yaml);
    CHECK_INT(yaml_parse(&doc, yaml.data, yaml.len, "yaml", &err), 0);
    CHECK_STR(err.msg, "");
    json_print(tree, 0, &want);
    if (doc.root)
        json_print(doc.root, 0, &got);
    CHECK_STR(got.data, want.data);
}

static void test_yaml(const cJSON *crd)
{
    static const char text[] =
        "{\"a\":\"true\",\"null\":\"No\",\"b\":[[1,[]],{\"c\":{},\"d\":[{\"e\":\"\"}]},\"x "
        "y\",null,"
        "true,-1.5],\"f\":\"a: b # c\",\"g\":\"1\",\"h\":\"- "
        "x\",\"i\":\"\\\"\\n\\\\\",\"j\":{\"k\":{"
        "\"l\":\"m\"},\"n\":\"é\"},\"o\":\"y\",\"p\":\"*a\",\"q\":\"a.b/c-d\"}";
    AUTO(auto_json) cJSON *tree = cJSON_Parse(text);

    CHECK(tree != NULL);
    check_yaml(tree);
    check_yaml(crd);
}

int main(void)
{
    AUTO(auto_json) cJSON *crd = crd_new();

    test_fields(crd);
    test_details(crd);
    test_cel();
    test_rules(crd);
    test_yaml(crd);
    return test_result();
}
