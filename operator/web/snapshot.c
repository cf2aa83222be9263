#include "operator/web/snapshot.h"

const char *const snapshot_state_names[N_SNAPSHOT_STATES] = {
    "Pending", "Running", "Restarting", "Blocked", "Suspended", "Succeeded", "Failed",
};

const char *const snapshot_restart_names[N_SNAPSHOT_RESTARTS] = {"Exit", "Disrupted", "NodeLost"};

/* From a small job's reconcile (10 us) to a job of thousands of pods behind a slow API server. */
const double snapshot_bounds[N_BUCKETS] = {
    0.00001, 0.00005, 0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60,
};

const char *const snapshot_code_names[N_CODES] = {
    "none", "1xx", "2xx", "3xx", "4xx", "5xx", "409", "429",
};

void histogram_add(struct histogram *h, double seconds)
{
    int bucket = 0;

    if (!(seconds > 0)) /* of two clocks; and a NaN would spoil the sum for good */
        seconds = 0;
    while (bucket < N_BUCKETS && seconds > snapshot_bounds[bucket])
        bucket++;
    h->counts[bucket]++;
    h->sum += seconds;
}

int snapshot_code(int status)
{
    switch (status) {
    case 409:
        return 6;
    case 429:
        return 7;
    default:
        return status >= 100 && status <= 599 ? status / 100 : 0;
    }
}
