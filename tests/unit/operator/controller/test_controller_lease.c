// LINK: operator/controller operator/core operator/reconcile operator/objects operator/api
// LINK: operator/web/snapshot.c common
// LIBS: -lcrypto
/* The Lease: who leads, request by request. */
#include "tests/unit/controller_fake.h"

/* We ask for the Lease, and do not know whether we have it. */
static void take_unanswered(void)
{
    begin(true);
    answer(open_call(KUBE_GET, "/leases/lead"), 200, LEASE("", "1"));
    pass(0);
    answer(open_call(KUBE_PUT, "/leases/lead"), 0, "");
}

static void test_lease_is_made_when_there_is_none(void)
{
    begin(true);
    answer(open_call(KUBE_GET, "/leases/lead"), 404, STATUS(404, "NotFound"));
    pass(0);
    CHECK(open_call(KUBE_POST, "/namespaces/ops/leases") != NULL);
    CHECK(!controller_leads(c));
    answer(open_call(KUBE_POST, "/leases"), 201, LEASE("me", "1"));
    pass(0);
    CHECK(controller_leads(c));
    end();
}

static void test_lease_of_another_is_waited_for(void)
{
    begin(true);
    for (int i = 0; i < 7; i++) { /* 14 s without a change: not yet */
        answer(open_call(KUBE_GET, "/leases/lead"), 200, LEASE("other", "5"));
        pass(2000);
        CHECK(!open_call(KUBE_PUT, "/leases/lead"));
    }
    answer(open_call(KUBE_GET, "/leases/lead"), 200, LEASE("other", "6")); /* it lives */
    pass(2000);
    for (int i = 0; i < 6; i++) {
        answer(open_call(KUBE_GET, "/leases/lead"), 200, LEASE("other", "6"));
        pass(2000);
        CHECK(!open_call(KUBE_PUT, "/leases/lead"));
    }
    pass(2000);
    answer(open_call(KUBE_GET, "/leases/lead"), 200, LEASE("other", "6"));
    pass(0);
    CHECK(open_call(KUBE_PUT, "/leases/lead") != NULL); /* at once, 16 s after the last change */
    answer(open_call(KUBE_PUT, "/leases/lead"), 409, STATUS(409, "Conflict"));
    pass(2000);
    CHECK(!controller_leads(c));
    CHECK(open_call(KUBE_GET, "/leases/lead") != NULL);
    end();
}

static void test_leader_that_cannot_renew_stops_writing(void)
{
    begin(true);
    lead();
    sync_lists(
        "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[" JOB("a", "u1", "3", "") "]}",
        EMPTY_LIST);
    CHECK(open_call(KUBE_POST, "/pods?dryRun=All") != NULL);
    CHECK_INT(open_call(KUBE_POST, "/pods?dryRun=All")->timeout_ms, 10000);
    for (int i = 0; i < 4; i++) {
        pass(2000);
        answer(open_call(KUBE_PUT, "/leases/lead"), 500, "{}");
    }
    answer(open_call(KUBE_POST, "/pods?dryRun=All"), 201, "{}"); /* at 8 s: still the leader */
    pass(0);
    /* A write that begins now must be over before 15 s after the last renewal, less the margin. */
    CHECK(open_call(KUBE_PATCH, "/trainingjobs/a/status") != NULL);
    CHECK_INT(open_call(KUBE_PATCH, "/trainingjobs/a/status")->timeout_ms, 6500);
    pass(2000);
    CHECK(!controller_leads(c));
    answer(open_call(KUBE_PATCH, "/trainingjobs/a/status"), 0, "");
    pass(3000);
    CHECK(!open_call(KUBE_PATCH, "/trainingjobs/a/status"));
    end();
}

