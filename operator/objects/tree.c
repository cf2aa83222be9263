#include "operator/objects/tree.h"

#include <string.h>

#include "paceline/json.h"
#include "paceline/mem.h"

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

static int tree_compare_keys(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The keys of an object's members that are not null, in byte order; the caller frees them. */
static const char **sorted_keys(const cJSON *object, size_t *n)
{
    const char **keys = xcalloc((size_t)cJSON_GetArraySize(object), sizeof *keys);

    *n = 0;
    for (const cJSON *c = object->child; c; c = c->next)
        if (!cJSON_IsNull(c))
            keys[(*n)++] = c->string;
    qsort(keys, *n, sizeof *keys, tree_compare_keys);
    return keys;
}

/* Deletes the members that `from` has as well. Looks keys up in a sorted list, because there may be
 * thousands of labels and annotations. */
static void tree_make_room(cJSON *object, const cJSON *from)
{
    AUTO(auto_free) const char **keys = NULL;
    size_t n;

    if (!object->child || !from->child)
        return;
    keys = sorted_keys(from, &n);
    for (cJSON *c = object->child, *next; c; c = next) {
        next = c->next;
        if (bsearch(&c->string, keys, n, sizeof *keys, tree_compare_keys))
            cJSON_Delete(cJSON_DetachItemViaPointer(object, c));
    }
}

void tree_move(cJSON *object, cJSON *from)
{
    if (!from)
        return;
    tree_make_room(object, from);
    for (cJSON *c = from->child, *next; c; c = next) {
        next = c->next;
        if (!cJSON_IsNull(c)) /* an object's children are a list's, with names */
            cJSON_AddItemToArray(object, cJSON_DetachItemViaPointer(from, c));
    }
}

void tree_merge(cJSON *object, const cJSON *from)
{
    AUTO(auto_json) cJSON *copy = from ? cJSON_Duplicate(from, true) : NULL;

    tree_move(object, copy);
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
