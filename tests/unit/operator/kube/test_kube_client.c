// LINK: operator/kube common
// LIBS: -lcurl -lssl -lcrypto
// TIMEOUT: 120
/* The client against a server on loopback: what goes over the wire, and every way it breaks. */
#include "tests/unit/kube_fake.h"

static const char ok_lines[] = "{\"text\":\"grün 漢字 🚀\"}\n{\"n\":2}\n{\"n\":3}\n";

static void test_requests(const struct fake *f)
{
    AUTO(auto_client) struct kube_client *client = fake_plain(f, "token: abc");
    const struct kube_request patch = {.method = KUBE_PATCH,
                                       .path = "/show?a=b",
                                       .content_type = "application/merge-patch+json",
                                       .accept = "application/json;as=Table",
                                       .body = "{\"x\":1}",
                                       .body_len = 7,
                                       .timeout_ms = PATIENCE_MS};
    AUTO(answer_release) struct fake_answer a = get(client, "/show"), b, c, d, big, p = {0};

    CHECK_INT(a.status, 200);
    CHECK_FIELD(&a, "method", "GET");
    CHECK_FIELD(&a, "accept", "application/json");
    CHECK_FIELD(&a, "authorization", "Bearer abc");
    CHECK_FIELD(&a, "user-agent", "paceline-operator");
    CHECK_FIELD(&a, "content-type", "absent");
    CHECK_FIELD(&a, "cookie", "absent");
    CHECK_INT(a.retry_after_ms, -1);
    b = request(client, KUBE_DELETE, "/show", NULL);
    CHECK_FIELD(&b, "method", "DELETE");
    CHECK_FIELD(&b, "length", "0");
    c = request(client, KUBE_DELETE, "/show", "{}");
    CHECK_FIELD(&c, "method", "DELETE");
    CHECK_FIELD(&c, "body", "{}");
    CHECK_FIELD(&c, "content-type", "application/json");
    d = request(client, KUBE_PUT, "/show", "äöü");
    CHECK_FIELD(&d, "method", "PUT");
    CHECK_FIELD(&d, "content-length", "6");
    CHECK_FIELD(&d, "expect", "absent");
    kube_client_ops()->send(client, &patch, answer_done, &p);
    wait_done(client, &p);
    CHECK_FIELD(&p, "method", "PATCH");
    CHECK_FIELD(&p, "target", "/show?a=b");
    CHECK_FIELD(&p, "content-type", "application/merge-patch+json");
    CHECK_FIELD(&p, "accept", "application/json;as=Table");
    big = get(client, "/big?n=3000000");
    CHECK_INT(big.len, 3000000);
    CHECK_INT(kube_client_stats(client).connects, 1); /* kept alive */
    CHECK_INT(kube_client_stats(client).active, 0);
}

/* A body larger than every buffer, and one request after another. */
static void test_large_body(const struct fake *f)
{
    AUTO(auto_client) struct kube_client *client = fake_plain(f, "");
    AUTO(auto_free) char *body = xcalloc(1, 2000001);

    memset(body, 'x', 2000000);
    AUTO(answer_release) struct fake_answer a = request(client, KUBE_POST, "/show", body);
    CHECK_FIELD(&a, "length", "2000000");
    CHECK_FIELD(&a, "expect", "absent");
}

static void test_statuses(const struct fake *f)
{
    static const struct {
        const char *path;
        int status;
        int64_t retry_after_ms;
    } cases[] = {
        {"/status?code=429&after=7", 429, 7000},
        {"/status?code=503&after=0", 503, 0},
        {"/status?code=409", 409, -1},
        {"/status?code=500&after=soon", 500, -1},
        {"/status?code=429&after=Sun,+06+Nov+1994+08:49:37+GMT", 429, 0},
        {"/redirect?to=/show", 302, -1},
    };
    AUTO(auto_client) struct kube_client *client = fake_plain(f, "token: abc");

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(answer_release) struct fake_answer a = get(client, cases[i].path);

        CHECK_INT(a.status, cases[i].status);
        CHECK_INT(a.retry_after_ms, cases[i].retry_after_ms);
    }
    AUTO(answer_release) struct fake_answer a = get(client, "/show");
    CHECK_FIELD(&a, "cookie", "absent");
    CHECK_INT(kube_client_stats(client).connects, 1);
}

static void test_broken_answers(const struct fake *f)
{
    AUTO(auto_client) struct kube_client *client = fake_plain(f, "");
    AUTO(answer_release) struct fake_answer cut = get(client, "/cut"), mute = get(client, "/mute");
    AUTO(answer_release) struct fake_answer garbage = get(client, "/garbage"), fine;

    CHECK_INT(cut.status, 0);
    CHECK_CONTAINS(cut.error, "/cut: ");
    CHECK_STR(cut.body, "");
    CHECK_INT(mute.status, 0);
    CHECK_INT(garbage.status, 0);
    fine = get(client, "/show");
    CHECK_INT(fine.status, 200);
}

