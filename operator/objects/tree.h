/* Small edits of JSON trees: members that are made when absent, defaults, tables of strings. */
#ifndef PACELINE_OPERATOR_OBJECTS_TREE_H
#define PACELINE_OPERATOR_OBJECTS_TREE_H

#include <stdbool.h>

#include <cjson/cJSON.h>

/* The member, or NULL where it is absent or null, or object is NULL. */
cJSON *tree_get(const cJSON *object, const char *key);
/* The member's text, or NULL where it is no string. */
const char *tree_text(const cJSON *object, const char *key);

/* The member, made as an empty object (list) when absent or null; it must be no other type. */
cJSON *tree_object(cJSON *parent, const char *key);
cJSON *tree_list(cJSON *parent, const char *key);

/* Gives the member this value, which is taken over; what was there goes. */
void tree_set(cJSON *object, const char *key, cJSON *value);
void tree_set_text(cJSON *object, const char *key, const char *value);
/* The same unless the member is there and not null; says whether it was set. */
bool tree_default(cJSON *object, const char *key, cJSON *value);
bool tree_default_text(cJSON *object, const char *key, const char *value);

/* Copies the members of from (NULL is fine) into object; they win over what is there. */
void tree_merge(cJSON *object, const cJSON *from);
/* The same without copies: they are taken out of from. */
void tree_move(cJSON *object, cJSON *from);

/* The first element whose member key is this text, or NULL. */
cJSON *tree_find(const cJSON *list, const char *key, const char *value);

#endif
