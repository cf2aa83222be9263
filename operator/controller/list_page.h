/*
 * How many objects a page of a list asks for. The size follows from the objects before, but a page
 * has at most twice as many as the last one. What did not arrive in time is asked for in smaller
 * pages until the list is complete, however small the objects before it are.
 */
#ifndef PACELINE_OPERATOR_CONTROLLER_LIST_PAGE_H
#define PACELINE_OPERATOR_CONTROLLER_LIST_PAGE_H

#include <stdbool.h>
#include <stdint.h>

/* All zero: no list yet. */
struct list_page {
    int size;
    int ceiling; /* of this list; 0: none */
    bool later;  /* a page of this list has arrived */
};

/* A list begins, perhaps again after list_page_failed. */
void list_page_begin(struct list_page *p);
/* Objects to ask for, at most `most`. */
int list_page_limit(const struct list_page *p, int most);
/* A page of n objects arrived. */
void list_page_arrived(struct list_page *p, int most, int n, uint64_t bytes);
/* A page broke off after so many bytes, perhaps because it took too long. */
void list_page_failed(struct list_page *p, int most, uint64_t bytes);
/* The list is complete. */
void list_page_complete(struct list_page *p);

#endif
