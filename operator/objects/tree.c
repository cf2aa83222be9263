#include "operator/objects/tree.h"

#include <string.h>

cJSON *tree_get(const cJSON *object, const char *key)
{
    cJSON *member = cJSON_GetObjectItemCaseSensitive(object, key);

    return cJSON_IsNull(member) ? NULL : member;
}

const char *tree_text(const cJSON *object, const char *key)
{
    return cJSON_GetStringValue(tree_get(object, key));
}

void tree_set(cJSON *object, const char *key, cJSON *value)
{
    cJSON_DeleteItemFromObjectCaseSensitive(object, key);
    cJSON_AddItemToObject(object, key, value);
}

void tree_set_text(cJSON *object, const char *key, const char *value)
{
    tree_set(object, key, cJSON_CreateString(value));
}

bool tree_default(cJSON *object, const char *key, cJSON *value)
{
    if (tree_get(object, key)) {
        cJSON_Delete(value);
        return false;
    }
    tree_set(object, key, value);
    return true;
}

bool tree_default_text(cJSON *object, const char *key, const char *value)
{
    return tree_default(object, key, cJSON_CreateString(value));
}

cJSON *tree_object(cJSON *parent, const char *key)
{
    if (!tree_get(parent, key))
        tree_set(parent, key, cJSON_CreateObject());
    return tree_get(parent, key);
}

cJSON *tree_list(cJSON *parent, const char *key)
{
    if (!tree_get(parent, key))
        tree_set(parent, key, cJSON_CreateArray());
    return tree_get(parent, key);
}

void tree_merge(cJSON *object, const cJSON *from)
{
    for (const cJSON *c = from ? from->child : NULL; c; c = c->next)
        if (!cJSON_IsNull(c))
            tree_set(object, c->string, cJSON_Duplicate(c, true));
}

cJSON *tree_find(const cJSON *list, const char *key, const char *value)
{
    for (cJSON *c = list ? list->child : NULL; c; c = c->next) {
        const char *text = tree_text(c, key);

        if (text && strcmp(text, value) == 0)
            return c;
    }
    return NULL;
}
