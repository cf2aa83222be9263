/* Processes that are left to us: this process adopts what its children leave behind. */
#ifndef PACELINE_CHILDREN_H
#define PACELINE_CHILDREN_H

/* From now on orphans of our children become our children (Linux: subreaper). */
void children_adopt(void);

/* Kills and reaps every child, then the children that these leave, until there is none. */
void children_kill(void);

#endif
