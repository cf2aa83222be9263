// LINK: operator/core/cache.c operator/core/hash_table.c operator/api/meta.c operator/api/field.c
// LINK: operator/api/pod.c operator/api/index_map.c common
/* Orders of answers, events and lists, one by one; test_cache_orders.c draws them at random. */
#include "operator/core/cache.h"

#include "operator/core/hash_table.h"
#include "tests/test.h"
#include "tests/unit/cache_objects.h"

static struct cache *c;

static bool watch_pod(const char *uid, const char *rv)
{
    return cache_put_pod(c, new_pod(uid, "J", rv), CACHE_WATCH);
}

static bool answer_pod(const char *uid, const char *rv)
{
    return cache_put_pod(c, new_pod(uid, "J", rv), CACHE_ANSWER);
}

static const char *pod_version(const char *uid)
{
    const struct pod *pod = cache_pod(c, uid);

    return pod ? pod->meta.resource_version : "(none)";
}

static size_t pods_of(const char *owner)
{
    size_t n;
    const struct pod *const *pods = cache_pods_of(c, owner_of(owner), &n);

    for (size_t i = 0; i < n; i++)
        CHECK(cache_pod(c, pods[i]->meta.uid) == pods[i]);
    return n;
}

/* The calls of gone, "ns/name " for each. */
static char gone_text[256];
static void on_gone(void *arg, const char *namespace_, const char *job)
{
    size_t len = strlen(gone_text);

    CHECK(arg == &c);
    snprintf(gone_text + len, sizeof gone_text - len, "%s/%s ", namespace_, job);
}

static const char *list_end(int kind, const char *rv)
{
    gone_text[0] = '\0';
    cache_relist_end(c, kind, rv, on_gone, &c);
    return gone_text;
}

static void begin(void)
{
    c = cache_new();
    cache_relist_begin(c, CACHE_PODS);
    CHECK_STR(list_end(CACHE_PODS, "100"), "");
}

static void end(void)
{
    cache_free(c);
    CHECK_INT(jobs_alive, 0);
}

static void test_versions(void)
{
    begin();
    CHECK(answer_pod("a", "101"));
    CHECK(!watch_pod("a", "101")); /* seen already */
    CHECK(!answer_pod("a", "101"));
    CHECK(watch_pod("a", "1000")); /* as numbers */
    CHECK(!answer_pod("a", "999"));
    CHECK(!watch_pod("a", "102"));
    CHECK_STR(pod_version("a"), "1000");
    CHECK(answer_pod("a", "1001"));
    CHECK_STR(pod_version("a"), "1001");
    CHECK_STR(pod_version("b"), "(none)");
    CHECK_INT(cache_count(c, CACHE_PODS), 1);
    CHECK_INT(cache_count(c, CACHE_JOBS), 0);
    end();
}

/* A pod created, seen and deleted by the watch before the answer to its creation arrives. */
static void test_late_answers(void)
{
    begin();
    CHECK(watch_pod("a", "101"));
    cache_delete_pod(c, "a", "105");
    CHECK(!answer_pod("a", "101"));
    CHECK(!answer_pod("a", "105")); /* the answer to the deletion itself */
    CHECK_STR(pod_version("a"), "(none)");

    /* Another server answers before this one's watch has come so far. */
    CHECK(answer_pod("b", "110"));
    CHECK(watch_pod("z", "106"));
    CHECK_STR(pod_version("b"), "110");
    CHECK(!watch_pod("b", "108"));
    CHECK(!watch_pod("b", "110"));
    cache_delete_pod(c, "b", "112");
    CHECK(!answer_pod("b", "111"));
    CHECK_STR(pod_version("b"), "(none)");

    /* An answer that overtakes the watch by more than the pod's life: put, and deleted later. */
    CHECK(answer_pod("c", "120"));
    CHECK(answer_pod("d", "121"));
    CHECK_STR(pod_version("c"), "120");
    cache_delete_pod(c, "c", "119"); /* a DELETED event is final, whatever its version */
    CHECK_STR(pod_version("c"), "(none)");
    CHECK(!answer_pod("c", "118"));

    /* The event of a pod that is not here moves the horizon too. */
    cache_delete_pod(c, "nobody", "130");
    CHECK(!answer_pod("e", "130"));
    CHECK(answer_pod("e", "131"));
    watch_pod("z", "107"); /* events that come again do not move it back */
    cache_delete_pod(c, "nobody", "108");
    CHECK(!answer_pod("b", "111"));

    /* 404 for this UID is not an event: the horizon stays. */
    cache_delete_pod(c, "e", "");
    CHECK_STR(pod_version("e"), "(none)");
    CHECK(answer_pod("f", "132"));
    /* The watch may still show it alive, and then deleted. */
    CHECK(watch_pod("e", "131"));
    cache_delete_pod(c, "e", "140");
    CHECK(!answer_pod("e", "133"));
    end();
}

