#include "operator/options.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "paceline/err.h"
#include "paceline/listener.h"
#include "paceline/mem.h"
#include "paceline/nearest.h"

enum operator_option_kind { FLAG, TEXT, NAME, NONE, DURATION, COUNT, RATE, LEVEL };

#define FIELD(f) offsetof(struct operator_options, f)
static const struct operator_option {
    const char *name;
    enum operator_option_kind kind;
    size_t offset;
    int64_t max; /* of a count */
    const char *value, *help;
} defs[] = {
    {"kubeconfig", TEXT, FIELD(kubeconfig), 0, "FILE", "credentials; else those of the pod"},
    {"context", TEXT, FIELD(context), 0, "NAME", "which context of the kubeconfig"},
    {"namespace", NAME, FIELD(namespace_), 0, "NS", "look after one namespace (its own)"},
    {"all-namespaces", FLAG, FIELD(all_namespaces), 0, "", "look after the whole cluster"},
    {"operator-namespace", NAME, FIELD(operator_namespace), 0, "NS",
     "where its Lease and its key are"},
    {"identity", TEXT, FIELD(identity), 0, "NAME", "the Lease's holder (host name, random)"},
    {"lease-name", NAME, FIELD(lease_name), 0, "NAME", "(paceline-operator)"},
    {"lease-duration", DURATION, FIELD(lease_ms), 0, "TIME", "others wait this long (15s)"},
    {"renew-deadline", DURATION, FIELD(renew_ms), 0, "TIME", "a leader gives up after (10s)"},
    {"retry-period", DURATION, FIELD(retry_ms), 0, "TIME", "between tries (2s)"},
    {"no-leader-election", FLAG, FIELD(no_election), 0, "", "lead at once, without a Lease"},
    {"reach-pods", FLAG, FIELD(reach_pods), 0, "",
     "connect to pods from outside of the cluster: built-in jobs need it"},
    {"max-writes", COUNT, FIELD(max_writes), 1024, "N", "requests under way at once (32)"},
    {"qps", RATE, FIELD(qps), 0, "N", "writes per second; 0: no limit (0)"},
    {"burst", RATE, FIELD(burst), 0, "N", "writes at once beyond --qps (100)"},
    {"page-size", COUNT, FIELD(page), 10000, "N", "objects per page of a list (100)"},
    {"request-timeout", DURATION, FIELD(request_ms), 0, "TIME", "of one request (10s)"},
    {"web-address", TEXT, FIELD(web_address), 0, "ADDRESS",
     "metrics and health: 127.0.0.1:8080, [::]:8080, :8080"},
    {"web", NONE, FIELD(web_address), 0, "none", "serve nothing"},
    {"cluster-domain", NAME, FIELD(cluster_domain), 0, "DOMAIN",
     "what host names of jobs end with, such as cluster.local (nothing)"},
    {"worker-image", TEXT, FIELD(worker_image), 0, "IMAGE",
     "of jobs with spec.model, and of the agent with spec.mpi"},
    {"master-key-file", TEXT, FIELD(master_key_file), 0, "FILE", "32 bytes; else the Secret"},
    {"release-finalizers", FLAG, FIELD(release_finalizers), 0, "",
     "let all pods of jobs go, whose outcomes nobody notes any more, and end"},
    {"log-level", LEVEL, FIELD(log_level), 0, "LEVEL", "debug, info, warn or error (info)"},
};

static const char *const levels[] = {"debug", "info", "warn", "error"};

static void operator_options_print_usage(void)
{
    puts("paceline-operator runs TrainingJobs on Kubernetes.\n\n"
         "usage: paceline-operator [options]\n");
    for (size_t i = 0; i < ARRAY_LEN(defs); i++) {
        char left[64];

        snprintf(left, sizeof left, "--%s %s", defs[i].name, defs[i].value);
        printf("  %-30s %s\n", left, defs[i].help);
    }
    puts(
        "  --version, --help\n\n"
        "Times are like 15s, 500ms, 1m30s. PACELINE_MASTER_KEY_FILE stands for --master-key-file.\n"
        "SIGTERM ends it in order, a second one at once.\n"
        "examples:\n"
        "  paceline-operator --all-namespaces\n"
        "  paceline-operator --kubeconfig ~/.kube/config --namespace team-a --reach-pods");
}

