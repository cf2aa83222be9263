/*
 * Leader election by a Lease. Whether the Lease can be taken is judged by when its record was last
 * seen to change, on our own monotonic clock, never by comparing its times with ours.
 */
#ifndef PACELINE_OPERATOR_CONTROLLER_LEASE_H
#define PACELINE_OPERATOR_CONTROLLER_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "operator/api/meta.h"

struct controller;
struct kube_call;

struct lease {
    struct controller *c;
    struct kube_call *call;
    bool held;    /* we are the holder, as of renewed_mono_ms */
    bool claimed; /* the record names us, or a write of ours that is still under way may make it so
                   */
    bool releasing, released;
    int64_t renewed_mono_ms; /* when the request that last made or kept us the holder was sent */
    int64_t sent_mono_ms;
    int64_t at_mono_ms;           /* the next try */
    bool contested;               /* another process changed it while we held it: read it at once */
    bool answered, missing, read; /* set by callbacks: time the next try; no Lease; record is new */
    bool failed;                  /* set by callbacks: no answer, or an unusable one */
    /* The record as last seen. */
    bool seen, fresh; /* fresh: it changed since the last step */
    char version[RV_SIZE], holder[256], renew_time[48];
    int64_t duration_ms, transitions;
    int64_t changed_mono_ms;
};

void lease_init(struct lease *l, struct controller *c);
void lease_release(struct lease *l);
void lease_step(struct lease *l);
int64_t lease_next_ms(const struct lease *l, int64_t mono_ms);

/* We may write: renewed within the renew deadline. */
bool lease_leads(const struct lease *l);
/*
 * The time-out for a write that begins now: at most wanted_ms, and over before anybody else could
 * take the Lease; 0 or less: do not write.
 */
int64_t lease_write_ms(const struct lease *l, int64_t wanted_ms);
/*
 * Releases the Lease, so that another operator can lead at once. Repeats a failed request. released
 * is set once the record does not name us and no write of ours can make it do so.
 */
void lease_give_back(struct lease *l);

#endif