static void test_relist(void)
{
    begin();
    watch_pod("kept", "101");
    watch_pod("gone", "102");
    watch_pod("changed", "103");
    answer_pod("answered", "160");
    answer_pod("between", "110");
    cache_relist_begin(c, CACHE_PODS);
    CHECK(!watch_pod("kept", "101"));
    CHECK(watch_pod("changed", "150")); /* must not move the horizon to 150 */
    CHECK(answer_pod("late page", "120"));
    CHECK(answer_pod("deleted in the list's time", "121"));
    CHECK(answer_pod("new", "170"));
    CHECK(!answer_pod("old", "103")); /* below the horizon of before */
    CHECK(!watch_pod("late page", "120"));
    cache_delete_pod(c, "changed", ""); /* 404 in the meantime */
    CHECK_STR(list_end(CACHE_PODS, "155"), "ns/job-J ns/job-J ns/job-J ");
    CHECK_STR(pod_version("kept"), "101");
    CHECK_STR(pod_version("gone"), "(none)");
    CHECK_STR(pod_version("changed"), "(none)");
    CHECK_STR(pod_version("between"), "(none)");
    CHECK_STR(pod_version("answered"), "160");
    CHECK_STR(pod_version("late page"), "120");
    CHECK_STR(pod_version("deleted in the list's time"), "(none)");
    CHECK_STR(pod_version("new"), "170");
    CHECK_INT(pods_of("J"), 4);
    CHECK(!answer_pod("gone", "155")); /* the horizon is the list's */
    CHECK(answer_pod("next", "156"));
    end();
}

/* A list that broke off counts for nothing. */
static void test_relist_again(void)
{
    begin();
    watch_pod("a", "101");
    watch_pod("b", "102");
    cache_relist_begin(c, CACHE_PODS);
    watch_pod("a", "101");
    watch_pod("new", "110");
    answer_pod("a", "120");
    watch_pod("a", "104"); /* set aside, and dropped with its list */
    cache_relist_begin(c, CACHE_PODS);
    watch_pod("b", "102");
    CHECK_STR(list_end(CACHE_PODS, "119"), "ns/job-J ");
    CHECK_STR(pod_version("a"), "120"); /* an answer above the list */
    CHECK_STR(pod_version("new"), "(none)");
    CHECK_STR(pod_version("b"), "102");
    end();
}

