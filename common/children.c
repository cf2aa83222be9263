#include "paceline/children.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 1000
#define ROUND_NS 2000000 /* so at most 2 s for processes that are slow to die */

void children_adopt(void) { prctl(PR_SET_CHILD_SUBREAPER, 1); }

/* The parent of a process, from the field after "(name) state" of its stat file; -1: gone. */
static pid_t parent_of(const char *pid)
{
    char path[300], stat[512];
    const char *name_end;
    FILE *f;
    int parent = -1;
    size_t n;

    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    f = fopen(path, "re");
    if (!f)
        return -1;
    n = fread(stat, 1, sizeof stat - 1, f);
    fclose(f);
    stat[n] = '\0';
    name_end = strrchr(stat, ')');
    if (name_end && strlen(name_end) > 4)
        parent = (int)strtol(name_end + 4, NULL, 10);
    return parent;
}

static void kill_direct(void)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;

    while (proc && (entry = readdir(proc))) {
        long pid = strtol(entry->d_name, NULL, 10);

        if (pid > 0 && parent_of(entry->d_name) == getpid())
            kill((pid_t)pid, SIGKILL);
    }
    if (proc)
        closedir(proc);
}

void children_kill(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        pid_t reaped;

        while ((reaped = waitpid(-1, NULL, WNOHANG)) > 0)
            continue;
        if (reaped < 0 && errno == ECHILD)
            return;
        kill_direct();
        nanosleep(&(struct timespec){.tv_nsec = ROUND_NS}, NULL);
    }
}
