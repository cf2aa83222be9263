/* Force-included in every C file (-include): functions that overflow, truncate or hide errors. */
#ifndef PACELINE_BANNED_H
#define PACELINE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef strcpy
#undef strcat
#undef strncpy
#undef strncat
#undef strtok
#undef sprintf
#undef vsprintf
#pragma GCC poison strcpy strcat strncpy strncat strtok sprintf vsprintf gets atoi atol atof

#endif
