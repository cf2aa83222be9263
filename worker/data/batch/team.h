/* A few threads that make the samples of a batch together; the computing threads are others. */
#ifndef PACELINE_TEAM_H
#define PACELINE_TEAM_H

struct team;
typedef void team_fn(void *arg, int thread);

/* At most n threads, the caller included; fewer where the system refuses some. */
struct team *team_new(int n);
void team_free(struct team *t); /* NULL is fine */
int team_threads(const struct team *t);

/* Calls fn once on each thread, thread 0 being the caller, and returns when all are done. One
 * caller at a time. */
void team_run(struct team *t, team_fn *fn, void *arg);

#endif
