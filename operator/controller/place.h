/*
 * The places for jobs that are whole at once. A large job is kept without its templates and is read
 * again before something is made of it; it then takes several times the bound of a spec, so few may
 * be whole at a time. A plan waits for a place in the order in which jobs came, and a namespace
 * gets at most half of the places while plans of others wait.
 */
#ifndef PACELINE_OPERATOR_CONTROLLER_PLACE_H
#define PACELINE_OPERATOR_CONTROLLER_PLACE_H

#include <stdbool.h>
#include <stdint.h>

struct controller;
struct run;

#define MAX_WHOLE_JOBS 4
#define PLACE_REQUESTS 64 /* made in one place while others wait; the rest is planned again */

/* True: the run holds a place. False: it waits, and is woken when it has one. */
bool place_take(struct run *run);
/* Gives back the run's place or its wait for one, with the whole job; does nothing without them. */
void place_give_back(struct run *run);
/* Whether the run has had its place for long enough, and others wait. */
bool place_is_used_up(const struct run *run);
/* Ends waiting plans whose job wants a look: nothing that happens to a job waits for a place. The
 * job keeps its turn. */
void place_step(struct controller *c);
int64_t place_next_ms(const struct controller *c); /* -1: none waits */

#endif
