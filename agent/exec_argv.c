#include "agent/exec_argv.h"

#include <stdbool.h>
#include <string.h>

#include "agent/mpirun.h"
#include "paceline/mem.h"

cJSON *exec_argv_words(int n, char *const *words)
{
    cJSON *list = cJSON_CreateArray();

    for (int i = 0; i < n; i++) {
        const char *word = words[i], *end;
        AUTO(auto_free) char *bare = NULL;

        if (i == 0) { /* " orted", or Open MPI 5's "PRTE_PREFIX=/usr;export PRTE_PREFIX;...prted" */
            word = (end = strrchr(word, ';')) ? end + 1 : word;
            word += strspn(word, " ");
            word = (end = strrchr(word, '/')) ? end + 1 : word;
        }
        end = word + strlen(word);
        if (end - word >= 2 && *word == '"' && end[-1] == '"')
            word++, end--;
        bare = xasprintf("%.*s", (int)(end - word), word);
        cJSON_AddItemToArray(list, cJSON_CreateString(bare));
    }
    return list;
}

static const char *const daemons[] = {"orted", "prted"};

/* Flags; --daemonize and --tree-spawn are missing on purpose: a daemon stays with its connection,
 * and starts no other. */
static const char *const flags[] = {"--leave-session-attached", "--allow-run-as-root"};

/* The flags that come before an MCA parameter and its value. */
static const char *const parameter_flags[] = {"-mca", "--mca", "--prtemca", "--pmixmca"};

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

/*
 * MCA parameters that the chief passes on. Without characters they are left out: the daemon needs
 * none of them, or mpirun makes them of its own command line.
 */
static const struct parameter {
    const char *name;
    const char *characters; /* of its value */
} parameters[] = {
    {"ess", LETTERS},                                 /* that mpirun has started it */
    {"ess_base_jobid", DIGITS},                       /* who it is: Open MPI 4 */
    {"ess_base_nspace", LETTERS DIGITS "-_.@"},       /* ... 5 */
    {"ess_base_vpid", DIGITS},                        /* which one of */
    {"ess_base_num_procs", DIGITS},                   /* how many */
    {"orte_hnp_uri", LETTERS DIGITS ".;:/,@-_[]"},    /* where mpirun listens: 4 */
    {"prte_hnp_uri", LETTERS DIGITS ".;:/,@-_[]"},    /* ... 5 */
    {"orte_node_regex", LETTERS DIGITS ".:,@-_[]()"}, /* all hosts */
    {"pmix", LETTERS DIGITS "^,_"},                   /* components that mpirun has chosen */
    {"plm", NULL},                                    /* it starts no other daemons */
    {"hwloc_base_binding_policy", NULL},              /* --bind-to: mpirun tells it later */
    {"rmaps_base_mapping_policy", NULL},              /* --map-by: mpirun maps */
    {"orte_leave_session_attached", NULL},            /* --leave-session-attached */
    {"pmix_session_server", NULL},                    /* for tools */
    {"PREFIXES", NULL},                               /* a list of its own frameworks */
    {"mca_base_component_show_load_errors", NULL},    /* what is printed */
};

static bool listed(const char *const *list, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i], word) == 0)
            return true;
    return false;
}

static int exec_argv_refuse(struct err *err, const char *what, const char *word)
{
    return err_set(err, ERR_INVALID, "%s \"%.80s\" is not allowed for Open MPI's daemon", what,
                   word);
}

/* Takes an MCA parameter; words are its flag, its name and its value. */
static int take_parameter(struct exec_argv *out, const char *const words[3], struct err *err)
{
    const struct parameter *p = parameters, *end = parameters + ARRAY_LEN(parameters);

    if (mpirun_sets(words[1]))
        return 0;
    while (p < end && strcmp(p->name, words[1]) != 0)
        p++;
    if (p == end)
        return exec_argv_refuse(err, "MCA parameter", words[1]);
    if (!p->characters)
        return 0;
    if (!*words[2] || words[2][strspn(words[2], p->characters)])
        return err_set(err, ERR_INVALID, "MCA parameter %s: value \"%.80s\" is not allowed",
                       p->name, words[2]);
    for (int i = 0; i < 3; i++)
        out->items[out->n++] = words[i];
    return 0;
}

/* Collects the list's strings; their characters are looked at later. */
static int exec_argv_collect(const char **words, size_t *n, const cJSON *list, struct err *err)
{
    const cJSON *item;

    *n = 0;
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsString(item) || strlen(item->valuestring) > EXEC_WORD_MAX ||
            *n == EXEC_ARGV_MAX)
            return err_set(err, ERR_INVALID, "argv: at most %d strings of at most %d bytes",
                           EXEC_ARGV_MAX, EXEC_WORD_MAX);
        words[(*n)++] = item->valuestring;
    }
    return 0;
}

int exec_argv_check(struct exec_argv *out, const cJSON *list, struct err *err)
{
    const char *words[EXEC_ARGV_MAX];
    size_t n;

    if (exec_argv_collect(words, &n, list, err) < 0)
        return -1;
    if (!cJSON_IsArray(list) || n == 0 || !listed(daemons, ARRAY_LEN(daemons), words[0]))
        return exec_argv_refuse(err, "program", n ? words[0] : "");
    *out = (struct exec_argv){.items = {words[0]}, .n = 1};
    for (size_t i = 1; i < n; i++) {
        if (listed(flags, ARRAY_LEN(flags), words[i])) {
            out->items[out->n++] = words[i];
        } else if (listed(parameter_flags, ARRAY_LEN(parameter_flags), words[i]) && n - i > 2) {
            if (take_parameter(out, words + i, err) < 0)
                return -1;
            i += 2;
        } else {
            return exec_argv_refuse(err, "argument", words[i]);
        }
    }
    return 0;
}