/* etcd was restored from a backup: the list is below what was seen, and true. */
static void test_server_went_back(void)
{
    begin();
    watch_pod("kept", "40");
    watch_pod("changed back", "900");
    watch_pod("gone", "901");
    watch_pod("lost", "902");
    cache_put_pod(c, new_pod("orphan", NULL, "903"), CACHE_WATCH);
    cache_relist_begin(c, CACHE_PODS);
    watch_pod("kept", "40");
    CHECK(!watch_pod("gone", "482"));
    CHECK(!watch_pod("changed back", "480"));
    CHECK(!cache_put_pod(c, new_pod("orphan", "J", "481"), CACHE_WATCH));
    cache_delete_pod(c, "gone", ""); /* 404 after its page */
    /* An answer, and a new owner with it, does not take away that it was listed. */
    CHECK(cache_put_pod(c, new_pod("kept", "J2", "485"), CACHE_ANSWER));
    CHECK(watch_pod("came back", "490"));
    CHECK_STR(list_end(CACHE_PODS, "500"), "ns/job-J ns/job-J ns/job-J ");
    CHECK_STR(pod_version("kept"), "485");
    CHECK_STR(pod_version("changed back"), "480");
    CHECK_STR(pod_version("orphan"), "481");
    CHECK_STR(pod_version("gone"), "(none)");
    CHECK_STR(pod_version("lost"), "(none)");
    CHECK_STR(pod_version("came back"), "490");
    CHECK_INT(pods_of("J"), 3);
    CHECK_INT(pods_of("J2"), 1);
    CHECK(!answer_pod("x", "500"));
    CHECK(answer_pod("x", "501")); /* the horizon went back */
    CHECK(watch_pod("changed back", "502"));

    /* The same version is no step back. */
    cache_relist_begin(c, CACHE_PODS);
    CHECK_CONTAINS(list_end(CACHE_PODS, "502"), "ns/job-J ");
    CHECK_CONTAINS(gone_text, "ns/job-J2 ");
    CHECK_INT(cache_count(c, CACHE_PODS), 0);
    answer_pod("y", "503");
    cache_relist_begin(c, CACHE_PODS);
    CHECK_STR(list_end(CACHE_PODS, "502"), "");
    CHECK_STR(pod_version("y"), "503");
    end();
}

/* Versions that are no numbers: the watch and lists are believed, answers are not. */
static void test_uncomparable(void)
{
    begin();
    watch_pod("a", "101");
    CHECK(!answer_pod("a", "v7"));
    CHECK(!answer_pod("b", "v7"));
    CHECK(watch_pod("a", "v8"));
    CHECK_STR(pod_version("a"), "v8");
    CHECK(!answer_pod("a", "200"));
    CHECK(!answer_pod("b", "200")); /* above which horizon? */
    CHECK(watch_pod("a", "v3"));
    CHECK(watch_pod("a", "3v"));
    CHECK_STR(pod_version("a"), "3v");
    watch_pod("c", "v1");
    watch_pod("d", "900");
    cache_relist_begin(c, CACHE_PODS);
    watch_pod("a", "v8");
    CHECK_STR(list_end(CACHE_PODS, "v9"), "ns/job-J ns/job-J ");
    CHECK_STR(pod_version("a"), "v8");
    CHECK_INT(cache_count(c, CACHE_PODS), 1);

    /* A server that counts again. */
    CHECK(watch_pod("e", "300"));
    CHECK(!answer_pod("f", "300"));
    CHECK(answer_pod("f", "301"));
    watch_pod("odd", "v999999999999");
    watch_pod("e", "302");
    cache_relist_begin(c, CACHE_PODS);
    watch_pod("e", "302");
    CHECK_STR(list_end(CACHE_PODS, "303"), "ns/job-J ns/job-J ns/job-J ");
    CHECK_INT(cache_count(c, CACHE_PODS), 1);

    watch_pod("d", "900");
    watch_pod("e", "v1"); /* now nobody knows how old 900 is */
    cache_relist_begin(c, CACHE_PODS);
    CHECK_STR(list_end(CACHE_PODS, "304"), "ns/job-J ns/job-J ");
    CHECK(answer_pod("g", "305"));

    watch_pod("a", "900");
    cache_relist_begin(c, CACHE_PODS);
    watch_pod("a", "480");
    CHECK_STR(list_end(CACHE_PODS, "v99999"), "ns/job-J ns/job-J ");
    CHECK_STR(pod_version("a"), "480"); /* believed whole */
    watch_pod("a", "900");
    cache_relist_begin(c, CACHE_PODS);
    watch_pod("a", "480");
    cache_relist_begin(c, CACHE_PODS); /* what a list said that broke off is not */
    watch_pod("a", "950");
    CHECK_STR(list_end(CACHE_PODS, "v99999"), "");
    CHECK_STR(pod_version("a"), "950");
    end();

    c = cache_new(); /* before the first list */
    CHECK(answer_pod("a", "7"));
    CHECK(!answer_pod("b", "v7"));
    CHECK(!answer_pod("c", ""));
    cache_relist_begin(c, CACHE_PODS);
    CHECK(answer_pod("d", "2"));
    CHECK_STR(list_end(CACHE_PODS, "5"), "ns/job-J ");
    CHECK_STR(pod_version("a"), "7");
    end();
}