/* Prints one sentence and gives the exit code. */
__attribute__((format(printf, 1, 2))) static int usage_error(const char *fmt, ...)
{
    va_list args;

    fputs("paceline-operator: ", stderr);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputs("; `paceline-operator --help` lists the options\n", stderr);
    return EXIT_INVALID;
}

/* "1m30s" as Go writes it, without fractions; -1: none. */
static int64_t parse_duration(const char *text)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};
    int64_t total = 0;
    size_t next = ARRAY_LEN(units); /* units shrink from left to right */

    if (!*text)
        return -1;
    while (*text) {
        size_t digits = strspn(text, "0123456789"), unit = ARRAY_LEN(units), letters;
        int64_t number = strtoll(text, NULL, 10);

        if (digits == 0 || digits > 9)
            return -1;
        letters = strspn(text + digits, "hms");
        for (size_t i = 0; i < next; i++)
            if (strlen(units[i].unit) == letters &&
                strncmp(text + digits, units[i].unit, letters) == 0)
                unit = i;
        if (unit == ARRAY_LEN(units))
            return -1;
        total += number * units[unit].ms;
        next = unit;
        text += digits + letters;
    }
    return total;
}

static int store_duration(int64_t *out, const struct operator_option *def, const char *value)
{
    int64_t ms = parse_duration(value);

    if (ms <= 0 || ms > 86400000)
        return usage_error("--%s is \"%s\"; it takes a time such as 15s, 500ms or 1m30s, up to 24h",
                           def->name, value);
    *out = ms;
    return EXIT_OK;
}

static int store_count(int64_t *out, const struct operator_option *def, const char *value)
{
    char *end;
    long long count;

    count = strtoll(value, &end, 10); /* too large a number is the largest */
    if (end == value || *end || count < 1 || count > def->max)
        return usage_error("--%s is \"%s\"; it takes a whole number from 1 to %lld", def->name,
                           value, (long long)def->max);
    *out = count;
    return EXIT_OK;
}

static int store_rate(double *out, const struct operator_option *def, const char *value)
{
    char *end;
    double rate = strtod(value, &end);

    if (end == value || *end || !(rate >= 0 && rate <= 1e6))
        return usage_error("--%s is \"%s\"; it takes a number from 0 to 1000000", def->name, value);
    *out = rate;
    return EXIT_OK;
}

