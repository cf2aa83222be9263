/* Volumes that we add to a pod spec, and where containers see them. */
#ifndef PACELINE_OPERATOR_OBJECTS_VOLUMES_H
#define PACELINE_OPERATOR_OBJECTS_VOLUMES_H

#include <stdbool.h>

#include <cjson/cJSON.h>

/*
 * Mounts the volume at path in the container, unless the container has something there already;
 * says whether it did.
 */
bool volumes_mount(cJSON *container, const char *volume, const char *path, bool read_only);

/* The same for an empty volume, which the pod gets when it has none of this name. */
void volumes_mount_empty(cJSON *spec, cJSON *container, const char *volume, const char *path);

/* The volume of the pod with this name, made when absent: an object with only its name. */
cJSON *volumes_get(cJSON *spec, const char *name);

#endif