/* On a connection that was used before, a POST whose answer is lost is not sent again by itself. */
static void test_no_second_create(const struct fake *f)
{
    AUTO(auto_client) struct kube_client *client = fake_plain(f, "");
    AUTO(answer_release) struct fake_answer warm = get(client, "/show");
    AUTO(answer_release)
    struct fake_answer post = request(client, KUBE_POST, "/swallow", "{}"), state;

    CHECK_INT(warm.status, 200);
    CHECK_INT(post.status, 0);
    state = get(client, "/state");
    CHECK_FIELD(&state, "posts", "1");
}

static void test_times(const struct fake *f)
{
    struct kube_client_config config = {.max_requests = 1};
    AUTO(auto_free)
    char *cluster =
        xasprintf("server: 'https://127.0.0.1:%d', certificate-authority: ca.crt", f->https);
    AUTO(auto_client) struct kube_client *client = fake_client(f, cluster, "", &config);
    AUTO(answer_release) struct fake_answer slow = {0}, trickle = {0}, queued = {0}, fine;
    struct kube_request r = {.method = KUBE_GET, .path = "/sleep?s=5", .timeout_ms = 300};
    int64_t start = now_ms();

    kube_client_ops()->send(client, &r, answer_done, &slow);
    kube_client_ops()->send(client, &r, answer_done, &queued);
    wait_done(client, &slow);
    wait_done(client, &queued);
    CHECK_INT(slow.status, 0);
    CHECK_CONTAINS(slow.error, "no answer");
    CHECK_INT(queued.status, 0);
    r.path = "/slow?each=0.05";
    kube_client_ops()->send(client, &r, answer_done, &trickle);
    wait_done(client, &trickle);
    CHECK_INT(trickle.status, 0);
    CHECK(now_ms() - start < 4000);
    fine = get(client, "/slow?each=0.001");
    CHECK_STR(fine.body, "ok");
}

static void test_limits(const struct fake *f)
{
    struct kube_client_config config = {.max_body = 1000};
    AUTO(auto_free)
    char *cluster =
        xasprintf("server: 'https://127.0.0.1:%d', certificate-authority: ca.crt", f->https);
    AUTO(auto_client) struct kube_client *client = fake_client(f, cluster, "", &config);
    AUTO(answer_release) struct fake_answer fits = get(client, "/big?n=1000");
    AUTO(answer_release) struct fake_answer large = get(client, "/big?n=1001");
    AUTO(answer_release) struct fake_answer line = watch(client, "/watch?kind=long&n=3000");

    CHECK_INT(fits.len, 1000);
    CHECK_INT(large.status, 0);
    CHECK_CONTAINS(large.error, "the answer is larger than 1000 bytes");
    /* An event of 3 MB of which little is kept is an event like others. */
    CHECK_INT(line.status, 200);
    CHECK_STR(line.lines.data, "{\"n\":1}\n");
    CHECK(line.received > 3000000);
}

/* The objects of a list come one by one, in whatever pieces; the rest is the body. */
static void test_lists(const struct fake *f)
{
    AUTO(auto_client) struct kube_client *client = fake_plain(f, "");
    AUTO(answer_release) struct fake_answer large = list(client, "/list?n=30&size=1000000");
    AUTO(answer_release) struct fake_answer cut = list(client, "/list?n=3&size=100&cut=1");
    AUTO(answer_release) struct fake_answer gone = list(client, "/watch?kind=gone");
    AUTO(answer_release) struct fake_answer page = list(client, "/big?n=100");
    AUTO(answer_release) struct fake_answer none = list(client, "/big?n=0");

    CHECK_INT(large.status, 200);
    CHECK_INT(large.n_lines, 30);
    CHECK_INT(large.n_cut, 0);
    CHECK(large.received > 30000000);
    CHECK(large.item_bytes > 29900000 && large.item_bytes <= large.received);
    CHECK_STR(large.body, "{\"items\":[],\"version\":\"7\"}");
    CHECK_INT(strncmp(large.lines.data, "{\"n\":0}\n{\"n\":1}\n", 16), 0);
    CHECK_INT(cut.status, 0); /* what has come is true nevertheless */
    CHECK_STR(cut.lines.data, "{\"n\":0}\n{\"n\":1}\n{\"n\":2}\n");
    CHECK_INT(gone.status, 410); /* a refusal is no list */
    CHECK_INT(gone.n_lines, 0);
    CHECK_CONTAINS(gone.body, "too old");
    CHECK_INT(page.status, 0);
    CHECK_CONTAINS(page.error, "the answer is not valid JSON");
    CHECK_INT(none.status, 0);
    CHECK_CONTAINS(none.error, "the answer is not valid JSON");
}

