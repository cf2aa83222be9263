/* The folder of data sets that `paceline data fetch` has fetched and jobs name without a path. */
#ifndef PACELINE_DATA_HOME_H
#define PACELINE_DATA_HOME_H

/* The folder of the set: NAME in PACELINE_DATA, else in paceline in XDG_DATA_HOME (by default
 * ~/.local/share). The caller's; NULL when none of these variables, nor HOME, is set. */
char *data_home(const char *name);

#endif
