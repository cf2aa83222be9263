#include "operator/options.h"

#include <string.h>

#include "paceline/command_line.h"
#include "paceline/listener.h"
#include "paceline/mem.h"

#define INTO(f) .offset = offsetof(struct operator_options, f)
static const char *const levels[] = {"debug", "info", "warn", "error", NULL};
static const char *const nothing[] = {"none", NULL};
static const struct option_row rows[] = {
    {"kubeconfig", OPTION_TEXT, INTO(kubeconfig), "FILE", "credentials; else those of the pod"},
    {"context", OPTION_TEXT, INTO(context), "NAME", "which context of the kubeconfig"},
    {"namespace", OPTION_NAME, INTO(namespace_), "NS", "look after one namespace (its own)"},
    {"all-namespaces", OPTION_FLAG, INTO(all_namespaces), .help = "look after the whole cluster"},
    {"operator-namespace", OPTION_NAME, INTO(operator_namespace), "NS",
     "where its Lease and its key are"},
    {"identity", OPTION_TEXT, INTO(identity), "NAME", "the Lease's holder (host name, random)"},
    {"lease-name", OPTION_NAME, INTO(lease_name), "NAME", "(paceline-operator)"},
    {"lease-duration", OPTION_DURATION, INTO(lease_ms), "TIME", "others wait this long (15s)"},
    {"renew-deadline", OPTION_DURATION, INTO(renew_ms), "TIME", "a leader gives up after (10s)"},
    {"retry-period", OPTION_DURATION, INTO(retry_ms), "TIME", "between tries (2s)"},
    {"no-leader-election", OPTION_FLAG, INTO(no_election), .help = "lead at once, without a Lease"},
    {"reach-pods", OPTION_FLAG, INTO(reach_pods),
     .help = "connect to pods from outside of the cluster: built-in jobs need it"},
    {"max-writes", OPTION_COUNT, INTO(max_writes), "N", "requests under way at once (32)", .min = 1,
     .max = 1024},
    {"qps", OPTION_NUMBER, INTO(qps), "N", "writes per second; 0: no limit (0)", .max = 1000000},
    {"burst", OPTION_NUMBER, INTO(burst), "N", "writes at once beyond --qps (100)", .max = 1000000},
    {"page-size", OPTION_COUNT, INTO(page), "N", "objects per page of a list (100)", .min = 1,
     .max = 10000},
    {"request-timeout", OPTION_DURATION, INTO(request_ms), "TIME", "of one request (10s)"},
    {"web-address", OPTION_TEXT, INTO(web_address), "ADDRESS",
     "metrics and health: 127.0.0.1:8080, [::]:8080, :8080"},
    {"web", OPTION_TEXT, INTO(web_address), "none", "serve nothing", .choices = nothing},
    {"cluster-domain", OPTION_NAME, INTO(cluster_domain), "DOMAIN",
     "what host names of jobs end with, such as cluster.local (nothing)"},
    {"worker-image", OPTION_TEXT, INTO(worker_image), "IMAGE",
     "of jobs with spec.model, and of the agent with spec.mpi"},
    {"master-key-file", OPTION_TEXT, INTO(master_key_file), "FILE", "32 bytes; else the Secret"},
    {"release-finalizers", OPTION_FLAG, INTO(release_finalizers),
     .help = "let all pods of jobs go, whose outcomes nobody notes any more, and end"},
    {"log-level", OPTION_CHOICE, INTO(log_level), "LEVEL", "debug, info, warn or error (info)",
     .choices = levels},
};

/* Rules across options. */
static int operator_options_check(const void *values, struct err *err)
{
    const struct operator_options *o = values;
    struct listener_address address;

    if (o->namespace_ && o->all_namespaces)
        return err_set(err, ERR_INVALID, "--namespace and --all-namespaces exclude each other");
    if (o->lease_ms % 1000)
        return err_set(err, ERR_INVALID,
                       "--lease-duration must be whole seconds, which a Lease counts");
    if (o->renew_ms >= o->lease_ms)
        return err_set(err, ERR_INVALID,
                       "--renew-deadline must be shorter than --lease-duration, so that a "
                       "leader gives up before another one begins");
    if (o->retry_ms >= o->renew_ms)
        return err_set(err, ERR_INVALID, "--retry-period must be shorter than --renew-deadline");
    if (o->qps > 0 && o->burst < 1)
        return err_set(err, ERR_INVALID, "--burst must be at least 1 where --qps sets a limit");
    if (o->web_address && strcmp(o->web_address, "none") != 0 &&
        listener_parse(&address, o->web_address, err) != 0)
        return err_wrap(err, "--web-address");
    return 0;
}

static const struct command_line line = {
    .program = "paceline-operator",
    .rows = rows,
    .n_rows = ARRAY_LEN(rows),
    .check = operator_options_check,
    .version = "paceline-operator " PACELINE_VERSION,
    .before = "paceline-operator runs TrainingJobs on Kubernetes.\n\n"
              "usage: paceline-operator [options]\n\n",
    .after =
        "  --version, --help\n\n"
        "Times are like 15s, 500ms, 1m30s. PACELINE_MASTER_KEY_FILE stands for --master-key-file.\n"
        "SIGTERM ends it in order, a second one at once.\n"
        "examples:\n"
        "  paceline-operator --all-namespaces\n"
        "  paceline-operator --kubeconfig ~/.kube/config --namespace team-a --reach-pods\n",
};

bool options_parse(struct operator_options *o, int argc, char **argv, int *exit_code)
{
    *o = (struct operator_options){.lease_name = "paceline-operator",
                                   .lease_ms = 15000,
                                   .renew_ms = 10000,
                                   .retry_ms = 2000,
                                   .request_ms = 10000,
                                   .max_writes = 32,
                                   .page = 100,
                                   .burst = 100,
                                   .worker_image = "paceline-worker:" PACELINE_VERSION,
                                   .master_key_file = getenv("PACELINE_MASTER_KEY_FILE"),
                                   .log_level = LOG_INFO};
    return command_line_parse(&line, o, argc, argv, exit_code);
}
