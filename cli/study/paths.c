#include "cli/study/paths.h"

#include <string.h>
#include <unistd.h>

#include "paceline/file.h"
#include "paceline/mem.h"

/* Fields of a job that are paths: by section, and as an override names them. */
static const struct {
    const char *section, *key, *override;
} paths[] = {{"dataset", "path", "dataset.path"},
             {"dataset", "cachePath", "dataset.cachePath"},
             {"model", "initialWeights", "model.initialWeights"}};

static void study_paths_place(cJSON *item, const char *folder)
{
    AUTO(auto_free) char *whole = NULL;

    if (!cJSON_IsString(item) || *item->valuestring == '/' || !*item->valuestring)
        return;
    whole = file_in(folder, item->valuestring);
    cJSON_free(item->valuestring);
    item->valuestring = STEAL(whole);
}

/* Everything that has overrides: scales, presets, variants. */
static void place_overrides(cJSON *node, const char *folder)
{
    cJSON *child;

    cJSON_ArrayForEach(child, node)
    {
        for (size_t i = 0; child->string && i < ARRAY_LEN(paths); i++)
            if (strcmp(child->string, paths[i].override) == 0)
                study_paths_place(child, folder);
        place_overrides(child, folder);
    }
}

void study_place(struct study *s, const char *file)
{
    const char *slash = file ? strrchr(file, '/') : NULL;
    AUTO(auto_free) char *here = getcwd(NULL, 0);
    AUTO(auto_free) char *folder = NULL, *given = NULL;

    if (!here)
        return;
    given = slash ? xasprintf("%.*s", slash > file ? (int)(slash - file) : 1, file) : xstrdup(here);
    folder = *given == '/' ? STEAL(given) : file_in(here, given);
    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        study_paths_place(
            cJSON_GetObjectItemCaseSensitive(
                cJSON_GetObjectItemCaseSensitive(s->job, paths[i].section), paths[i].key),
            folder);
    place_overrides(s->doc.root, folder);
}
