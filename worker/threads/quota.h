/* The CPU quota of the control groups that this process is in, versions 1 and 2. */
#ifndef PACELINE_QUOTA_H
#define PACELINE_QUOTA_H

/* CPUs of the tightest quota, rounded down but at least 1; 0: there is none. root: where /proc and
 * /sys are found; "" is the system's own. */
int quota_cpus(const char *root);

#endif
