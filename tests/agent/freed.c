/*
 * Preloaded into the agent (tests/agent/test_freed_keys.sh): searches each block for the job's key
 * when it is freed, also blocks of libraries. FREED_NEEDLES has what to look for, words of hex
 * digits; FREED_REPORT names the file that gets a line for each find, and at the end a line with
 * the number of blocks.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NEEDLES = 8 };

static struct {
    unsigned char bytes[64];
    size_t n;
} needles[NEEDLES];
static int n_needles, report = -1;
static size_t n_searched;
static __thread bool searching;
static void (*real_free)(void *block);

static unsigned digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (unsigned)(at - digits) : 16;
}

static void read_needles(const char *hex)
{
    for (; *hex && n_needles < NEEDLES; hex += *hex == ' ', n_needles++)
        for (size_t n = 0; digit(hex[0]) < 16 && digit(hex[1]) < 16; hex += 2)
            if (n < sizeof needles->bytes) {
                needles[n_needles].bytes[n++] = (unsigned char)(digit(hex[0]) << 4 | digit(hex[1]));
                needles[n_needles].n = n;
            }
}

static void say(const char *what, size_t number)
{
    char line[128];
    const int n = snprintf(line, sizeof line, "%s %zu\n", what, number);

    if (write(report, line, (size_t)n) != n)
        abort();
}

__attribute__((constructor)) static void begin(void)
{
    const char *hex = getenv("FREED_NEEDLES"), *file = getenv("FREED_REPORT");
    void *found = dlsym(RTLD_NEXT, "free");

    memcpy(&real_free, &found, sizeof real_free);
    if (!hex || !file)
        return;
    read_needles(hex);
    report = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

__attribute__((destructor)) static void end(void)
{
    if (report >= 0)
        say("searched", n_searched);
}

static void search(const void *block, size_t n)
{
    searching = true; /* what is said is freed, too */
    n_searched++;
    for (int i = 0; i < n_needles; i++)
        if (memmem(block, n, needles[i].bytes, needles[i].n)) {
            char what[64];

            snprintf(what, sizeof what, "found needle %d in a freed block of bytes", i);
            say(what, n);
        }
    searching = false;
}

void free(void *block)
{
    if (block && report >= 0 && !searching)
        search(block, malloc_usable_size(block));
    if (real_free)
        real_free(block);
}

/* Always to another place, as the real one may do. */
void *realloc(void *block, size_t n)
{
    const size_t old = block ? malloc_usable_size(block) : 0;
    void *larger = malloc(n ? n : 1);

    if (larger && block) {
        memcpy(larger, block, old < n ? old : n);
        free(block);
    }
    return larger;
}
