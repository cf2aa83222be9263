/* The version of all programs. Images carry it as their tag, the chart as its appVersion. */
#ifndef PACELINE_VERSION_H
#define PACELINE_VERSION_H

#ifndef PACELINE_VERSION
#define PACELINE_VERSION "0.1.0"
#endif

#endif
