// LINK: common/cluster.c common/json.c common/buf.c common/err.c common/text.c common/mem.c
/* TF_CONFIG and hostfile: in, out, and what is refused. */
#include "paceline/cluster.h"

#include "paceline/mem.h"
#include "tests/test.h"

static void test_config(void)
{
    static const char *const texts[] = {
        "{\"cluster\":{\"chief\":[\"a.svc:2222\"],\"worker\":[\"w-0:1\",\"10.0.0.1:65535\"],"
        "\"ps\":[\"[::1]:80\"]},\"task\":{\"type\":\"worker\",\"index\":1}}",
        "{\"cluster\":{\"worker\":[\"w:1\"]},\"task\":{\"type\":\"evaluator\",\"index\":3}}",
    };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        AUTO(cluster_release) struct cluster c;
        AUTO(buf_release) struct buf text;
        struct err err = {0};

        buf_init(&text, 0);
        CHECK_INT(cluster_parse(&c, texts[i], strlen(texts[i]), &err), 0);
        CHECK_STR(err.msg, "");
        cluster_encode(&c, &text);
        CHECK_STR(text.data, texts[i]);
        if (i == 0) {
            CHECK_INT(c.roles[ROLE_WORKER].n, 2);
            CHECK_STR(c.roles[ROLE_WORKER].items[1], "10.0.0.1:65535");
            CHECK_INT(c.task_role, ROLE_WORKER);
            CHECK_INT(c.task_index, 1);
        }
    }
}

#define TASK "},\"task\":{\"type\":\"worker\",\"index\":0}}"

static void test_config_refused(void)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "TF_CONFIG:1: not valid JSON"},
        {"[]", "needed: an object with cluster and task"},
        {"{\"cluster\":{}}", "needed: an object with cluster and task"},
        {"{\"cluster\":{\"boss\":[]" TASK, "found the role \"boss\"; allowed: chief, worker"},
        {"{\"cluster\":{\"worker\":\"a:1\"" TASK, "cluster.worker: allowed: a list"},
        {"{\"cluster\":{\"worker\":[\"a:1\",3]" TASK, "cluster.worker[1]: found no string"},
        {"{\"cluster\":{\"worker\":[\"a\"]" TASK, "found a; allowed: host:port"},
        {"{\"cluster\":{\"worker\":[\"a:0\"]" TASK, "found a:0"},
        {"{\"cluster\":{\"worker\":[\"a:65536\"]" TASK, "found a:65536"},
        {"{\"cluster\":{\"worker\":[\"a:1x\"]" TASK, "found a:1x"},
        {"{\"cluster\":{\"worker\":[\":1\"]" TASK, "found :1"},
        {"{\"cluster\":{\"worker\":[\"a b:1\"]" TASK, "found a b:1"},
        {"{\"cluster\":{\"worker\":[\"::1:1\"]" TASK, "found ::1:1"},
        {"{\"cluster\":{\"worker\":[\"-x:1\"]" TASK, "found -x:1"},
        {"{\"cluster\":{\"worker\":[]" TASK, "task.index: found 0; needed"},
        {"{\"cluster\":{\"worker\":[\"a:1\"]},\"task\":{\"type\":\"worker\",\"index\":0.5}}",
         "task.index: found 0.5"},
        {"{\"cluster\":{\"worker\":[\"a:1\"]},\"task\":{\"index\":0}}", "task.type: needed"},
        {"{\"cluster\":{\"worker\":[\"a:1\"],\"worker\":[]" TASK, "stands twice"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cluster c;
        struct err err = {0};

        CHECK_INT(cluster_parse(&c, cases[i].text, strlen(cases[i].text), &err), -1);
        CHECK_INT(err.code, ERR_INVALID);
        CHECK_CONTAINS(err.msg, cases[i].message);
        CHECK_INT(c.roles[ROLE_WORKER].n, 0);
    }
}

static void test_hostfile(void)
{
    static const char text[] = "# nodes\nnode-1 slots=4 max_slots=8 # fast\r\n\n"
                               "\t10.0.0.2\nfe80::1 max-slots=2   slots=3";
    AUTO(hostfile_release) struct hostfile h;
    AUTO(buf_release) struct buf out;
    struct err err = {0};

    buf_init(&out, 0);
    CHECK_INT(hostfile_parse(&h, text, sizeof text - 1, "hosts", &err), 0);
    CHECK_STR(err.msg, "");
    hostfile_encode(&h, &out);
    CHECK_STR(out.data, "node-1 slots=4\n10.0.0.2\nfe80::1 slots=3\n");
}

static void test_hostfile_refused(void)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"a\nb slots=0", "hosts:2: found \"slots=0\"; allowed: a host name, then slots="},
        {"a slots=65537", "found \"slots=65537\""},
        {"a slots=-1", "found \"slots=-1\""},
        {"a slots=99999999999999999999", "found \"slots=999"},
        {"a b", "found \"b\""},
        {"slots=3", "found \"slots=3\""},
        {"-x", "found \"-x\""},
        {"a;b", "found \"a;b\""},
    };
    AUTO(buf_release) struct buf many;
    struct hostfile h;
    struct err err = {0};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CHECK_INT(hostfile_parse(&h, cases[i].text, strlen(cases[i].text), "hosts", &err), -1);
        CHECK_CONTAINS(err.msg, cases[i].message);
        CHECK_INT(h.n, 0);
    }
    CHECK_INT(hostfile_parse(&h, "a\0b", 3, "hosts", &err), -1);
    buf_init(&many, 0);
    for (int i = 0; i < CLUSTER_MAX_HOSTS; i++)
        buf_puts(&many, "a\n");
    CHECK_INT(hostfile_parse(&h, many.data, many.len, "hosts", &err), 0);
    CHECK_INT(h.n, CLUSTER_MAX_HOSTS);
    hostfile_release(&h);
    buf_puts(&many, "a\n");
    CHECK_INT(hostfile_parse(&h, many.data, many.len, "hosts", &err), -1);
    CHECK_CONTAINS(err.msg, "hosts:4097: more than 4096 hosts");
}

int main(void)
{
    test_config();
    test_config_refused();
    test_hostfile();
    test_hostfile_refused();
    return test_result();
}