/* A refusal of any length keeps its sentence; one that is no JSON keeps its status. */
static void test_refusals(const struct fake *f)
{
    AUTO(auto_client) struct kube_client *client = fake_plain(f, "");

    for (int i = 0; i < 2; i++) {
        AUTO(answer_release)
        struct fake_answer refused =
            i ? watch(client, "/watch?kind=refused") : list(client, "/watch?kind=refused");
        AUTO(answer_release)
        struct fake_answer page =
            i ? watch(client, "/watch?kind=page") : list(client, "/watch?kind=page");

        CHECK_INT(refused.status, 422);
        CHECK_INT(refused.n_lines, 0);
        CHECK_CONTAINS(refused.body, "\"message\":\"nono");
        CHECK_CONTAINS(refused.body, "\"reason\":\"Invalid\"}");
        CHECK(refused.len > 4000 && refused.len < 5000);
        CHECK(refused.received > 200000);
        CHECK_INT(page.status, 502);
        CHECK_STR(page.body, "");
    }
}

static void test_watches(const struct fake *f)
{
    AUTO(auto_client) struct kube_client *client = fake_plain(f, "");
    AUTO(answer_release) struct fake_answer bytes = watch(client, "/watch?kind=bytes");
    AUTO(answer_release) struct fake_answer half = watch(client, "/watch?kind=clean-half");
    AUTO(answer_release) struct fake_answer cut = watch(client, "/watch?kind=cut");
    AUTO(answer_release) struct fake_answer closed = watch(client, "/watch?kind=half-closed");
    AUTO(answer_release)
    struct fake_answer unwrapped = watch(client, "/watch?kind=half-closed&unwrap=1");
    AUTO(answer_release) struct fake_answer gone = watch(client, "/watch?kind=gone");
    AUTO(answer_release) struct fake_answer many = watch(client, "/watch?kind=many&n=20000");

    CHECK_INT(bytes.status, 200);
    CHECK_STR(bytes.lines.data, ok_lines);
    CHECK_STR(bytes.body, "");
    CHECK_INT(half.status, 200);
    CHECK_STR(half.lines.data, ok_lines); /* half an event is none */
    CHECK_INT(cut.status, 0);
    CHECK_STR(cut.lines.data, ok_lines);
    CHECK_INT(closed.status, 0);
    CHECK_STR(closed.lines.data, ok_lines);
    CHECK_INT(unwrapped.status, 0);
    CHECK_STR(unwrapped.lines.data, ok_lines);
    CHECK_INT(gone.status, 410);
    CHECK_INT(gone.n_lines, 0);
    CHECK_INT(gone.retry_after_ms, 3000);
    CHECK_CONTAINS(gone.body, "too old");
    CHECK_INT(many.n_lines, 20000);
}

static void test_silent_watch(const struct fake *f)
{
    struct kube_client_config config = {.watch_grace_ms = 200, .watch_idle_ms = 300};
    AUTO(auto_free)
    char *cluster =
        xasprintf("server: 'https://127.0.0.1:%d', certificate-authority: ca.crt", f->https);
    AUTO(auto_client) struct kube_client *client = fake_client(f, cluster, "", &config);
    int64_t start = now_ms();
    AUTO(answer_release) struct fake_answer idle = watch(client, "/watch?kind=silent"), timed, hung;

    CHECK_INT(idle.status, 0);
    CHECK_CONTAINS(idle.error, "the watch was silent for 300 ms");
    CHECK(now_ms() - start >= 300 && now_ms() - start < 10000);
    start = now_ms();
    timed = watch(client, "/watch?kind=silent&timeoutSeconds=1");
    CHECK_CONTAINS(timed.error, "the watch was silent for 1200 ms");
    CHECK(now_ms() - start >= 1200 && now_ms() - start < 10000);
    CHECK_STR(timed.lines.data, ok_lines);
    begin_watch(client, &hung, "/sleep?s=5&timeoutSeconds=60", answer_line, 200);
    wait_done(client, &hung);
    CHECK_CONTAINS(hung.error, "no answer within 200 ms");
    CHECK_INT(kube_client_stats(client).active, 0);
}

