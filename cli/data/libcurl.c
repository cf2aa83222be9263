#include "cli/data/libcurl.h"

#include "cli/data/library.h"
#include "paceline/mem.h"

int libcurl_load(struct libcurl *c, struct err *err)
{
    const struct library_function functions[] = {
        {"curl_global_init", &c->global_init},       {"curl_global_cleanup", &c->global_cleanup},
        {"curl_easy_init", &c->easy_init},           {"curl_easy_setopt", &c->easy_setopt},
        {"curl_easy_perform", &c->easy_perform},     {"curl_easy_cleanup", &c->easy_cleanup},
        {"curl_easy_strerror", &c->easy_strerror},   {"curl_slist_append", &c->slist_append},
        {"curl_slist_free_all", &c->slist_free_all},
    };

    *c = (struct libcurl){0};
    if (library_load("libcurl.so.4", "libcurl4", functions, ARRAY_LEN(functions), err) < 0) {
        *c = (struct libcurl){0};
        return -1;
    }
    if (c->global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
        return 0;
    *c = (struct libcurl){0};
    return err_set(err, ERR_IO, "libcurl does not start");
}

void libcurl_unload(struct libcurl *c)
{
    if (c->global_cleanup)
        c->global_cleanup();
    *c = (struct libcurl){0};
}