static void test_owners(void)
{
    begin();
    cache_put_pod(c, new_pod("a", "J1", "101"), CACHE_WATCH);
    cache_put_pod(c, new_pod("b", "J1", "102"), CACHE_WATCH);
    cache_put_pod(c, new_pod("c", "J1", "103"), CACHE_WATCH);
    cache_put_pod(c, new_pod("d", NULL, "104"), CACHE_WATCH);
    CHECK_INT(pods_of("J1"), 3);
    CHECK_INT(pods_of("J2"), 0);
    cache_put_pod(c, new_pod("a", "J1", "105"), CACHE_WATCH);
    CHECK_INT(pods_of("J1"), 3);
    cache_put_pod(c, new_pod("a", "J2", "106"), CACHE_WATCH); /* to another owner */
    CHECK_INT(pods_of("J1"), 2);
    CHECK_INT(pods_of("J2"), 1);
    cache_put_pod(c, new_pod("a", NULL, "107"), CACHE_WATCH); /* released */
    CHECK_INT(pods_of("J2"), 0);
    cache_put_pod(c, new_pod("a", NULL, "108"), CACHE_WATCH);
    CHECK_STR(pod_version("a"), "108");
    cache_put_pod(c, new_pod("a", "J1", "109"), CACHE_WATCH); /* adopted */
    CHECK_INT(pods_of("J1"), 3);
    cache_delete_pod(c, "d", "110");
    cache_delete_pod(c, "b", "111");
    cache_delete_pod(c, "c", "112");
    cache_delete_pod(c, "a", "113");
    CHECK_INT(pods_of("J1"), 0);
    CHECK_INT(cache_count(c, CACHE_PODS), 0);

    cache_put_pod(c, new_pod("orphan", NULL, "114"), CACHE_WATCH); /* nobody to tell */
    cache_relist_begin(c, CACHE_PODS);
    CHECK_STR(list_end(CACHE_PODS, "120"), "");
    CHECK_INT(cache_count(c, CACHE_PODS), 0);
    end();
}

static bool put_owned(enum owned_kind kind, const char *uid, const char *owner, const char *rv)
{
    return cache_put_owned(c, new_ref(kind, uid, owner, rv), CACHE_WATCH);
}

static void put_deleting(const char *uid, const char *rv, int64_t deletion_ms)
{
    struct pod *pod = new_pod(uid, "J", rv);

    pod->meta.deletion_ms = deletion_ms;
    CHECK(cache_put_pod(c, pod, CACHE_WATCH));
}

