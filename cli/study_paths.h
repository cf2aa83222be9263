/* Paths in the file of a study. */
#ifndef PACELINE_CLI_STUDY_PATHS_H
#define PACELINE_CLI_STUDY_PATHS_H

#include "cli/study_file.h"

/* Relative paths of its jobs become absolute: they count from the folder of the study's file, of a
 * built-in one (file NULL) from the working directory. */
void study_place(struct study *s, const char *file);

#endif
