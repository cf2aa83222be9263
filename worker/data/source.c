#include "worker/data/store/source.h"

#include <unistd.h>

#include "paceline/data_home.h"
#include "paceline/mem.h"

#define PUT_IN_FOLDER "put the four files into a folder and name it in spec.dataset.path"
#define CIFAR_FILES "put the binary version's files into a folder and name it in spec.dataset.path"
#define FETCH(name) "`paceline data fetch " name "` gets it, or "

static const struct known_set known_sets[] = {
    {"fashion-mnist",
     &idx_source,
     "/usr/share/datasets/fashion-mnist",
     FETCH("fashion-mnist") "install the Debian package dataset-fashion-mnist or set "
                            "spec.dataset.path",
     10,
     {1, 28, 28}},
    {"mnist", &idx_source, NULL, FETCH("mnist") PUT_IN_FOLDER, 10, {1, 28, 28}},
    {"cifar10", &cifar_source, NULL, FETCH("cifar10") CIFAR_FILES, 10, {3, 32, 32}},
    {"cifar100", &cifar_source, NULL, FETCH("cifar100") CIFAR_FILES, 100, {3, 32, 32}},
    {.name = "images",
     .kind = &image_source,
     .advice = "name a folder of folders of images, one per class, in spec.dataset.path"},
    {.name = "patterns", .kind = &synthetic_patterns},
    {.name = "spectra", .kind = &synthetic_spectra},
    {.name = "scenes", .kind = &synthetic_scenes},
    {.name = "idx", .kind = &idx_source, .advice = PUT_IN_FOLDER},
};

const struct known_set *known_set_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(known_sets); i++)
        if (strcmp(known_sets[i].name, name) == 0)
            return &known_sets[i];
    return NULL;
}

/* The folder to look in, malloc'ed; NULL when nothing names one. What was fetched goes before what
 * is installed. */
static char *find_folder(const struct known_set *set, const char *path)
{
    AUTO(auto_free) char *home = set->shape.c ? data_home(set->name) : NULL;

    if (path)
        return xstrdup(path);
    if (set->folder && !(home && access(home, F_OK) == 0))
        return xstrdup(set->folder);
    return STEAL(home);
}

int source_open(struct source *s, const struct job *job, struct err *err)
{
    const struct known_set *set = known_set_find(job->dataset.name);
    AUTO(auto_free) char *folder = set ? find_folder(set, job->dataset.path) : NULL;
    struct err failure;

    *s = (struct source){.set = set, .job = job, .classes = set ? set->classes : 0};
    if (!set)
        return err_set(err, ERR_INVALID, "spec.dataset.name: \"%s\" is no data set",
                       job->dataset.name);
    if (!folder && set->kind->close)
        return err_set(err, ERR_NOT_FOUND, "dataset %s: no folder is given; %s", set->name,
                       set->advice);
    if (set->kind->open(s, folder, &failure) == 0)
        return 0;
    source_close(s);
    if (failure.code == ERR_NOT_FOUND)
        return err_set(err, ERR_NOT_FOUND, "dataset %s: %s; %s", set->name, failure.msg,
                       set->advice);
    return err_set(err, failure.code, "dataset %s: %s", set->name, failure.msg);
}
