/* Processes that are left to us: this process adopts what its children leave behind. */
#ifndef PACELINE_CHILDREN_H
#define PACELINE_CHILDREN_H

#include <stddef.h>
#include <sys/types.h>

/* From now on orphans of our children become our children (Linux: subreaper). */
void children_adopt(void);

/* Kills and reaps every child, then the children that these leave, until there is none. */
void children_kill(void);

/* The same, but these stay, with what they have started. */
void children_kill_but(const pid_t *keep, size_t n);

#endif
