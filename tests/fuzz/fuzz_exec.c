// LINK: common agent/exec_argv.c agent/mpirun.c
/*
 * A daemon's command line of any words, as JSON from the wire, or by lines from mpirun: no crash;
 * what is accepted is orted or prted with words that no program takes for more than a value.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/exec_argv.h"
#include "paceline/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool harmless(const char *word)
{
    for (; *word; word++)
        if (*word <= ' ' || *word > '~' || strchr("\"'$`\\<>|&*?=", *word))
            return false;
    return true;
}

static void check(const cJSON *list)
{
    struct exec_argv argv = {0};
    struct err err = {0};

    if (exec_argv_check(&argv, list, &err) < 0) {
        if (err.code != ERR_INVALID || !*err.msg)
            abort();
        return;
    }
    if (argv.n < 1 || argv.n > EXEC_ARGV_MAX || argv.items[argv.n] ||
        (strcmp(argv.items[0], "orted") != 0 && strcmp(argv.items[0], "prted") != 0))
        abort();
    for (size_t i = 0; i < argv.n; i++)
        if (!*argv.items[i] || !harmless(argv.items[i]))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(auto_json) cJSON *wire = NULL;
    AUTO(auto_json) cJSON *lines = NULL;
    AUTO(auto_free) char *text = xasprintf("%.*s", (int)size, (const char *)data);
    char *words[EXEC_ARGV_MAX + 2], *save = NULL;
    struct err err;
    int n = 0;

    if (json_parse(&wire, (const char *)data, size, "fuzz", &err) == 0)
        check(wire);
    for (char *word = strtok_r(text, "\n", &save); word && n < (int)ARRAY_LEN(words);
         word = strtok_r(NULL, "\n", &save))
        words[n++] = word;
    lines = exec_argv_words(n, words);
    check(lines);
    return 0;
}
