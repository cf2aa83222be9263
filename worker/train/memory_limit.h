/* How much memory processes may use. */
#ifndef PACELINE_MEMORY_LIMIT_H
#define PACELINE_MEMORY_LIMIT_H

#include <stdint.h>

/* The smaller of the cgroup's limit and the machine's memory, in bytes. It is shared by all
 * processes of the cgroup or machine. */
uint64_t memory_limit(void);

/* The limit of this process alone: that of its address space. */
uint64_t memory_process_limit(void);

#endif
