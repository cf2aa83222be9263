/* The studies that are built in: the files of examples/studies. */
#ifndef PACELINE_CLI_STUDY_H
#define PACELINE_CLI_STUDY_H

#include <stddef.h>

#include "paceline/buf.h"

/* Made by the Makefile. */
struct study_text {
    const char *name;
    const char *const *lines; /* NULL-terminated, with their ends */
};
extern const struct study_text study_texts[];
extern const size_t n_study_texts;

/* The file of that name, appended to out; false: there is none. */
bool study_builtin(const char *name, struct buf *out);

#endif
