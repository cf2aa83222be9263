/*
 * A kube-apiserver on a store: requests in, answers out, at once and without faults. What it says
 * is compared with a real one by tests/api/test_sim_replay.sh.
 */
#ifndef PACELINE_TESTS_SIM_APISERVER_H
#define PACELINE_TESTS_SIM_APISERVER_H

#include "operator/kube/kube.h"
#include "paceline/buf.h"
#include "tests/sim/store.h"

struct api_answer {
    int status;
    struct buf body;
    int64_t retry_after_ms; /* -1: none */
};
void answer_release(struct api_answer *a);

struct listing { /* a list that is being read in pages */
    struct version **items;
    size_t n;
    int64_t rv;
    bool expired;
};

struct api {
    struct store store;
    struct listing *listings;
    size_t n_listings;
    const char *forbid_pods; /* what a quota says; NULL: pods may be created */
};

void api_init(struct api *api, int64_t rv, uint64_t uids);
void api_release(struct api *api);

/* *answer is empty before; the caller releases it. */
void api_handle(struct api *api, const struct kube_request *request, struct api_answer *answer);
/* The Status body that a real server sends. name NULL: of the whole kind. */
void api_fail(struct api_answer *answer, int code, const char *reason, enum store_kind kind,
              const char *name, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* Forgets history up to now: old watches and continued lists get 410. */
void api_compact(struct api *api);

struct api_watch {
    struct api *api;
    enum store_kind kind;
    char *ns, *selector; /* or NULL */
    bool metadata_only, bookmarks;
    int64_t rv;         /* everything up to it was sent */
    size_t at;          /* in the history */
    int64_t timeout_ms; /* the server ends it */
};
/* NULL: refused, *answer says how. */
struct api_watch *watch_new(struct api *api, const struct kube_request *request,
                            struct api_answer *answer);
void watch_free(struct api_watch *w);
/* Appends the next line, without newline, of changes up to version rv; false: there is none. */
bool watch_next(struct api_watch *w, int64_t rv, struct buf *line);
/* Appends a bookmark. */
void watch_bookmark(struct api_watch *w, struct buf *line);

/* The parts of a path; strings are in the struct. */
struct target {
    enum store_kind kind;
    char ns[256], name[256], sub[32]; /* "" when absent */
    bool watch, bookmarks, dry_run, metadata_only;
    char selector[256], fields[256], more[64];
    int64_t limit, rv, timeout_s, grace_s; /* absent: 0, 0, 0, -1 */
};
/* False: no such path. */
bool target_parse(struct target *t, const struct kube_request *request);
/* "a=b,c=d" against metadata.labels; "" takes all. */
bool selector_matches(const char *selector, const cJSON *json);
/* "involvedObject.uid=u" against an event; "" takes all. */
bool fields_match(const char *fields, const cJSON *json);
/* The object with kind and apiVersion in front, or its metadata only. */
void object_write(struct buf *out, enum store_kind kind, struct version *v, bool metadata_only);

#endif