static void test_answer_that_was_lost_is_read_back(void)
{
    take_unanswered();
    pass(2000);
    CHECK(!controller_leads(c));
    answer(open_call(KUBE_PUT, "/leases/lead"), 409, STATUS(409, "Conflict"));
    pass(2000);
    answer(open_call(KUBE_GET, "/leases/lead"), 200, LEASE("me", "2"));
    pass(0);
    answer(open_call(KUBE_PUT, "/leases/lead"), 200, LEASE("me", "3"));
    pass(0);
    CHECK(controller_leads(c));
    end();
}

static void test_lease_is_given_back(void)
{
    begin(true);
    lead();
    controller_stop(c, now);
    pass(0);
    CHECK(strstr(open_call(KUBE_PUT, "/leases/lead")->body, "\"holderIdentity\":\"\"") != NULL);
    CHECK(!controller_stopped(c));
    answer(open_call(KUBE_PUT, "/leases/lead"), 200, LEASE("", "3"));
    pass(0);
    CHECK(controller_stopped(c));
    CHECK(!controller_leads(c));
    end();
}

/* 40 pods are wanted, 8 requests go out at once: the other 32 are left to whoever leads next. */
static void test_lease_is_given_back_after_writes_and_sends_no_more(void)
{
    begin(true);
    lead();
    make_owned();
    CHECK_INT(count_open(KUBE_POST, "/namespaces/ns/pods"), 8);
    controller_stop(c, now);
    for (int left = 8; left > 0; left--) {
        pass(0);
        CHECK_INT(count_open(KUBE_POST, "/namespaces/ns/"), left);
        CHECK(!open_call(KUBE_PUT, "/leases/lead"));
        echo(open_call(KUBE_POST, "/namespaces/ns/pods"));
    }
    pass(0);
    CHECK_INT(count_open(KUBE_POST, "/namespaces/ns/"), 0);
    CHECK(open_call(KUBE_PUT, "/leases/lead") != NULL);
    answer(open_call(KUBE_PUT, "/leases/lead"), 200, LEASE("", "3"));
    pass(0);
    CHECK(controller_stopped(c));
    end();
}

/* A rate limit holds requests back that nobody waits for any more. */
static void test_lease_is_given_back_though_the_rate_is_used_up(void)
{
    struct controller_config config = usual;

    config.elect = true;
    config.per_second = 0.01;
    config.burst = 4;
    begin_config(&config);
    lead();
    sync_lists(one_job, EMPTY_LIST);
    answer(open_call(KUBE_POST, "/pods?dryRun=All"), 201, "{}");
    pass(0);
    keep_status();
    for (struct kube_call *call; (call = open_call(KUBE_POST, "/namespaces/ns/")); pass(0))
        echo(call);
    CHECK(dispatcher_next_ms(&c->dispatcher, now.mono_ms) > 1000); /* more waits */
    controller_stop(c, now);
    pass(0);
    CHECK(open_call(KUBE_PUT, "/leases/lead") != NULL);
    end();
}

static void test_lease_that_cannot_be_given_back_is_tried_again(void)
{
    begin(true);
    lead();
    controller_stop(c, now);
    pass(0);
    answer(open_call(KUBE_PUT, "/leases/lead"), 500, "{}");
    pass(0);
    CHECK(!controller_stopped(c));
    CHECK(!open_call(KUBE_PUT, "/leases/lead")); /* not in a circle */
    pass(500);
    answer(open_call(KUBE_PUT, "/leases/lead"), 0, ""); /* done, but the answer was lost */
    pass(500);
    answer(open_call(KUBE_PUT, "/leases/lead"), 409, STATUS(409, "Conflict"));
    pass(0);
    CHECK(!controller_stopped(c));
    answer(open_call(KUBE_GET, "/leases/lead"), 200, LEASE("", "3"));
    pass(0);
    CHECK(controller_stopped(c));
    end();
}

