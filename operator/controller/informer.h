/*
 * An informer keeps the cache equal to one resource of the API: it lists in pages, watches from
 * there with bookmarks, resumes where a watch ended, and lists again when the server has forgotten
 * (410). A watch that is silent for too long is cut.
 */
#ifndef PACELINE_OPERATOR_CONTROLLER_INFORMER_H
#define PACELINE_OPERATOR_CONTROLLER_INFORMER_H

#include <stdbool.h>

#include "operator/api/meta.h"
#include "operator/controller/controller.h"
#include "operator/controller/list_page.h"

enum resource {
    RESOURCE_JOBS, /* comes first, so that jobs are known before their pods */
    RESOURCE_PODS,
    RESOURCE_SERVICES,
    RESOURCE_CONFIG_MAPS,
    RESOURCE_NETWORK_POLICIES,
    N_RESOURCES
};

enum informer_state { INFORMER_WAIT, INFORMER_LIST, INFORMER_WATCH };

struct informer {
    struct controller *c;
    enum resource resource;
    enum informer_state state;
    bool synced;              /* listed at least once */
    bool current;             /* listed since informer_refresh */
    bool again;               /* the next start is a list, not a watch */
    bool ended, failed, line; /* set by callbacks, read by the next step */
    int failures;
    bool bad; /* an object of the page could not be read */
    struct list_page page;
    int n_items;           /* objects of the current page so far */
    char version[RV_SIZE]; /* resume from here */
    char *next_page;       /* the continue token, or NULL */
    struct kube_call *call;
    int64_t at_mono_ms;   /* INFORMER_WAIT: when to start; else when it started */
    int64_t line_mono_ms; /* when the watch last sent something */
    int64_t retry_after_ms;
};

void informer_init(struct informer *inf, struct controller *c, enum resource resource);
void informer_release(struct informer *inf);
/* Lists again. `current` is set when that is done. */
void informer_refresh(struct informer *inf);
void informer_step(struct informer *inf);
int64_t informer_next_ms(const struct informer *inf, int64_t mono_ms); /* -1: nothing to wait for */

#endif
