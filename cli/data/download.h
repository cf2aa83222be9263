/* One file over HTTPS, resumed where an earlier download was cut. */
#ifndef PACELINE_CLI_DOWNLOAD_H
#define PACELINE_CLI_DOWNLOAD_H

#include <signal.h>
#include <stdint.h>

#include "cli/data/libcurl.h"
#include "paceline/err.h"

struct download {
    const struct libcurl *curl;
    const char *url;
    const char *path; /* of the file; what the server calls this version of it is in path.etag */
    uint64_t size;    /* bytes that it must have; 0: not known */
    uint64_t most;    /* bytes that it may have */
    void (*note)(void *arg, uint64_t bytes); /* how many are here; called often */
    void *arg;
    const volatile sig_atomic_t *stop; /* not 0: end with ERR_INTERRUPTED */
};

/*
 * Fetches what is missing. A connection that is cut is opened again as long as bytes come. What is
 * there is taken up again only if the server's file is still the same (If-Range); a server that
 * cannot give a part of it starts over. On failure path keeps what has come, unless it is of no
 * use.
 *
 * ERR_INTERRUPTED; ERR_IO: path cannot be written; ERR_NOT_FOUND, ERR_TRANSIENT: no server, or it
 * does not give the file; ERR_DAMAGED: the file has another size.
 */
MUST_CHECK int download(const struct download *d, struct err *err);

/* Whether url may be asked: https, or http to a loopback address. ERR_INVALID says which. */
MUST_CHECK int download_check_url(const char *url, struct err *err);

#endif
