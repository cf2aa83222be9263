/* Relative paths in a job. Those in a file count from the file's folder, those in an override from
 * the working directory. */
#include <unistd.h>

#include "common/spec_parse.h"
#include "paceline/file.h"
#include "paceline/mem.h"

static const char *const path_fields[] = {"spec.dataset.path", "spec.dataset.cachePath",
                                          "spec.model.initialWeights"};

static char **path_in(struct job *job, const struct field *f)
{
    return (char **)(void *)((char *)job + f->offset);
}

/* Only if *path is relative. */
static void put_before(char **path, const char *folder)
{
    char *whole;

    if (!*path || **path == '/' || !**path)
        return;
    whole = file_in(folder, *path);
    free(*path);
    *path = whole;
}

void spec_place(struct parse *p, const char *file)
{
    const char *slash = strrchr(file, '/');
    AUTO(auto_free) char *folder = NULL;

    if (!slash)
        return;
    folder = xasprintf("%.*s", slash > file ? (int)(slash - file) : 1, file);
    for (size_t i = 0; i < ARRAY_LEN(path_fields); i++) {
        const struct field *f = spec_field_find(path_fields[i]);
        const cJSON *node = p->nodes[f - spec_fields];

        if (node && yaml_line(&p->doc, node) > 0)
            put_before(path_in(p->job, f), folder);
    }
}

void job_make_absolute(struct job *job)
{
    AUTO(auto_free) char *here = getcwd(NULL, 0);

    for (size_t i = 0; here && i < ARRAY_LEN(path_fields); i++)
        put_before(path_in(job, spec_field_find(path_fields[i])), here);
}
