#include "cli/libcurl.h"

#include <dlfcn.h>

#include "paceline/mem.h"

#define LIBRARY "libcurl.so.4"

int libcurl_load(struct libcurl *c, struct err *err)
{
    const struct {
        const char *name;
        void *at; /* a function pointer of c */
    } functions[] = {
        {"curl_global_init", &c->global_init},       {"curl_global_cleanup", &c->global_cleanup},
        {"curl_easy_init", &c->easy_init},           {"curl_easy_setopt", &c->easy_setopt},
        {"curl_easy_perform", &c->easy_perform},     {"curl_easy_cleanup", &c->easy_cleanup},
        {"curl_easy_strerror", &c->easy_strerror},   {"curl_slist_append", &c->slist_append},
        {"curl_slist_free_all", &c->slist_free_all},
    };
    void *library = dlopen(LIBRARY, RTLD_NOW);

    *c = (struct libcurl){0};
    if (!library)
        return err_set(err, ERR_NOT_FOUND,
                       "%s is not on this machine (%s); Debian has it in the package libcurl4",
                       LIBRARY, dlerror());
    for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
        void *function = dlsym(library, functions[i].name);

        if (!function) {
            *c = (struct libcurl){0};
            return err_set(err, ERR_NOT_FOUND, "%s has no %s", LIBRARY, functions[i].name);
        }
        *(void **)functions[i].at = function;
    }
    if (c->global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
        return 0;
    *c = (struct libcurl){0};
    return err_set(err, ERR_IO, "%s does not start", LIBRARY);
}

/* The library stays until the process ends: some that it has loaded cannot be unloaded. */
void libcurl_unload(struct libcurl *c)
{
    if (c->global_cleanup)
        c->global_cleanup();
    *c = (struct libcurl){0};
}