/* A DNS label, or several with dots: what the API takes for namespaces and Leases. */
static int store_name(const char **out, const struct operator_option *def, const char *value)
{
    static const char alnum[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    static const char inner[] = "abcdefghijklmnopqrstuvwxyz0123456789-.";
    size_t n = strlen(value);

    if (n == 0 || n > 253 || strspn(value, inner) != n || !strchr(alnum, value[0]) ||
        !strchr(alnum, value[n - 1]))
        return usage_error("--%s is \"%s\"; it takes a name of lower-case letters, digits and "
                           "dashes",
                           def->name, value);
    *out = value;
    return EXIT_OK;
}

static int store_level(enum log_level *out, const char *value)
{
    for (size_t i = 0; i < ARRAY_LEN(levels); i++)
        if (strcmp(value, levels[i]) == 0) {
            *out = (enum log_level)i;
            return EXIT_OK;
        }
    return usage_error("--log-level is \"%s\"; it takes debug, info, warn or error", value);
}

static int operator_options_store(struct operator_options *o, const struct operator_option *def,
                                  const char *value)
{
    void *field = (char *)o + def->offset;

    switch (def->kind) {
    case FLAG:
        *(bool *)field = true;
        return EXIT_OK;
    case TEXT:
        if (!*value)
            return usage_error("--%s is empty", def->name);
        *(const char **)field = value;
        return EXIT_OK;
    case NONE:
        if (strcmp(value, "none") != 0)
            return usage_error("--%s is \"%s\"; it takes none, and --web-address an address",
                               def->name, value);
        *(const char **)field = value;
        return EXIT_OK;
    case NAME:
        return store_name(field, def, value);
    case DURATION:
        return store_duration(field, def, value);
    case COUNT:
        return store_count(field, def, value);
    case RATE:
        return store_rate(field, def, value);
    case LEVEL:
        return store_level(field, value);
    }
    return EXIT_UNEXPECTED;
}

static const struct operator_option *operator_options_find(const char *argument, size_t *len)
{
    *len = strcspn(argument, "=");
    for (size_t i = 0; i < ARRAY_LEN(defs); i++)
        if (strlen(defs[i].name) == *len && memcmp(defs[i].name, argument, *len) == 0)
            return &defs[i];
    return NULL;
}

static int operator_options_unknown(const char *argument, size_t len)
{
    const char *names[ARRAY_LEN(defs)], *near;
    char word[64];

    for (size_t i = 0; i < ARRAY_LEN(defs); i++)
        names[i] = defs[i].name;
    snprintf(word, sizeof word, "%.*s", (int)len, argument);
    near = nearest(word, names, ARRAY_LEN(names));
    return usage_error("unknown option --%s%s%s%s", word, near ? "; did you mean --" : "",
                       near ? near : "", near ? "?" : "");
}

/* Takes argv[*i], and the argument after it where that is the value. */
static int operator_options_take(struct operator_options *o, char **argv, int *i)
{
    const char *argument = argv[*i] + 2, *value = strchr(argument, '=');
    size_t len;
    const struct operator_option *def = operator_options_find(argument, &len);

    if (!def)
        return operator_options_unknown(argument, len);
    if (def->kind == FLAG && value)
        return usage_error("--%s takes no value", def->name);
    if (def->kind != FLAG && !value && !argv[*i + 1])
        return usage_error("--%s needs a value", def->name);
    if (value)
        value++;
    else if (def->kind != FLAG)
        value = argv[++*i];
    return operator_options_store(o, def, value);
}

/* Rules across options. */
static int operator_options_check(const struct operator_options *o)
{
    struct listener_address address;
    struct err err;

    if (o->namespace_ && o->all_namespaces)
        return usage_error("--namespace and --all-namespaces exclude each other");
    if (o->lease_ms % 1000)
        return usage_error("--lease-duration must be whole seconds, which a Lease counts");
    if (o->renew_ms >= o->lease_ms)
        return usage_error("--renew-deadline must be shorter than --lease-duration, so that a "
                           "leader gives up before another one begins");
    if (o->retry_ms >= o->renew_ms)
        return usage_error("--retry-period must be shorter than --renew-deadline");
    if (o->qps > 0 && o->burst < 1)
        return usage_error("--burst must be at least 1 where --qps sets a limit");
    if (o->web_address && strcmp(o->web_address, "none") != 0 &&
        listener_parse(&address, o->web_address, &err) != 0)
        return usage_error("--web-address: %s", err.msg);
    return EXIT_OK;
}

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
    *exit_code = EXIT_OK;
    for (int i = 1; i < argc && *exit_code == EXIT_OK; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            operator_options_print_usage();
            return false;
        }
        if (strcmp(argv[i], "--version") == 0) {
            puts("paceline-operator " PACELINE_VERSION);
            return false;
        }
        if (strncmp(argv[i], "--", 2) == 0 && argv[i][2])
            *exit_code = operator_options_take(o, argv, &i);
        else
            *exit_code = usage_error("unexpected argument \"%s\"", argv[i]);
    }
    if (*exit_code == EXIT_OK)
        *exit_code = operator_options_check(o);
    return *exit_code == EXIT_OK;
}
