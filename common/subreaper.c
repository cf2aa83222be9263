#include "paceline/subreaper.h"

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 1000
#define ROUND_NS 2000000 /* so at most 2 s for processes that are slow to die */

void subreaper_adopt(void) { prctl(PR_SET_CHILD_SUBREAPER, 1); }

/* The parent of a process, from the fields after "(name)" of its stat file; -1: gone. */
static pid_t parent_of(const char *pid, bool *ended)
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
    if (name_end && strlen(name_end) > 4) {
        parent = (int)strtol(name_end + 4, NULL, 10);
        *ended = name_end[2] == 'Z';
    }
    return parent;
}

static bool is_kept(pid_t pid, const pid_t *keep, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (keep[i] == pid)
            return true;
    return false;
}

/* Whether there was any to kill. */
static bool kill_direct(const pid_t *keep, size_t n)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    bool found = false;

    while (proc && (entry = readdir(proc))) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        bool ended;

        if (pid <= 0 || is_kept(pid, keep, n) || parent_of(entry->d_name, &ended) != getpid())
            continue;
        found = true;
        kill(pid, SIGKILL);
        waitpid(pid, NULL, WNOHANG);
    }
    if (proc)
        closedir(proc);
    return found;
}

void subreaper_kill_but(const pid_t *keep, size_t n)
{
    for (int round = 0; round < ROUNDS && kill_direct(keep, n); round++)
        nanosleep(&(struct timespec){.tv_nsec = ROUND_NS}, NULL);
}

void subreaper_kill(void) { subreaper_kill_but(NULL, 0); }

/* Whether a child of it runs; had: it has any. */
static bool any_runs(pid_t parent, bool *had)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    bool runs = false;

    while (proc && (entry = readdir(proc))) {
        bool ended = false;

        if (strtol(entry->d_name, NULL, 10) <= 0 || parent_of(entry->d_name, &ended) != parent)
            continue;
        *had = true;
        runs |= !ended;
    }
    if (proc)
        closedir(proc);
    return runs;
}

bool subreaper_linger(struct lingering *l, pid_t parent, int64_t now_ms)
{
    if (now_ms < l->look_ms)
        return false;
    l->look_ms = now_ms + LINGER_LOOK_MS;
    if (any_runs(parent, &l->had) || !l->had)
        l->since_ms = 0;
    else if (!l->since_ms)
        l->since_ms = now_ms;
    return l->since_ms && now_ms - l->since_ms >= LINGER_MS;
}
