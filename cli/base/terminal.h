/*
 * Standard output and standard error, safe for terminals: names in files, events and messages of
 * other programs may hold bytes that a terminal obeys.
 */
#ifndef PACELINE_CLI_TERMINAL_H
#define PACELINE_CLI_TERMINAL_H

#include <stdio.h>

/* Call this first in main. If stdout or stderr is a terminal, bytes that are not printable UTF-8,
 * tabs or line ends appear there as \xNN from now on. Files and pipes get every byte as it is. */
void terminal_guard(void);

/* The stream below stdout or stderr, for moving the cursor and for styles; out itself when it is
 * not guarded. Flush each before writing to the other. */
FILE *terminal_raw(FILE *out);

#endif