/* How long a deletion has been watched survives new versions of the pod. */
static void test_deletions(void)
{
    begin();
    put_deleting("a", "101", 0);
    put_deleting("b", "102", 5000);
    cache_watch_deletions(c, owner_of("J"), 1000);
    CHECK_INT(cache_pod(c, "b")->deleting_for_ms, 0);
    cache_watch_deletions(c, owner_of("J"), 4000);
    CHECK_INT(cache_pod(c, "a")->deleting_for_ms, 0);
    CHECK_INT(cache_pod(c, "b")->deleting_for_ms, 3000);
    put_deleting("a", "103", 9000);
    put_deleting("b", "104", 5000);
    cache_watch_deletions(c, owner_of("J"), 6000);
    CHECK_INT(cache_pod(c, "a")->deleting_for_ms, 0);
    CHECK_INT(cache_pod(c, "b")->deleting_for_ms, 5000);
    put_deleting("b", "105", 4000); /* with less grace: waited for anew */
    cache_watch_deletions(c, owner_of("J"), 7000);
    CHECK_INT(cache_pod(c, "b")->deleting_for_ms, 0);
    cache_watch_deletions(c, owner_of("nobody"), 7000);
    end();
}

static void put_ended(const char *rv, enum pod_phase phase, int64_t deletion_ms, bool news)
{
    struct pod *pod = new_pod("p", "J", rv);

    pod->phase = phase;
    pod->meta.deletion_ms = deletion_ms;
    CHECK(cache_put_pod(c, pod, CACHE_WATCH) == news);
}

static bool unasked_after(const char *rv, enum pod_phase phase, int64_t deletion_ms)
{
    put_ended(rv, phase, deletion_ms, true);
    return cache_pod(c, "p")->ended_unasked;
}

/* The order of its end and its deletion is kept once it was seen. */
static void test_ends(void)
{
    begin();
    CHECK(!unasked_after("101", POD_RUNNING, 0));
    CHECK(!unasked_after("102", POD_SUCCEEDED, 0));
    CHECK(unasked_after("103", POD_SUCCEEDED, 5000));
    CHECK(unasked_after("104", POD_SUCCEEDED, 4000));
    end();

    begin();
    CHECK(!unasked_after("101", POD_RUNNING, 5000));
    CHECK(!unasked_after("102", POD_FAILED, 5000));
    CHECK(!unasked_after("103", POD_FAILED, 5000));
    end();

    begin();
    CHECK(!unasked_after("101", POD_RUNNING, 0));
    CHECK(!unasked_after("102", POD_FAILED, 5000)); /* both at once: nobody knows */
    CHECK(!unasked_after("103", POD_FAILED, 5000));
    end();

    begin(); /* an answer that overtakes the watch */
    CHECK(!unasked_after("101", POD_RUNNING, 0));
    CHECK(!unasked_after("103", POD_SUCCEEDED, 5000));
    put_ended("102", POD_SUCCEEDED, 0, false);
    CHECK(cache_pod(c, "p")->ended_unasked);
    CHECK_STR(pod_version("p"), "103");
    CHECK(unasked_after("105", POD_SUCCEEDED, 5000));
    put_ended("104", POD_SUCCEEDED, 5000, false); /* overtaken as well, and no proof by itself */
    CHECK(cache_pod(c, "p")->ended_unasked);
    end();
}

static void test_owned(void)
{
    begin();
    CHECK(put_owned(OWNED_SERVICE, "s", "J1", "101"));
    CHECK(put_owned(OWNED_CONFIG_MAP, "c1", "J1", "102"));
    CHECK(put_owned(OWNED_CONFIG_MAP, "c2", "J1", "103"));
    CHECK(!put_owned(OWNED_CONFIG_MAP, "c1", "J2", "90"));
    CHECK(cache_owned(c, OWNED_SERVICE, owner_of("J1"), "name-s") != NULL);
    CHECK(cache_owned(c, OWNED_SERVICE, owner_of("J1"), "name-c1") == NULL);
    CHECK(cache_owned(c, OWNED_SERVICE, owner_of("J3"), "name-s") == NULL);
    CHECK(cache_owned(c, OWNED_CONFIG_MAP, owner_of("J1"), "name-c2") != NULL);
    cache_delete_owned(c, OWNED_CONFIG_MAP, "s", "110"); /* another kind's UID */
    CHECK(cache_owned(c, OWNED_SERVICE, owner_of("J1"), "name-s") != NULL);
    /* Each kind has a horizon of its own. */
    CHECK(!cache_put_owned(c, new_ref(OWNED_CONFIG_MAP, "x", "J1", "110"), CACHE_ANSWER));
    CHECK(cache_put_owned(c, new_ref(OWNED_SERVICE, "x", "J1", "110"), CACHE_ANSWER));
    cache_relist_begin(c, CACHE_OWNED + OWNED_SERVICE);
    CHECK_STR(list_end(CACHE_OWNED + OWNED_SERVICE, "109"), "ns/job-J1 ");
    CHECK(cache_owned_at(c, OWNED_SERVICE, owner_of("J1"), 0) != NULL);
    CHECK(cache_owned_at(c, OWNED_SERVICE, owner_of("J1"), 1) == NULL);
    end();
}

