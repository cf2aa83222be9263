#include "common/pattern.h"

#include <ctype.h>
#include <pthread.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "paceline/mem.h"

enum { PATTERNS_MAX = 32 };

struct pattern {
    const char *text;
    regex_t re;
    bool simple; /* ^[first][rest]{0,most}$ */
    bool first[256], rest[256];
    long most;
};

/* Takes "[a-z_-]" off the text; false: it begins otherwise. */
static bool take_set(const char **text, bool set[256])
{
    const unsigned char *p = (const unsigned char *)*text;

    if (*p++ != '[' || *p == '^' || *p == ']')
        return false;
    for (; *p && *p != ']'; p++) {
        bool range = p[1] == '-' && p[2] && p[2] != ']';

        if (*p == '[') /* a class */
            return false;
        for (int c = *p; c <= (range ? p[2] : *p); c++)
            set[c] = true;
        p += range ? 2 : 0;
    }
    if (!*p)
        return false;
    *text = (const char *)p + 1;
    return true;
}

/* Names of layers have such a pattern, and a job may have 16,384 of them; regexec takes a
 * microsecond for each. */
static bool is_simple(struct pattern *p, const char *text)
{
    char *end;

    if (*text++ != '^' || !take_set(&text, p->first) || !take_set(&text, p->rest) ||
        strncmp(text, "{0,", 3) != 0 || !isdigit((unsigned char)text[3]))
        return false;
    p->most = strtol(text + 3, &end, 10);
    return strcmp(end, "}$") == 0;
}

/* Compiling takes a hundred times as long as matching, so each pattern is compiled once. Returns
 * NULL if it is not valid, or the table is full. */
static const struct pattern *compiled(const char *text)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct pattern all[PATTERNS_MAX];
    const struct pattern *found = NULL;
    size_t i = 0;

    pthread_mutex_lock(&lock);
    while (i < ARRAY_LEN(all) && all[i].text && strcmp(all[i].text, text) != 0)
        i++;
    if (i < ARRAY_LEN(all) && !all[i].text &&
        regcomp(&all[i].re, text, REG_EXTENDED | REG_NOSUB) == 0) {
        all[i].simple = is_simple(&all[i], text);
        all[i].text = text;
    }
    if (i < ARRAY_LEN(all) && all[i].text)
        found = &all[i];
    pthread_mutex_unlock(&lock);
    return found;
}

static bool pattern_fits(const struct pattern *p, const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    long n = 0;

    if (!p->first[*c++])
        return false;
    while (n <= p->most && p->rest[c[n]])
        n++;
    return n <= p->most && !c[n];
}

bool pattern_matches(const char *pattern, const char *text)
{
    const struct pattern *p = compiled(pattern);

    return p && (p->simple ? pattern_fits(p, text) : regexec(&p->re, text, 0, NULL, 0) == 0);
}
