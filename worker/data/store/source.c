#include "worker/data/store/source.h"

#include <unistd.h>

#include "paceline/data_home.h"
#include "paceline/mem.h"
#include "worker/data/store/kind.h"

/* The folder to look in, malloc'ed; NULL when nothing names one. What was fetched goes before what
 * is installed. */
static char *find_folder(const struct named_set *set, const char *path)
{
    AUTO(auto_free) char *home = set->origin >= ORIGIN_FETCHED ? data_home(set->name) : NULL;

    if (path)
        return xstrdup(path);
    if (set->origin == ORIGIN_INSTALLED && !(home && access(home, F_OK) == 0))
        return xasprintf("/usr/share/datasets/%s", set->name);
    return STEAL(home);
}

/* How to get the files: "`paceline data fetch mnist` gets it, or ...". */
static char *source_advice(const struct named_set *set, const char *of_kind)
{
    AUTO(auto_free)
    char *install =
        xasprintf("install the Debian package dataset-%s or set spec.dataset.path", set->name);
    const char *else_ = set->origin == ORIGIN_INSTALLED ? install : of_kind;

    return set->origin >= ORIGIN_FETCHED
               ? xasprintf("`paceline data fetch %s` gets it, or %s", set->name, else_)
               : xstrdup(else_);
}

int source_open(struct source *s, const struct data_kind *k, const struct job *job, struct err *err)
{
    const struct named_set *set = named_set_find(job->dataset.name);
    AUTO(auto_free) char *folder = find_folder(set, job->dataset.path);
    AUTO(auto_free) char *advice = NULL;
    struct err failure;

    *s = (struct source){.set = set, .kind = k->source, .job = job, .classes = set->classes};
    if (!folder && s->kind->close)
        err_set(&failure, ERR_NOT_FOUND, "no folder is given");
    else if (s->kind->open(s, folder, &failure) == 0)
        return 0;
    source_close(s);
    if (failure.code != ERR_NOT_FOUND)
        return err_set(err, failure.code, "dataset %s: %s", set->name, failure.msg);
    advice = source_advice(set, k->advice);
    return err_set(err, ERR_NOT_FOUND, "dataset %s: %s; %s", set->name, failure.msg, advice);
}

int source_read(struct source *s, const struct source_memory *to, struct err *err)
{
    return s->kind->read(s, to, err);
}

void source_close(struct source *s)
{
    if (s->files)
        s->kind->close(s);
    *s = (struct source){0};
}