/* Anybody may write the UID of somebody else's job into an object of a namespace of their own. */
static void test_owner_in_another_namespace(void)
{
    struct pod *foreign = new_pod("f", "J", "102");
    struct owned_ref *policy = new_ref(OWNED_NETWORK_POLICY, "n", "J", "103");
    struct meta other = *owner_of("J");
    size_t n;

    begin();
    foreign->meta.namespace_ = policy->meta.namespace_ = "elsewhere";
    CHECK(cache_put_pod(c, new_pod("p", "J", "101"), CACHE_WATCH));
    CHECK(cache_put_pod(c, foreign, CACHE_WATCH));
    CHECK(cache_put_owned(c, policy, CACHE_WATCH));
    CHECK_INT(pods_of("J"), 1);
    CHECK(cache_owned(c, OWNED_NETWORK_POLICY, owner_of("J"), "name-n") == NULL);
    CHECK(cache_owned(c, OWNED_NETWORK_POLICY, owner_in("elsewhere", "J"), "name-n") != NULL);
    cache_pods_of(c, owner_in("elsewhere", "J"), &n);
    CHECK_INT(n, 1);
    /* Nor in the same namespace, under another name. */
    other = *owner_of("J");
    other.name = "job-K";
    cache_pods_of(c, &other, &n);
    CHECK_INT(n, 0);
    cache_delete_pod(c, "f", "104");
    CHECK_INT(pods_of("J"), 1);
    end();
}

static const char *job_uid(const char *name)
{
    const struct tj *tj = cache_job(c, "ns", name);

    return tj ? tj->meta.uid : "(none)";
}

static void test_jobs(void)
{
    begin();
    CHECK(cache_put_job(c, new_job("j", "A", "101"), CACHE_WATCH));
    CHECK(cache_put_job(c, new_job("j", "A", "102"), CACHE_ANSWER));
    CHECK(!cache_put_job(c, new_job("j", "A", "102"), CACHE_WATCH));
    CHECK(cache_job(c, "other", "j") == NULL);
    CHECK(cache_job(c, "nsj", "") == NULL);
    /* Deleted and made again under the name; events and answers of both lives. */
    CHECK(cache_put_job(c, new_job("j", "B", "105"), CACHE_WATCH));
    cache_delete_job(c, "ns", "j", "A", "104");
    CHECK_STR(job_uid("j"), "B");
    CHECK(!cache_put_job(c, new_job("j", "A", "103"), CACHE_ANSWER));
    CHECK_STR(job_uid("j"), "B");
    cache_delete_job(c, "ns", "j", "B", "106");
    CHECK_STR(job_uid("j"), "(none)");
    CHECK(!cache_put_job(c, new_job("j", "B", "105"), CACHE_ANSWER));
    cache_delete_job(c, "ns", "never", "C", "107");
    CHECK(cache_put_job(c, new_job("k", "K", "108"), CACHE_WATCH));
    cache_relist_begin(c, CACHE_JOBS);
    cache_put_job(c, new_job("j", "D", "109"), CACHE_WATCH);
    CHECK_STR(list_end(CACHE_JOBS, "110"), "ns/k ");
    CHECK_STR(job_uid("j"), "D");

    /* A server that went back to the life before. */
    cache_put_job(c, new_job("j", "E", "120"), CACHE_WATCH);
    cache_relist_begin(c, CACHE_JOBS);
    cache_put_job(c, new_job("j", "D", "109"), CACHE_WATCH);
    CHECK_STR(list_end(CACHE_JOBS, "115"), "ns/j ");
    CHECK_STR(job_uid("j"), "D");

    /* Freed with a list under way, one object set aside. */
    cache_put_job(c, new_job("j", "E", "120"), CACHE_WATCH);
    cache_relist_begin(c, CACHE_JOBS);
    cache_put_job(c, new_job("j", "D", "109"), CACHE_WATCH);
    end();
}