/* 64 at once, as many as the default allows: the first ones are answered together or not at all. */
static void test_parallel(const struct fake *f)
{
    enum { N = 1000 };
    AUTO(auto_client) struct kube_client *client = fake_plain(f, "");
    AUTO(auto_free) struct fake_answer *answers = xcalloc(N, sizeof *answers);
    int64_t end = now_ms() + 4 * PATIENCE_MS;
    int done = 0;

    for (int i = 0; i < N; i++)
        begin(client, &answers[i], KUBE_POST, i < 64 ? "/meet" : "/show", "{\"n\":1}");
    CHECK_INT(kube_client_stats(client).queued, N);
    while (done < N && now_ms() < end) {
        kube_client_poll(client, 100);
        done = 0;
        for (int i = 0; i < N; i++)
            done += answers[i].done;
    }
    CHECK_INT(done, N);
    for (int i = 0; i < N; i++) {
        CHECK_INT(answers[i].status, 200);
        CHECK_INT(answers[i].done, 1);
        answer_release(&answers[i]);
    }
    CHECK(kube_client_stats(client).connects <= 64);
}

static void cancel_on_line(void *arg, const struct kube_item *item)
{
    struct fake_answer *a = arg;

    answer_line(arg, item);
    if (a->n_lines == 2)
        kube_client_ops()->cancel(a->client, a->call);
}

static void cancel_other(void *arg, const struct kube_response *r)
{
    struct fake_answer *a = arg;

    (void)r;
    a->done++;
    for (int i = 1; i < 4; i++)
        if (!a[i].done)
            kube_client_ops()->cancel(a->client, a[i].call);
    kube_client_ops()->cancel(a->client, a->call); /* itself: nothing happens */
}

static void ask_again(void *arg, const struct kube_response *r)
{
    struct fake_answer *a = arg;

    CHECK_INT(r->status, 200);
    if (++a->done < 3) {
        struct kube_request again = {.method = KUBE_GET, .path = "/show", .timeout_ms = 9000};

        kube_client_ops()->send(a->client, &again, ask_again, a);
    }
}

static void test_callbacks(const struct fake *f)
{
    AUTO(auto_client) struct kube_client *client = fake_plain(f, "");
    AUTO(answer_release) struct fake_answer w, left = {0};
    const struct kube_request show = {.method = KUBE_GET, .path = "/show", .timeout_ms = 9000};
    struct fake_answer group[4] = {{0}}, again = {.client = client};
    int64_t end;

    begin_watch(client, &w, "/watch?kind=many&n=1000", cancel_on_line, PATIENCE_MS);
    end = now_ms() + 500;
    while (now_ms() < end)
        kube_client_poll(client, 50);
    CHECK_INT(w.n_lines, 2);
    CHECK_INT(w.done, 0);
    begin(client, &group[1], KUBE_GET, "/sleep?s=3", NULL);
    begin(client, &group[2], KUBE_GET, "/show", NULL);
    begin_watch(client, &group[3], "/watch?kind=silent", answer_line, PATIENCE_MS);
    group[0].client = client;
    group[0].call = kube_client_ops()->send(client, &show, cancel_other, group);
    kube_client_ops()->send(client, &show, ask_again, &again);
    end = now_ms() + PATIENCE_MS;
    while ((!group[0].done || again.done < 3) && now_ms() < end)
        kube_client_poll(client, 50);
    CHECK_INT(group[0].done, 1);
    CHECK_INT(group[1].done, 0);
    CHECK_INT(group[3].done, 0);
    CHECK_INT(again.done, 3);
    begin(client, &left, KUBE_GET, "/show", NULL);
    kube_client_ops()->cancel(client, left.call); /* never sent */
    kube_client_poll(client, 0);
    CHECK_INT(kube_client_stats(client).queued, 0);
    CHECK_INT(left.done, 0);
    for (int i = 0; i < 4; i++)
        answer_release(&group[i]);
    begin(client, &left, KUBE_GET, "/sleep?s=3", NULL); /* freed while it runs */
    kube_client_poll(client, 0);
}

static void *wake_later(void *client)
{
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    kube_client_wakeup(client);
    return NULL;
}

static void test_wakeup(const struct fake *f)
{
    AUTO(auto_client) struct kube_client *client = fake_plain(f, "");
    int64_t start = now_ms();
    pthread_t thread;

    kube_client_wakeup(client);
    kube_client_poll(client, 10000);
    CHECK(now_ms() - start < 5000);
    CHECK_INT(pthread_create(&thread, NULL, wake_later, client), 0);
    kube_client_poll(client, 10000);
    pthread_join(thread, NULL);
    CHECK(now_ms() - start < 5000);
}

int main(void)
{
    struct fake f;

    fake_start(&f);
    test_requests(&f);
    test_large_body(&f);
    test_statuses(&f);
    test_broken_answers(&f);
    test_no_second_create(&f);
    test_times(&f);
    test_limits(&f);
    test_lists(&f);
    test_refusals(&f);
    test_watches(&f);
    test_silent_watch(&f);
    test_parallel(&f);
    test_callbacks(&f);
    test_wakeup(&f);
    fake_stop(&f);
    return test_result();
}
