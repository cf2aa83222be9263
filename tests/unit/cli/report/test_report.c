// LINK: cli/report/report.c cli/report/report_times.c cli/report/page.c cli/report/svg.c
// LINK: cli/base/format.c cli/report/metric_labels.c
// LINK: cli/report/classes.c cli/report/history.c common
#include "cli/report/report.h"

#include "paceline/mem.h"
#include "tests/test.h"
#include "tests/unit/scratch.h"

static void add(struct history *h, const char *line)
{
    enum event_type type;
    cJSON *event = event_parse(line, strlen(line), &type);

    CHECK(event);
    history_add(h, type, event);
}

static void fill(struct history *h)
{
    add(h, "{\"event\":\"start\",\"job\":\"<job>\",\"model\":\"mlp\",\"ranks\":2,\"threads\":1,"
           "\"isa\":\"avx2\",\"cpu\":\"a CPU\",\"batchesPerEpoch\":10,\"resumedStep\":0}");
    add(h, "{\"event\":\"progress\",\"epoch\":0,\"step\":5,\"loss\":1.5,\"accuracy\":0.4,"
           "\"samplesPerSecond\":1000}");
    add(h, "{\"event\":\"epoch\",\"epoch\":1,\"step\":10,\"loss\":1,\"testLoss\":0.9,"
           "\"testAccuracy\":0.75,\"validationAccuracy\":null,\"learningRate\":0.05,"
           "\"perRank\":{\"forward\":[2,4],\"communication\":[1.5,2.5],\"prepare\":[9,9]}}");
    add(h,
        "{\"event\":\"profile\",\"epoch\":1,\"step\":10,\"rows\":{\"MatMul\":2000,\"Dataset\":10},"
        "\"layers\":[{\"layer\":\"dense<1>\",\"kind\":\"dense\",\"forward\":700,\"update\":5}]}");
    add(h,
        "{\"event\":\"profile\",\"epoch\":2,\"step\":20,\"rows\":{\"MatMul\":4000,\"Dataset\":30},"
        "\"layers\":[{\"layer\":\"dense<1>\",\"kind\":\"dense\",\"forward\":900,\"update\":7}]}");
    add(h, "{\"event\":\"done\",\"step\":10,\"seconds\":12.5,\"samplesPerSecond\":1234,"
           "\"testLoss\":0.9,\"testAccuracy\":0.75,\"top5\":0.99,\"confusion\":[[7,3],[2,8]],"
           "\"perRank\":{\"forward\":[1,1],\"backward\":[2,4],\"prepare\":[9,9],"
           "\"user\":[3,5],\"system\":[1,1],\"peakBytes\":[1048576,2097152]},"
           "\"bytesTo\":[[0,1048576],[3145728,0]],"
           "\"checkpoint\":\"runs/x/last.safetensors\"}");
}

static void test_page(void)
{
    static const char *const parts[] = {
        "<h1>&lt;job&gt;</h1>",
        "75.00%",
        "1,234",
        "12.5 s",
        "T-shirt taken for",
        "1.0 MiB, 2.0 MiB",
        "backward <b>3.00 s, 75.0%",
        "epoch 1: 75%",
        "<td>1</td><td>3.000</td><td>0.000</td>", /* forward, none backward */
        "<td>5.000</td><td class=\"bar\">",
        "<tr><td>1</td><td>5.00 s</td><td>1.00 s</td><td>150.00%</td>", /* of (1 + 2 + 1 + 4) / 2 s
                                                                         */
        "<td>3.0 MiB</td><td>0 B</td></tr>",
        "seed: &lt;1&gt;",
        "<td>MatMul</td><td>3,000</td>",
        "<td>dense&lt;1&gt;</td><td>dense</td><td>800</td><td>0</td><td>0</td><td>6</td>",
        "a CPU",
        "</html>",
    };
    AUTO(history_release) struct history h;
    AUTO(buf_release) struct buf page;
    const struct report r = {"fashion-mnist", "seed: <1>", "today", &h};

    history_init(&h);
    buf_init(&page, 0);
    fill(&h);
    report_html(&r, &page);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        CHECK_CONTAINS(page.data, parts[i]);
    CHECK(!strstr(page.data, "nan"));
    CHECK(!strstr(page.data, "http")); /* self-contained: nothing is loaded */
    CHECK(!strstr(page.data, "<script"));
    CHECK(!strstr(page.data, ">validation<")); /* no such curve, no such legend */
}

/* How stale gradients were, where servers were asynchronous. */
static void test_servers(void)
{
    static const char done[] = "{\"applied\":8,\"staleness\":[4,0,4],\"lead\":[8]}";
    AUTO(history_release) struct history h;
    AUTO(buf_release) struct buf page;
    const struct report r = {"fashion-mnist", "", "today", &h};

    history_init(&h);
    buf_init(&page, 0);
    fill(&h);
    history_add(&h, EVENT_DONE, cJSON_Parse(done));
    report_html(&r, &page);
    CHECK_CONTAINS(page.data, "gradients applied");
    CHECK_CONTAINS(page.data, "mean 1.00, at most 2 updates");
    CHECK_CONTAINS(page.data, "mean 0.00, at most 0 batches");
}

/* A report says that spec.debug made its run slower; other reports do not. */
static void test_simulated(void)
{
    for (int simulated = 0; simulated < 2; simulated++) {
        AUTO(history_release) struct history h;
        AUTO(buf_release) struct buf page;
        const struct report r = {"fashion-mnist", "", "today", &h};

        history_init(&h);
        buf_init(&page, 0);
        fill(&h);
        history_add(&h, EVENT_START, cJSON_Parse(simulated ? "{\"simulated\":true}" : "{}"));
        report_html(&r, &page);
        CHECK_INT(strstr(page.data, "simulated: times are") != NULL, simulated);
    }
}

/* A history without an end still gives a page. */
static void test_empty(void)
{
    AUTO(history_release) struct history h;
    AUTO(buf_release) struct buf page;
    const struct report r = {NULL, "", "today", &h};

    history_init(&h);
    buf_init(&page, 0);
    report_html(&r, &page);
    CHECK_CONTAINS(page.data, "nothing was recorded");
    CHECK(!strstr(page.data, "nan"));
}

static void test_write(void)
{
    AUTO(history_release) struct history h;
    const struct report r = {NULL, "", "today", &h};
    char *folder = scratch_make();
    AUTO(auto_free) char *path = xasprintf("%s/report.html", folder);
    struct err err = {0};

    history_init(&h);
    CHECK_INT(report_write(&r, path, &err), 0);
    CHECK_INT(access(path, R_OK), 0);
    CHECK_INT(report_write(&r, "/nonexistent/report.html", &err), -1);
    CHECK_CONTAINS(err.msg, "/nonexistent/report.html");
    scratch_remove(folder);
}

int main(void)
{
    test_page();
    test_servers();
    test_simulated();
    test_empty();
    test_write();
    return test_result();
}