/* An entry of somebody else is no reason to keep it. */
static void test_lease_that_was_changed_is_given_back(void)
{
    begin(true);
    lead();
    controller_stop(c, now);
    pass(0);
    answer(open_call(KUBE_PUT, "/leases/lead"), 409, STATUS(409, "Conflict"));
    pass(0);
    answer(open_call(KUBE_GET, "/leases/lead"), 500, "{}");
    pass(0);
    CHECK(!open_call(KUBE_GET, "/leases/lead"));
    pass(500);
    answer(open_call(KUBE_GET, "/leases/lead"), 200, LEASE("me", "7"));
    pass(0);
    CHECK(strstr(open_call(KUBE_PUT, "/leases/lead")->body, "\"resourceVersion\":\"7\"") != NULL);
    end();
}

/* A renewal that is under way when the end begins does not delay it. */
static void test_lease_is_given_back_at_once_after_a_renewal(void)
{
    begin(true);
    lead();
    pass(2000);
    CHECK(open_call(KUBE_PUT, "/leases/lead") != NULL);
    controller_stop(c, now);
    pass(0);
    answer(open_call(KUBE_PUT, "/leases/lead"), 200, LEASE("me", "3"));
    pass(0);
    CHECK(strstr(open_call(KUBE_PUT, "/leases/lead")->body, "\"holderIdentity\":\"\"") != NULL);
    end();
}

/* The record names us, though we have not led since: the next one would wait for it to run out. */
static void test_lease_whose_renewals_were_lost_is_given_back(void)
{
    begin(true);
    lead();
    pass(10000);
    answer(open_call(KUBE_PUT, "/leases/lead"), 0, ""); /* done, but the answer was lost */
    pass(0);
    CHECK(!controller_leads(c));
    controller_stop(c, now);
    pass(500);
    CHECK(!controller_stopped(c));
    answer(open_call(KUBE_PUT, "/leases/lead"), 409, STATUS(409, "Conflict"));
    pass(0);
    answer(open_call(KUBE_GET, "/leases/lead"), 200, LEASE("me", "3"));
    pass(0);
    CHECK(strstr(open_call(KUBE_PUT, "/leases/lead")->body, "\"holderIdentity\":\"\"") != NULL);
    answer(open_call(KUBE_PUT, "/leases/lead"), 200, LEASE("", "4"));
    pass(0);
    CHECK(controller_stopped(c));
    end();
}

/* Whether we have it is not known: it is read before the end. */
static void test_lease_that_we_may_have_is_given_back(void)
{
    take_unanswered();
    pass(500);
    answer(open_call(KUBE_PUT, "/leases/lead"), 409, STATUS(409, "Conflict"));
    controller_stop(c, now);
    pass(0);
    CHECK(!controller_stopped(c));
    answer(open_call(KUBE_GET, "/leases/lead"), 200, LEASE("me", "2"));
    pass(0);
    CHECK(strstr(open_call(KUBE_PUT, "/leases/lead")->body, "\"holderIdentity\":\"\"") != NULL);
    end();
}

/* The request may be under way still. The record's new version makes it fail when it comes. */
static void test_lease_that_we_may_yet_get_is_given_back(void)
{
    take_unanswered();
    controller_stop(c, now);
    pass(500);
    CHECK(!controller_stopped(c));
    answer(open_call(KUBE_PUT, "/leases/lead"), 429, STATUS(429, "TooManyRequests"));
    pass(500);
    CHECK(!controller_stopped(c));
    CHECK(strstr(open_call(KUBE_PUT, "/leases/lead")->body, "\"holderIdentity\":\"\"") != NULL);
    CHECK(strstr(open_call(KUBE_PUT, "/leases/lead")->body, "\"resourceVersion\":\"1\"") != NULL);
    answer(open_call(KUBE_PUT, "/leases/lead"), 200, LEASE("", "2"));
    pass(0);
    CHECK(controller_stopped(c));
    end();
}

