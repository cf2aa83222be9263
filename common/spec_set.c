/* Overrides: path=value into the tree, as if the file had it. */
#include <limits.h>

#include "common/spec_parse.h"
#include "paceline/mem.h"

static void mark_tree(struct parse *p, const cJSON *node, int line)
{
    yaml_mark(&p->doc, node, line);
    for (const cJSON *c = node->child; c; c = c->next)
        mark_tree(p, c, line);
}

static bool is_top_level(const char *path)
{
    size_t len = strcspn(path, ".[=");

    for (size_t i = 0; i < n_spec_fields; i++)
        if (strlen(spec_fields[i].path) == len && strncmp(spec_fields[i].path, path, len) == 0)
            return true;
    return false;
}

/* The member `key` of object, made when it is absent (and value NULL) or replaced by value. */
static cJSON *put_member(struct parse *p, cJSON *object, const char *key, cJSON *value, int line)
{
    cJSON *there = cJSON_GetObjectItemCaseSensitive(object, key);

    if (!value && there)
        return there;
    value = value ? value : cJSON_CreateObject();
    mark_tree(p, value, line);
    if (there)
        cJSON_ReplaceItemInObjectCaseSensitive(object, key, value);
    else
        cJSON_AddItemToObject(object, key, value);
    return value;
}

/* Follows "[3]" after a key; NULL when there is no such element. */
static cJSON *list_element(cJSON *list, const char *index)
{
    char *end;
    unsigned long i = strtoul(index + 1, &end, 10);

    if (!cJSON_IsArray(list) || end == index + 1 || strcmp(end, "]") != 0 || i > INT_MAX)
        return NULL;
    return cJSON_GetArrayItem(list, (int)i);
}

/* Walks to the object that gets the last key; NULL when something else stands in the way. */
static cJSON *walk_to(struct parse *p, char *path, char **last, int line)
{
    cJSON *at = p->doc.root;
    char *rest = path, *dot;

    for (; (dot = strchr(rest, '.')); rest = dot + 1) {
        char *index;

        *dot = '\0';
        index = strchr(rest, '[');
        if (index)
            *index = '\0';
        at = put_member(p, at, rest, NULL, line);
        if (index) {
            *index = '[';
            at = list_element(at, index);
        }
        if (!cJSON_IsObject(at))
            return NULL;
    }
    *last = rest;
    return at;
}

void spec_apply_set(struct parse *p, size_t i)
{
    const char *set = p->sets[i], *equals = strchr(set, '=');
    int line = -1 - (int)i;
    AUTO(auto_free) char *path = NULL;
    AUTO(yaml_release) struct yaml_doc value = {0};
    cJSON *object;
    char *last;
    struct err err;

    if (!equals || equals == set) {
        spec_report(p, line, "found no path=value; allowed: as in training.epochs=2");
        return;
    }
    if (yaml_parse(&value, equals + 1, strlen(equals + 1), "value", &err)) {
        spec_report(p, line, "%s", err.msg);
        return;
    }
    path = xasprintf("%s%.*s", is_top_level(set) ? "" : "spec.", (int)(equals - set), set);
    object = walk_to(p, path, &last, line);
    if (!object || !*last || strchr(last, '[')) {
        spec_report(p, line, "found no place for it; allowed: a field of an object of the file");
        return;
    }
    put_member(p, object, last, value.root ? STEAL(value.root) : cJSON_CreateNull(), line);
}
