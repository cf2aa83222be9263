/*
 * Places bound the number of large jobs that are whole in memory. A large job is kept without its
 * templates and is read again before objects are made from it. It then takes several times the
 * limit of a spec, so few jobs may be whole at a time. Plans get places in the order in which their
 * jobs came. A namespace gets at most half of the places while plans of others wait.
 */
#ifndef PACELINE_OPERATOR_CONTROLLER_WHOLE_JOBS_H
#define PACELINE_OPERATOR_CONTROLLER_WHOLE_JOBS_H

#include <stdbool.h>
#include <stdint.h>

struct controller;
struct executor;

#define MAX_WHOLE_JOBS 4
#define PLACE_REQUESTS 64 /* made in one place while others wait; the rest is planned again */

/* Returns true if the executor holds a place. Otherwise it waits, and is woken when it gets one. */
bool whole_jobs_take(struct executor *ex);
/* Gives back the executor's place, or stops waiting for one, and frees the whole job. Does nothing
 * for a run without either. */
void whole_jobs_give_back(struct executor *ex);
/* Whether others wait and the executor has made all the requests that one place allows. */
bool whole_jobs_is_used_up(const struct executor *ex);
/* Ends waiting plans of jobs that are due for a reconcile, so that no change of a job waits for a
 * place. The job keeps its turn. */
void whole_jobs_step(struct controller *c);
int64_t whole_jobs_next_ms(const struct controller *c); /* -1: none waits */

#endif
