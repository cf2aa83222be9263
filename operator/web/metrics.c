#include "operator/web/metrics.h"

#include <inttypes.h>

#include "paceline/json.h"
#include "paceline/mem.h"

/* As enum kube_method counts them. */
static const char *const verbs[N_METHODS] = {"GET", "POST", "PUT", "PATCH", "DELETE"};

static void head(struct buf *out, const char *name, const char *type, const char *help)
{
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* One sample; the label is "" or "{name=\"value\"}"; all the values that we have need no escape. */
static void sample(struct buf *out, const char *name, const char *label, uint64_t value)
{
    buf_printf(out, "%s%s %" PRIu64 "\n", name, label, value);
}

static void metrics_number(struct buf *out, const char *name, double value)
{
    buf_printf(out, "%s ", name);
    json_print_number(value, out);
    buf_puts(out, "\n");
}

/* A metric with one label and a sample for each of its n values. */
static void family(struct buf *out, const char *name, const char *label, const char *const *values,
                   const uint64_t *counts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s{%s=\"%s\"} %" PRIu64 "\n", name, label, values[i], counts[i]);
}

/* Counts come per bucket; Prometheus wants each bucket to count what is below its bound. */
static void histogram(struct buf *out, const char *name, const char *help,
                      const struct histogram *h)
{
    uint64_t below = 0;

    head(out, name, "histogram", help);
    for (int i = 0; i < N_BUCKETS; i++) {
        below += h->counts[i];
        buf_printf(out, "%s_bucket{le=\"", name);
        json_print_number(snapshot_bounds[i], out);
        buf_printf(out, "\"} %" PRIu64 "\n", below);
    }
    below += h->counts[N_BUCKETS];
    buf_printf(out, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n%s_sum ", name, below, name);
    json_print_number(h->sum, out);
    buf_printf(out, "\n%s_count %" PRIu64 "\n", name, below);
}

static void encode_jobs(const struct snapshot *s, struct buf *out)
{
    static const char *const results[] = {"Succeeded", "Failed"};

    head(out, "paceline_jobs", "gauge", "TrainingJobs that are there, by state.");
    family(out, "paceline_jobs", "state", snapshot_state_names, s->jobs, N_SNAPSHOT_STATES);
    head(out, "paceline_jobs_finished_total", "counter",
         "TrainingJobs seen to end by this process, by result.");
    family(out, "paceline_jobs_finished_total", "result", results, s->jobs_finished,
           ARRAY_LEN(results));
    head(out, "paceline_pods", "gauge", "Pods of TrainingJobs that are there.");
    sample(out, "paceline_pods", "", s->pods);
    head(out, "paceline_pod_restarts_total", "counter",
         "Pods replaced by this process, by reason.");
    family(out, "paceline_pod_restarts_total", "reason", snapshot_restart_names, s->restarts,
           N_SNAPSHOT_RESTARTS);
}

static void encode_requests(const struct snapshot *s, struct buf *out)
{
    head(out, "paceline_api_requests_total", "counter",
         "Requests to the Kubernetes API by method and class of answer; 409 and 429 are counted "
         "apart from 4xx; none: no answer came.");
    for (int v = 0; v < N_METHODS; v++)
        for (int c = 0; c < N_CODES; c++)
            buf_printf(out, "paceline_api_requests_total{verb=\"%s\",code=\"%s\"} %" PRIu64 "\n",
                       verbs[v], snapshot_code_names[c], s->requests[v][c]);
    head(out, "paceline_api_writes_in_flight", "gauge",
         "Writes to the Kubernetes API that wait for their answer.");
    sample(out, "paceline_api_writes_in_flight", "", s->writes_in_flight);
    head(out, "paceline_looks_delayed_total", "counter",
         "Reconciles delayed because their job or namespace had used up its share of time.");
    sample(out, "paceline_looks_delayed_total", "", s->looks_delayed);
    head(out, "paceline_watch_restarts_total", "counter", "Watches that ended and were resumed.");
    sample(out, "paceline_watch_restarts_total", "", s->watch_restarts);
    head(out, "paceline_relists_total", "counter",
         "Full lists, the first of each kind included; more mean watches that could not go on.");
    sample(out, "paceline_relists_total", "", s->relists);
    head(out, "paceline_objects_cut_total", "counter",
         "Objects that were larger than the operator reads, or unreadable; the rest was left out.");
    sample(out, "paceline_objects_cut_total", "", s->objects_cut);
}

static void encode_controller(const struct snapshot *s, struct buf *out)
{
    head(out, "paceline_leader", "gauge", "1 while this process holds the lease.");
    sample(out, "paceline_leader", "", s->leader);
    head(out, "paceline_synced", "gauge", "1 once every kind of object was listed.");
    sample(out, "paceline_synced", "", s->synced);
    head(out, "paceline_workqueue_depth", "gauge", "TrainingJobs that wait for a look.");
    sample(out, "paceline_workqueue_depth", "", s->queue_depth);
    histogram(out, "paceline_reconcile_seconds",
              "Time to decide what a TrainingJob needs, without any request.", &s->reconcile);
    histogram(out, "paceline_sync_seconds",
              "Time from a change of a TrainingJob until its plan was carried out.", &s->sync);
}

void metrics_encode(const struct snapshot *s, const struct metrics_process *process,
                    struct buf *out)
{
    if (s) {
        encode_jobs(s, out);
        encode_controller(s, out);
        encode_requests(s, out);
    }
    head(out, "paceline_build_info", "gauge", "1; the version is in the label.");
    buf_printf(out, "paceline_build_info{version=\"%s\"} 1\n", process->version);
    head(out, "process_resident_memory_bytes", "gauge", "Resident memory size in bytes.");
    sample(out, "process_resident_memory_bytes", "", process->resident_bytes);
    head(out, "process_cpu_seconds_total", "counter", "User and system CPU time in seconds.");
    metrics_number(out, "process_cpu_seconds_total", process->cpu_seconds);
    head(out, "process_start_time_seconds", "gauge", "Start of the process in seconds since 1970.");
    metrics_number(out, "process_start_time_seconds", process->start_seconds);
}
