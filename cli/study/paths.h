/* Paths in the file of a study. */
#ifndef PACELINE_CLI_STUDY_PATHS_H
#define PACELINE_CLI_STUDY_PATHS_H

#include "cli/study/file.h"

/* Makes the relative paths of its jobs absolute. They count from the folder of the study's file;
 * those of a built-in study (file NULL) from the working directory. */
void study_place(struct study *s, const char *file);

#endif