static bool put_in(const char *ns, const char *name, const char *uid)
{
    struct tj *tj = new_job(name, uid, "101");

    tj->meta.namespace_ = ns;
    return cache_put_job(c, tj, CACHE_WATCH);
}

/* Texts found by search: equal hashes, and still two objects. */
static void test_collisions(void)
{
    static const char *const ns[] = {"ns-e8343d2", "ns-874c26ef"};
    static const char *const job[] = {"job-cf646e7f", "job-36043780"};
    static const char *const uid[] = {"uid-5c08f99f", "uid-f94c4ecf"};

    CHECK_INT(hash_table_hash(ns[0], 0), hash_table_hash(ns[1], 0));
    CHECK_INT(hash_table_hash(job[0], hash_table_hash("ns", 0)),
              hash_table_hash(job[1], hash_table_hash("ns", 0)));
    CHECK_INT(hash_table_hash(uid[0], 0), hash_table_hash(uid[1], 0));
    begin();
    for (int i = 0; i < 2; i++) {
        CHECK(put_in(ns[i], "j", i ? "B" : "A"));
        CHECK(put_in("ns", job[i], i ? "D" : "C"));
        CHECK(cache_put_pod(c, new_pod(uid[i], uid[i], "101"), CACHE_WATCH)); /* owners too */
    }
    for (int i = 0; i < 2; i++) {
        CHECK_STR(cache_job(c, ns[i], "j")->meta.uid, i ? "B" : "A");
        CHECK_STR(cache_job(c, "ns", job[i])->meta.uid, i ? "D" : "C");
        CHECK_STR(cache_pod(c, uid[i])->meta.uid, uid[i]);
        CHECK_INT(pods_of(uid[i]), 1);
    }
    CHECK_INT(cache_count(c, CACHE_JOBS), 4);
    end();
}

static void count_job(void *arg, const struct tj *tj)
{
    CHECK_STR(tj->meta.namespace_, "ns");
    ++*(int *)arg;
}

static void count_pod(void *arg, const struct pod *pod)
{
    CHECK_STR(pod->meta.namespace_, "ns");
    ++*(int *)arg;
}

static void test_each(void)
{
    int jobs = 0, pods = 0;
    char name[16];

    begin();
    cache_each_job(c, count_job, &jobs);
    cache_each_pod(c, count_pod, &pods);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "%d", i);
        cache_put_job(c, new_job(name, name, "101"), CACHE_ANSWER);
        cache_put_pod(c, new_pod(name, i % 2 ? "J" : NULL, "101"), CACHE_ANSWER);
    }
    cache_each_job(c, count_job, &jobs);
    cache_each_pod(c, count_pod, &pods);
    CHECK_INT(jobs, 100);
    CHECK_INT(pods, 100);
    CHECK_INT(pods_of("J"), 50);
    end();
    cache_free(NULL);
}

int main(void)
{
    test_versions();
    test_late_answers();
    test_relist();
    test_relist_again();
    test_server_went_back();
    test_uncomparable();
    test_owners();
    test_deletions();
    test_ends();
    test_owned();
    test_owner_in_another_namespace();
    test_jobs();
    test_collisions();
    test_each();
    return test_result();
}
