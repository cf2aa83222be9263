/* The largest objects that others can write: the cases of test_costs. */
#ifndef TESTS_UNIT_HOSTILE_OBJECTS_H
#define TESTS_UNIT_HOSTILE_OBJECTS_H

#include "operator/api/kept.h"
#include "paceline/buf.h"
#include "tests/test.h"

/* "item(i)" n times, with commas. */
static void repeat(struct buf *out, int n, const char *item)
{
    for (int i = 0; i < n; i++) {
        if (i)
            buf_puts(out, ",");
        for (const char *c = item; *c; c++)
            if (*c == '#')
                buf_printf(out, "%05d", i);
            else
                buf_add(out, c, 1);
    }
}

#define JOB_HEAD                                                                  \
    "{\"apiVersion\":\"paceline.dev/v1\",\"kind\":\"TrainingJob\",\"metadata\":{" \
    "\"name\":\"j\",\"namespace\":\"ns\",\"uid\":\"u\",\"resourceVersion\":\"7\",\"generation\":1"
#define BUILTIN "\"model\":{\"name\":\"mlp\"},\"dataset\":{\"name\":\"fashion-mnist\"}"
#define CONTAINER "{\"name\":\"c\",\"image\":\"i\"}"
#define TEMPLATE(members) JOB_HEAD "},\"spec\":{\"replicas\":{\"worker\":{\"template\":{" members
#define TEMPLATE_END "}}}}}"
#define POD_HEAD                                                                                \
    "{\"metadata\":{\"name\":\"j-worker-0-0\",\"namespace\":\"ns\",\"uid\":\"p\","              \
    "\"resourceVersion\":\"7\",\"labels\":{\"paceline.dev/job-name\":\"j\","                    \
    "\"paceline.dev/role\":\"worker\",\"paceline.dev/index\":\"0\","                            \
    "\"paceline.dev/incarnation\":\"0\"},\"ownerReferences\":[{\"apiVersion\":"                 \
    "\"paceline.dev/v1\",\"kind\":\"TrainingJob\",\"name\":\"j\",\"uid\":\"u\",\"controller\":" \
    "true}]"

#define HUNDRED                                         \
    "0123456789012345678901234567890123456789012345678" \
    "9012345678901234567890123456789012345678901234567890"

/* n layers, each of which adds up the 64 before it. */
static void write_joins(struct buf *out, int n)
{
    buf_puts(out, JOB_HEAD "},\"spec\":{\"dataset\":{\"name\":\"fashion-mnist\"},\"model\":{"
                           "\"layers\":[");
    for (int i = 0; i < n - 2; i++) {
        buf_printf(out, "{\"name\":\"l%03d\",\"type\":\"%s\"", i, i < 2 ? "relu" : "add");
        if (i >= 2)
            buf_puts(out, ",\"inputs\":[");
        for (int k = i > 64 ? i - 64 : 0; i >= 2 && k < i; k++)
            buf_printf(out, "%s\"l%03d\"", k == (i > 64 ? i - 64 : 0) ? "" : ",", k);
        buf_puts(out, i >= 2 ? "]}," : "},");
    }
    buf_puts(out, "{\"type\":\"flatten\"},{\"type\":\"dense\",\"units\":10}]}}}");
}

static void write_runs(struct buf *out, int n)
{
    buf_printf(out,
               JOB_HEAD "},\"spec\":{\"replicas\":{\"worker\":{\"replicas\":%d,\"template\":{"
                        "\"spec\":{\"containers\":[" CONTAINER "]}}}}},\"status\":{\"world\":{"
                        "\"generation\":1,\"worker\":%d},\"replicaStatuses\":{\"worker\":{"
                        "\"completed\":\"",
               n, n);
    for (int i = 0; i < n; i += 2)
        buf_printf(out, "%s%d", i ? "," : "", i);
    buf_puts(out, "\"}}}}");
}

/* All parts of a job at their bounds at once. */
static void write_parts(struct buf *out, int n, const char *annotation, const char *text, int times)
{
    buf_puts(out, JOB_HEAD ",\"labels\":{");
    repeat(out, n / 12, "\"k#\":\"v\"");
    buf_printf(out, "},\"annotations\":{\"%s\":\"", annotation);
    for (int i = 0; i < times; i++)
        buf_puts(out, text);
    buf_puts(out,
             "\"}},\"spec\":{\"replicas\":{\"worker\":{\"template\":{\"metadata\":{\"labels\":{");
    repeat(out, n, "\"k#\":\"v\"");
    buf_puts(out, "}},\"spec\":{\"containers\":[" CONTAINER "]}" TEMPLATE_END);
}

static void write_everything(struct buf *out, int n)
{
    write_parts(out, n, "k", "\\u0001", n * 7 / 2);
}

