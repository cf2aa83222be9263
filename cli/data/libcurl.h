/* libcurl, loaded when a command needs it (library.h). */
#ifndef PACELINE_CLI_LIBCURL_H
#define PACELINE_CLI_LIBCURL_H

#include <curl/curl.h>

#include "paceline/err.h"

/* curl's functions under their own names without "curl_". */
struct libcurl {
    __typeof__(&curl_global_init) global_init;
    __typeof__(&curl_global_cleanup) global_cleanup;
    __typeof__(&curl_easy_init) easy_init;
    __typeof__(&curl_easy_setopt) easy_setopt;
    __typeof__(&curl_easy_perform) easy_perform;
    __typeof__(&curl_easy_cleanup) easy_cleanup;
    __typeof__(&curl_easy_strerror) easy_strerror;
    __typeof__(&curl_slist_append) slist_append;
    __typeof__(&curl_slist_free_all) slist_free_all;
};

/* Loads and initialises it. ERR_NOT_FOUND: it is not on this machine. */
MUST_CHECK int libcurl_load(struct libcurl *c, struct err *err);
void libcurl_unload(struct libcurl *c); /* also fit for AUTO, and of an all-zero struct */

#endif
