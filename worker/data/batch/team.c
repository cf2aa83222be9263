#include "worker/data/batch/team.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

#include "paceline/mem.h"

struct team_member {
    struct team *team;
    int number;
    pthread_t thread;
};

struct team {
    int n; /* threads, the caller included */
    struct team_member *members;
    team_fn *fn;
    void *arg;
    unsigned round; /* of runs; a member runs once in each */
    int busy;
    bool stopping;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

static void *team_member_main(void *arg)
{
    const struct team_member *m = arg;
    struct team *t = m->team;
    unsigned done = 0;

    pthread_mutex_lock(&t->lock);
    while (!t->stopping) {
        if (t->round == done) {
            pthread_cond_wait(&t->changed, &t->lock);
            continue;
        }
        done = t->round;
        pthread_mutex_unlock(&t->lock);
        t->fn(t->arg, m->number);
        pthread_mutex_lock(&t->lock);
        if (--t->busy == 0)
            pthread_cond_broadcast(&t->changed);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

struct team *team_new(int n)
{
    struct team *t = xcalloc(1, sizeof *t);
    sigset_t all, before;

    t->n = 1;
    t->members = xcalloc((size_t)n, sizeof *t->members);
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->changed, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the caller's */
    while (t->n < n) {
        struct team_member *m = &t->members[t->n];

        *m = (struct team_member){.team = t, .number = t->n};
        if (pthread_create(&m->thread, NULL, team_member_main, m))
            break;
        t->n++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return t;
}

void team_free(struct team *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    t->stopping = true;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
    for (int i = 1; i < t->n; i++)
        pthread_join(t->members[i].thread, NULL);
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->lock);
    free(t->members);
    free(t);
}

int team_threads(const struct team *t) { return t->n; }

void team_run(struct team *t, team_fn *fn, void *arg)
{
    pthread_mutex_lock(&t->lock);
    t->fn = fn;
    t->arg = arg;
    t->busy = t->n - 1;
    t->round++;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
    fn(arg, 0);
    pthread_mutex_lock(&t->lock);
    while (t->busy)
        pthread_cond_wait(&t->changed, &t->lock);
    pthread_mutex_unlock(&t->lock);
}
