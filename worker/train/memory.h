/* How much memory this process may use. */
#ifndef PACELINE_MEMORY_H
#define PACELINE_MEMORY_H

#include <stdint.h>

/* The smallest of the cgroup's limit, the address-space limit and the machine's memory, in bytes.
 * It is shared by all processes of the cgroup or machine. */
uint64_t memory_limit(void);

#endif