static void write_applied(struct buf *out, int n)
{
    write_parts(out, n, "kubectl.kubernetes.io/last-applied-configuration", "\\\\\\\"xxxxxxxx,",
                n * 8 / 5);
}

static const struct hostile {
    const char *name, *head, *item, *tail; /* the item n times between the others */
    int most;                              /* n beyond what the sieve lets through */
    void (*write)(struct buf *out, int n);
} hostiles[] = {
    {"job: labels", JOB_HEAD ",\"labels\":{", "\"k#\":\"v\"", "}},\"spec\":{" BUILTIN "}}", 16384,
     NULL},
    {"job: annotations", JOB_HEAD ",\"annotations\":{", "\"k#\":\"v\"",
     "}},\"spec\":{" BUILTIN "}}", 16384, NULL},
    {"job: long annotation", JOB_HEAD ",\"annotations\":{\"k\":\"", "0123456789abcdef,",
     "\"}},\"spec\":{" BUILTIN "}}", 40000, NULL},
    {"job: control characters", JOB_HEAD ",\"annotations\":{\"k\":\"", "\\u0001",
     "\"}},\"spec\":{" BUILTIN "}}", 120000, NULL},
    {"job: applied copy",
     JOB_HEAD ",\"annotations\":{\"kubectl.kubernetes.io/last-applied-configuration\":\"",
     "\\\\\\\"#,", "\"}},\"spec\":{" BUILTIN "}}", 60000, NULL},
    {"job: everything", NULL, NULL, NULL, 16384, write_everything},
    {"job: everything, applied", NULL, NULL, NULL, 16384, write_applied},
    {"job: owners", JOB_HEAD ",\"ownerReferences\":[", "{\"uid\":\"u#\",\"name\":\"n\"}",
     "]},\"spec\":{" BUILTIN "}}", 4096, NULL},
    {"job: unknown fields", JOB_HEAD "},\"spec\":{", "\"f#\":1", "}}", 16384, NULL},
    {"job: joins", NULL, NULL, NULL, 256, write_joins},
    {"job: layers",
     JOB_HEAD "},\"spec\":{\"dataset\":{\"name\":\"fashion-mnist\"},\"model\":{"
              "\"layers\":[",
     "{\"type\":\"dense\",\"units\":8}", "]}}}", 256, NULL},
    {"job: indices", NULL, NULL, NULL, 4096, write_runs},
    {"job: conditions", JOB_HEAD "},\"spec\":{" BUILTIN "},\"status\":{\"conditions\":[",
     "{\"type\":\"Running\",\"status\":\"True\",\"lastTransitionTime\":\"2027-01-15T08:00:00Z\"}",
     "]}}", 8192, NULL},
    {"job: ingress",
     JOB_HEAD "},\"spec\":{" BUILTIN ",\"networkPolicy\":{\"extraIngress\":[{"
              "\"from\":[",
     "{\"ipBlock\":{\"cidr\":\"10.0.0.#/32\"}}", "]}]}}}", 4096, NULL},
    {"template: labels", TEMPLATE("\"metadata\":{\"labels\":{"), "\"k#\":\"v\"",
     "}},\"spec\":{\"containers\":[" CONTAINER "]}" TEMPLATE_END, 16000, NULL},
    {"template: annotations", TEMPLATE("\"metadata\":{\"annotations\":{"), "\"k#\":\"v\"",
     "}},\"spec\":{\"containers\":[" CONTAINER "]}" TEMPLATE_END, 16000, NULL},
    {"template: finalizers", TEMPLATE("\"metadata\":{\"finalizers\":["), "\"a.b/#\"",
     "]},\"spec\":{\"containers\":[" CONTAINER "]}" TEMPLATE_END, 16000, NULL},
    {"template: containers", TEMPLATE("\"spec\":{\"containers\":["),
     "{\"name\":\"c#\",\"image\":\"i\"}", "]}" TEMPLATE_END, 5000, NULL},
    {"template: a hundred containers", TEMPLATE("\"spec\":{\"containers\":["),
     "{\"name\":\"c#\",\"image\":\"i\"}", "]}" TEMPLATE_END, 128, NULL},
    {"template: of MPI", TEMPLATE("\"spec\":{\"containers\":["),
     "{\"name\":\"c#\",\"image\":\"i\",\"command\":[\"mpirun\"]}", "]}}}},\"mpi\":{}}}", 5000,
     NULL},
    {"template: volumes", TEMPLATE("\"spec\":{\"containers\":[" CONTAINER "],\"volumes\":["),
     "{\"name\":\"v#\",\"emptyDir\":{}}", "]}" TEMPLATE_END, 5000, NULL},
    {"template: env", TEMPLATE("\"spec\":{\"containers\":[{\"name\":\"c\",\"env\":["),
     "{\"name\":\"E#\",\"value\":\"v\"}", "]}]}" TEMPLATE_END, 5000, NULL},
    {"template: env of ours", TEMPLATE("\"spec\":{\"containers\":[{\"name\":\"c\",\"env\":["),
     "{\"name\":\"TF_CONFIG\",\"value\":\"v\"}", "]}]}" TEMPLATE_END, 5000, NULL},
    {"template: ports", TEMPLATE("\"spec\":{\"containers\":[{\"name\":\"c\",\"ports\":["),
     "{\"name\":\"p#\",\"containerPort\":1}", "]}]}" TEMPLATE_END, 5000, NULL},
    {"template: mounts", TEMPLATE("\"spec\":{\"containers\":[{\"name\":\"c\",\"volumeMounts\":["),
     "{\"name\":\"v#\",\"mountPath\":\"/#\"}", "]}]}" TEMPLATE_END, 5000, NULL},
    {"template: arguments", TEMPLATE("\"spec\":{\"containers\":[{\"name\":\"c\",\"args\":["),
     "\"a\"", "]}]}" TEMPLATE_END, 16000, NULL},
    {"template: escapes", TEMPLATE("\"spec\":{\"containers\":[{\"name\":\"c\",\"args\":[\""),
     "\\n\\n\\n\\n", "\"]}]}" TEMPLATE_END, 32000, NULL},
    {"template: long numbers", TEMPLATE("\"spec\":{\"containers\":[{\"name\":\"c\",\"args\":["),
     "0.123456789012#1", "]}]}" TEMPLATE_END, 16000, NULL},
    {"template: numbers", TEMPLATE("\"spec\":{\"containers\":[{\"name\":\"c\",\"args\":["), "0.1#1",
     "]}]}" TEMPLATE_END, 16000, NULL},
    {"template: empty maps", TEMPLATE("\"spec\":{\"containers\":[{\"name\":\"c\",\"args\":["), "{}",
     "]}]}" TEMPLATE_END, 16000, NULL},
    {"pod: conditions", POD_HEAD "},\"status\":{\"phase\":\"Pending\",\"conditions\":[",
     "{\"type\":\"T#\",\"status\":\"True\",\"reason\":\"R\",\"message\":\"M\"}", "]}}", 16384,
     NULL},
    {"pod: containers", POD_HEAD "},\"spec\":{\"containers\":[",
     "{\"name\":\"c#\",\"readinessProbe\":{}}", "]}}", 16384, NULL},
    {"pod: states", POD_HEAD "},\"status\":{\"phase\":\"Failed\",\"containerStatuses\":[",
     "{\"name\":\"c#\",\"restartCount\":1,\"state\":{\"terminated\":{\"exitCode\":0,\"reason\":"
     "\"R\","
     "\"message\":\"M\",\"finishedAt\":\"2027-01-15T08:00:00Z\"}}}",
     "]}}", 8192, NULL},
    {"pod: volumes", POD_HEAD "},\"spec\":{\"volumes\":[",
     "{\"name\":\"v#\",\"secret\":{\"secretName\":\"s\"}}", "]}}", 16384, NULL},
    {"pod: finalizers", POD_HEAD ",\"finalizers\":[", "\"a/#\"", "]}}", 65536, NULL},
    {"pod: long messages", POD_HEAD "},\"status\":{\"phase\":\"Pending\",\"conditions\":[",
     "{\"type\":\"T#\",\"message\":\"" HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED "\"}", "]}}",
     2400, NULL},
    {"owned: owners",
     "{\"metadata\":{\"name\":\"j\",\"uid\":\"c\",\"resourceVersion\":\"7\",\"ownerReferences\":[",
     "{\"apiVersion\":\"v1\",\"kind\":\"K\",\"name\":\"n#\",\"uid\":\"u#\",\"controller\":false}",
     "]}}", 8192, NULL},
    {"owned: data",
     "{\"metadata\":{\"name\":\"j\",\"uid\":\"c\",\"resourceVersion\":\"7\"},\"data\":{",
     "\"k#\":\"v\"", "}}", 65536, NULL},
    {"events: many", "{\"items\":[",
     "{\"type\":\"Warning\",\"reason\":\"R#\",\"message\":\"M\",\"lastTimestamp\":"
     "\"2027-01-15T08:00:00Z\",\"eventTime\":null,\"series\":{\"lastObservedTime\":"
     "\"2027-01-15T08:00:00Z\"},\"metadata\":{\"creationTimestamp\":\"2027-01-15T08:00:00Z\"}}",
     "]}", 4096, NULL},
};

#endif
