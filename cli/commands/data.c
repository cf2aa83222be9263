/* paceline data: public data sets, fetched when somebody asks for them and never otherwise. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "cli/base/cli.h"
#include "cli/base/format.h"
#include "cli/base/options.h"
#include "cli/data/download.h"
#include "cli/data/fetch.h"
#include "cli/report/table.h"
#include "cli/run/progress.h"
#include "paceline/clock.h"
#include "paceline/data_home.h"
#include "paceline/mem.h"
#include "paceline/nearest.h"

#define MIRROR_VARIABLE "PACELINE_DATA_MIRROR"
#define NOTE_MS 250

static const struct option_row list_rows[] = {
    JSON_OPTION("print the list as JSON"),
};

static const struct command_line list_line = {
    COMMAND_OPTIONS(list_rows),
    .before = "usage: paceline data list [--json]\n"
              "       paceline data fetch NAME [options]\n"
              "Lists the public data sets that can be fetched, or fetches one from its publisher. "
              "Nothing is\n"
              "fetched unless this command is given. `paceline data fetch --help` lists the "
              "options of fetch.\n",
    .after = "examples:\n"
             "  paceline data list\n"
             "  paceline data fetch cifar10\n",
};

static const struct option_row fetch_rows[] = {
    TEXT_OPTION("to", to, "DIR",
                "the folder (default: NAME in PACELINE_DATA, else in "
                "~/.local/share/paceline,\nwhere jobs look for it)"),
    TEXT_OPTION("mirror", mirror, "URL",
                "has the files as URL/NAME/FILE (default: PACELINE_DATA_MIRROR, else "
                "the\npublisher's address)"),
};

static const struct command_line fetch_line = {
    COMMAND_OPTIONS(fetch_rows),
    COMMAND_OPERANDS(1, "NAME"),
    .before = "usage: paceline data fetch NAME [options]\n"
              "Fetches a data set from its publisher, checks it, and unpacks it into a folder. "
              "What was cut or\n"
              "interrupted goes on where it ended; a set that is there is checked and not fetched "
              "again.\n",
    .after = "examples:\n"
             "  paceline data fetch cifar10\n"
             "  paceline data fetch ptb --to texts/ptb\n",
};

static volatile sig_atomic_t interrupted;

static void data_on_signal(int signal)
{
    (void)signal;
    interrupted = 1;
}

/* Whether one checksum of each file is known, SHA-256 if `strong`. */
static bool has_checksums(const struct data_set *set, bool strong)
{
    for (int i = 0; i < DATA_MAX_FILES && set->files[i].name; i++)
        if (!set->files[i].sha256 && (strong || !set->files[i].md5))
            return false;
    return true;
}

static const char *checksum_name(const struct data_set *set)
{
    return has_checksums(set, true) ? "SHA-256" : has_checksums(set, false) ? "MD5" : "none";
}

static void data_print_list_json(void)
{
    AUTO(auto_json) cJSON *data_list = cJSON_CreateArray();

    for (size_t i = 0; i < n_data_sets; i++) {
        const struct data_set *set = &data_sets[i];
        AUTO(auto_free) char *folder = data_home(set->name);
        cJSON *item = cJSON_CreateObject(), *files = cJSON_CreateArray();

        cJSON_AddStringToObject(item, "name", set->name);
        cJSON_AddStringToObject(item, "description", set->description);
        cJSON_AddStringToObject(item, "home", set->homes[0]);
        cJSON_AddStringToObject(item, "checksum", checksum_name(set));
        if (folder)
            cJSON_AddStringToObject(item, "folder", folder);
        if (data_set_bytes(set))
            cJSON_AddNumberToObject(item, "bytes", (double)data_set_bytes(set));
        for (int k = 0; k < DATA_MAX_FILES && set->files[k].name; k++)
            cJSON_AddItemToArray(files, cJSON_CreateString(set->files[k].name));
        cJSON_AddItemToObject(item, "files", files);
        cJSON_AddItemToArray(data_list, item);
    }
    cli_print_json(data_list);
}

static void data_print_list(void)
{
    static const char *const head[] = {"name", "-to fetch", "checksum", "description", NULL};
    AUTO(table_release) struct text_table t;

    table_init(&t, head);
    for (size_t i = 0; i < n_data_sets; i++) {
        uint64_t bytes = data_set_bytes(&data_sets[i]);

        table_cell(&t, data_sets[i].name);
        table_cell(&t, bytes ? format_bytes((double)bytes).s : "?");
        table_cell(&t, checksum_name(&data_sets[i]));
        table_cell(&t, data_sets[i].description);
    }
    table_print(&t, stdout);
}

