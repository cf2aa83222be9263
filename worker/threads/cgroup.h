/* The control groups that this process is in, versions 1 and 2. */
#ifndef PACELINE_CGROUP_H
#define PACELINE_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

#define CGROUP_PATH_MAX 4096
#define CGROUP_TEXT_MAX ((size_t)64 * 1024) /* of a file that is read */

/* Pure. The path of the group with this controller ("": version 2) in the text of
 * /proc/self/cgroup; false: there is none, or it is longer than CGROUP_PATH_MAX. */
bool cgroup_find(const char *text, const char *controller, char path[CGROUP_PATH_MAX]);

/* The folder of that group below root/sys/fs/cgroup (root "": the system's own), for the caller to
 * free; NULL: none. *top: bytes of the folder where the controller is mounted, in which it is. It
 * need not be there: inside a container the path may be one that only the host has. */
char *cgroup_folder(const char *root, const char *controller, size_t *top);
/* Turns it into that of the group above; false: there is none. */
bool cgroup_up(char *folder, size_t top);

#endif