/* Another has taken it, or it was deleted: there is nothing to give back. */
static void test_lease_of_another_is_left_alone_at_the_end(void)
{
    for (int gone = 0; gone < 2; gone++) {
        take_unanswered();
        pass(500);
        answer(open_call(KUBE_PUT, "/leases/lead"), 409, STATUS(409, "Conflict"));
        pass(500);
        answer(open_call(KUBE_GET, "/leases/lead"), gone ? 404 : 200,
               gone ? STATUS(404, "NotFound") : LEASE("other", "2"));
        controller_stop(c, now);
        pass(0);
        CHECK(controller_stopped(c));
        CHECK(!open_call(KUBE_GET, "/leases/lead") && !open_call(KUBE_PUT, "/leases/lead"));
        end();
    }
}

/* One that may not write the Lease ends at once: it cannot have it. */
static void test_lease_that_was_refused_delays_no_end(void)
{
    begin(true);
    answer(open_call(KUBE_GET, "/leases/lead"), 200, LEASE("", "1"));
    pass(0);
    answer(open_call(KUBE_PUT, "/leases/lead"), 403, STATUS(403, "Forbidden"));
    controller_stop(c, now);
    pass(500);
    CHECK(controller_stopped(c));
    CHECK(!open_call(KUBE_PUT, "/leases/lead"));
    end();
}

/* The answer to a renewal was lost: the next one is not delayed until the Lease is lost as well. */
static void test_lease_that_is_read_back_is_renewed_soon(void)
{
    struct controller_config config = usual;

    config.elect = true;
    config.retry_ms = 4000;
    begin_config(&config);
    lead();
    pass(4000);
    pass(4000);
    answer(open_call(KUBE_PUT, "/leases/lead"), 0, ""); /* timed out, and done */
    pass(0);
    answer(open_call(KUBE_PUT, "/leases/lead"), 409, STATUS(409, "Conflict"));
    pass(0);
    answer(open_call(KUBE_GET, "/leases/lead"), 200, LEASE("me", "3"));
    pass(500);
    CHECK(open_call(KUBE_PUT, "/leases/lead") != NULL);
    answer(open_call(KUBE_PUT, "/leases/lead"), 200, LEASE("me", "4"));
    pass(3000);
    CHECK(controller_leads(c));
    end();
}

/* A Lease that is given back is seen within half a second, whatever the time between renewals. */
static void test_follower_reads_often(void)
{
    begin(true);
    answer(open_call(KUBE_GET, "/leases/lead"), 200, LEASE("other", "5"));
    pass(499);
    CHECK(!open_call(KUBE_GET, "/leases/lead"));
    pass(1);
    answer(open_call(KUBE_GET, "/leases/lead"), 200, LEASE("", "6"));
    pass(0);
    answer(open_call(KUBE_PUT, "/leases/lead"), 200, LEASE("me", "7"));
    pass(0);
    CHECK(controller_leads(c));
    pass(1999); /* who leads renews it by the time that was said */
    CHECK(!open_call(KUBE_PUT, "/leases/lead"));
    pass(1);
    CHECK(open_call(KUBE_PUT, "/leases/lead") != NULL);
    end();
}

int main(void)
{
    log_init(LOG_ERROR, "");
    test_lease_is_made_when_there_is_none();
    test_lease_of_another_is_waited_for();
    test_leader_that_cannot_renew_stops_writing();
    test_answer_that_was_lost_is_read_back();
    test_lease_is_given_back();
    test_lease_is_given_back_after_writes_and_sends_no_more();
    test_lease_is_given_back_though_the_rate_is_used_up();
    test_lease_that_cannot_be_given_back_is_tried_again();
    test_lease_that_was_changed_is_given_back();
    test_lease_is_given_back_at_once_after_a_renewal();
    test_lease_whose_renewals_were_lost_is_given_back();
    test_lease_that_we_may_have_is_given_back();
    test_lease_that_we_may_yet_get_is_given_back();
    test_lease_of_another_is_left_alone_at_the_end();
    test_lease_that_was_refused_delays_no_end();
    test_lease_that_is_read_back_is_renewed_soon();
    test_follower_reads_often();
    return test_result();
}