static int data_list(int argc, char **argv)
{
    struct options o;
    int code;

    if (!options_parse(&o, argc, argv, &list_line, &code))
        return code;
    if (o.json)
        data_print_list_json();
    else
        data_print_list();
    return EXIT_OK;
}

/* The line that shows how far a file is: drawn again in place on a terminal, one a file elsewhere.
 */
struct fetch_watch {
    struct progress progress;
    const struct data_file *file; /* that was shown last */
    int64_t next_ms;              /* a terminal: no line before */
};

static void data_show(void *arg, const struct data_file *file, uint64_t bytes)
{
    struct fetch_watch *w = arg;
    int64_t now = clock_ms();
    bool fresh = file != w->file;

    if (w->progress.live ? !fresh && now < w->next_ms : !fresh)
        return;
    w->file = file;
    w->next_ms = now + NOTE_MS;
    if (!w->progress.live)
        progress_note(&w->progress, "%s, %s", file->name,
                      file->size ? format_bytes((double)file->size).s : "of unknown size");
    else if (file->size)
        progress_note(&w->progress, "%s  %s of %s  %s", file->name, format_bytes((double)bytes).s,
                      format_bytes((double)file->size).s,
                      format_percent((double)bytes / (double)file->size).s);
    else
        progress_note(&w->progress, "%s  %s", file->name, format_bytes((double)bytes).s);
}

static void data_catch_signals(void)
{
    const struct sigaction action = {.sa_handler = data_on_signal};
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

    for (size_t i = 0; i < ARRAY_LEN(signals); i++)
        sigaction(signals[i], &action, NULL);
}

static const struct data_set *find_set(const char *name, int *code)
{
    AUTO(auto_free) const char **names = xcalloc(n_data_sets, sizeof *names);
    const struct data_set *set = data_set_find(name);
    const char *near;

    if (set)
        return set;
    for (size_t i = 0; i < n_data_sets; i++)
        names[i] = data_sets[i].name;
    near = nearest(name, names, n_data_sets);
    *code = cli_usage_error("data fetch", "found \"%s\", no data set that is known here%s%s%s",
                            name, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    return NULL;
}

static int data_run_fetch(const struct fetch *f, struct err *err)
{
    bool fetched;

    data_catch_signals();
    if (f->mirror && download_check_url(f->mirror, err) < 0)
        return -1;
    if (!has_checksums(f->set, false))
        fprintf(stderr,
                "no checksum of %s is known here for certain: what comes is taken as it is\n",
                f->set->name);
    if (data_fetch(f, &fetched, err) < 0)
        return -1;
    return fetched;
}

static int run_fetch(int argc, char **argv)
{
    AUTO(options_release) struct options o;
    AUTO(auto_free) char *home = NULL;
    const char *mirror = getenv(MIRROR_VARIABLE);
    struct fetch_watch watch = {0};
    struct fetch f = {.note = data_show, .arg = &watch, .stop = &interrupted};
    struct err err;
    int code;

    if (!options_parse(&o, argc, argv, &fetch_line, &code))
        return code;
    f.set = find_set(o.operand, &code);
    if (!f.set)
        return code;
    home = data_home(f.set->name);
    f.to = o.to && *o.to ? o.to : home;
    if (!f.to)
        return cli_usage_error("data fetch",
                               "neither HOME nor PACELINE_DATA is set: --to is needed");
    f.mirror = o.mirror ? o.mirror : mirror && *mirror ? mirror : NULL;
    progress_init(&watch.progress, stderr);
    code = data_run_fetch(&f, &err);
    progress_end(&watch.progress);
    if (code >= 0) {
        printf("%s: %s\n", f.to,
               code ? "fetched and checked" : "there already, and as it was fetched");
        return EXIT_OK;
    }
    fprintf(stderr, "paceline data fetch: %s%s\n", err.msg,
            err.code == ERR_INTERRUPTED ? "; the same command goes on where it ended" : "");
    return err_exit_code(err.code);
}

int cmd_data(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
    } verbs[] = {{"list", data_list}, {"fetch", run_fetch}};
    static char names[][16] = {"data list", "data fetch"};
    const char *word = argc > 1 ? argv[1] : "";

    for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
        if (strcmp(word, verbs[i].name) == 0) {
            argv[1] = names[i]; /* what its messages begin with */
            return verbs[i].run(argc - 1, argv + 1);
        }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        AUTO(buf_release) struct buf text;

        buf_init(&text, 0);
        command_line_help(&list_line, &text);
        fputs(text.data, stdout);
        return EXIT_OK;
    }
    if (!*word)
        return cli_usage_error("data", "list or fetch is missing");
    return cli_usage_error("data", "found \"%s\"; list and fetch are allowed", word);
}
