#include "cli/data/download.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "paceline/buf.h"
#include "paceline/file.h"
#include "paceline/mem.h"

#define TRIES 3 /* one after the other that bring no byte */
#define PAUSE_MS 500
#define POLL_MS 50
#define CONNECT_SECONDS 20L
#define SILENT_SECONDS 30L
#define MAX_REDIRECTS 5L
#define MAX_VALIDATOR 300

/* One request and its answer. */
struct download_transfer {
    const struct download *d;
    int fd;
    uint64_t have;   /* bytes of the file that are here */
    uint64_t before; /* of them, when the request was sent */
    long status;
    uint64_t range_begin, range_total; /* of Content-Range; total 0: it does not say */
    char validator[MAX_VALIDATOR];     /* of the answer: a strong ETag, else Last-Modified */
    bool begun;                        /* the file takes the body */
    struct err err;                    /* why we ended it; ERR_NONE: we did not */
};

static char *validator_path(const struct download *d) { return xasprintf("%s.etag", d->path); }

static uint64_t limit(const struct download *d) { return d->size ? d->size : d->most; }

/* The value of the header line, its length in *n; NULL: the line is another header. */
static const char *header_value(const char *line, size_t len, const char *name, size_t *n)
{
    size_t at = strlen(name);

    if (len < at || strncasecmp(line, name, at) != 0)
        return NULL;
    while (at < len && (line[at] == ' ' || line[at] == '\t'))
        at++;
    while (len > at && (unsigned char)line[len - 1] <= ' ')
        len--;
    *n = len - at;
    return line + at;
}

static void take_range(struct download_transfer *t, const char *value, size_t n)
{
    char text[80];
    unsigned long long begin = 0, total = 0;

    snprintf(text, sizeof text, "%.*s", (int)(n < sizeof text ? n : 0), value);
    if (sscanf(text, "bytes %llu-%*u/%llu", &begin, &total) >= 1)
        t->range_begin = begin;
    else
        sscanf(text, "bytes */%llu", &total);
    t->range_total = total;
}

static size_t download_on_header(char *line, size_t one, size_t len, void *arg)
{
    struct download_transfer *t = arg;
    const char *value;
    size_t n;

    (void)one;
    if (len > 12 && memcmp(line, "HTTP/", 5) == 0) { /* also of the answer after a redirect */
        t->validator[0] = '\0';
        t->range_begin = t->range_total = 0;
        value = memchr(line, ' ', len - 4);
        t->status = value ? strtol(value, NULL, 10) : 0;
    } else if ((value = header_value(line, len, "ETag:", &n)) != NULL) {
        if (n && *value == '"' && n < MAX_VALIDATOR) /* If-Range takes no weak ones */
            snprintf(t->validator, MAX_VALIDATOR, "%.*s", (int)n, value);
    } else if ((value = header_value(line, len, "Last-Modified:", &n)) != NULL) {
        if (!t->validator[0] && n < MAX_VALIDATOR)
            snprintf(t->validator, MAX_VALIDATOR, "%.*s", (int)n, value);
    } else if ((value = header_value(line, len, "Content-Range:", &n)) != NULL) {
        take_range(t, value, n);
    }
    return len;
}

/* An answer has the whole file, so what is here goes; its validator is kept first. */
static int begin_whole(struct download_transfer *t)
{
    AUTO(auto_free) char *path = validator_path(t->d);

    t->have = 0;
    if (ftruncate(t->fd, 0) < 0 || lseek(t->fd, 0, SEEK_SET) < 0)
        return err_set(&t->err, ERR_IO, "%s: %s", t->d->path, strerror(errno));
    unlink(path);
    if (!t->validator[0])
        return 0;
    return file_write_atomic(path, t->validator, strlen(t->validator), &t->err);
}

static int download_begin(struct download_transfer *t)
{
    t->begun = true;
    if (t->status == 200)
        return begin_whole(t);
    if (!t->before || t->range_begin != t->have)
        return err_set(&t->err, ERR_TRANSIENT, "%s: the server sends bytes that nobody asked for",
                       t->d->url);
    return 0;
}

static size_t on_body(char *bytes, size_t one, size_t n, void *arg)
{
    struct download_transfer *t = arg;

    (void)one;
    if (t->status != 200 && t->status != 206)
        return n; /* a page that explains the status */
    if (!t->begun && download_begin(t) < 0)
        return 0;
    if (n > limit(t->d) - t->have) {
        err_set(&t->err, ERR_DAMAGED, "%s: the file is larger than the %llu bytes %s", t->d->url,
                (unsigned long long)limit(t->d), t->d->size ? "that it must have" : "allowed");
        return 0;
    }
    for (size_t done = 0; done < n;) {
        ssize_t part = write(t->fd, bytes + done, n - done);

        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0) {
            err_set(&t->err, ERR_IO, "%s: could not be written: %s", t->d->path, strerror(errno));
            return 0;
        }
        done += (size_t)part;
        t->have += (size_t)part;
    }
    return n;
}

static int on_progress(void *arg, curl_off_t total, curl_off_t now, curl_off_t up_total,
                       curl_off_t up)
{
    struct download_transfer *t = arg;

    (void)total, (void)now, (void)up_total, (void)up;
    if (*t->d->stop) {
        err_set(&t->err, ERR_INTERRUPTED, "interrupted");
        return 1;
    }
    t->d->note(t->d->arg, t->have);
    return 0;
}

static struct curl_slist *range_headers(const struct download_transfer *t, const char *validator)
{
    AUTO(auto_free) char *range = NULL;
    AUTO(auto_free) char *if_range = NULL;
    const struct libcurl *c = t->d->curl;

    if (!t->have)
        return NULL;
    range = xasprintf("Range: bytes=%llu-", (unsigned long long)t->have);
    if_range = xasprintf("If-Range: %s", validator);
    return c->slist_append(c->slist_append(NULL, range), if_range);
}

static void set_options(CURL *easy, struct download_transfer *t, struct curl_slist *headers,
                        char *message)
{
    __typeof__(&curl_easy_setopt) set = t->d->curl->easy_setopt;
    bool https = strncmp(t->d->url, "https:", 6) == 0;

    set(easy, CURLOPT_URL, t->d->url);
    set(easy, CURLOPT_PROTOCOLS_STR, https ? "https" : "http");
    set(easy, CURLOPT_REDIR_PROTOCOLS_STR, "https");
    set(easy, CURLOPT_FOLLOWLOCATION, 1L);
    set(easy, CURLOPT_MAXREDIRS, MAX_REDIRECTS);
    if (!https) /* loopback: no proxy knows it */
        set(easy, CURLOPT_PROXY, "");
    set(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    set(easy, CURLOPT_NOSIGNAL, 1L);
    set(easy, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
    set(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(easy, CURLOPT_LOW_SPEED_TIME, SILENT_SECONDS);
    set(easy, CURLOPT_USERAGENT, "paceline");
    set(easy, CURLOPT_HTTPHEADER, headers);
    set(easy, CURLOPT_HEADERFUNCTION, download_on_header);
    set(easy, CURLOPT_HEADERDATA, t);
    set(easy, CURLOPT_WRITEFUNCTION, on_body);
    set(easy, CURLOPT_WRITEDATA, t);
    set(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
    set(easy, CURLOPT_XFERINFODATA, t);
    set(easy, CURLOPT_NOPROGRESS, 0L);
    set(easy, CURLOPT_ERRORBUFFER, message);
}

/* The result of the request: 0 if the file is whole, else why not. */
static int download_judge(struct download_transfer *t, CURLcode code, const char *message,
                          struct err *err)
{
    const struct download *d = t->d;
    unsigned long long have = t->have;

    if (t->err.code != ERR_NONE) {
        *err = t->err;
        return -1;
    }
    if (code != CURLE_OK)
        return err_set(err, ERR_TRANSIENT, "%s: %s", d->url,
                       *message ? message : d->curl->easy_strerror(code));
    if (t->status == 416 && t->range_total == t->have && !d->size)
        return 0; /* nothing comes after the last byte */
    if (t->status != 200 && t->status != 206)
        return err_set(err, t->status >= 500 ? ERR_TRANSIENT : ERR_NOT_FOUND,
                       "%s: the server answers with status %ld", d->url, t->status);
    if (d->size && have != d->size)
        return err_set(err, ERR_DAMAGED, "%s: the file has %llu bytes; it must have %llu", d->url,
                       have, (unsigned long long)d->size);
    return 0;
}

/* One request for what is missing. *again: another one may help. */
static int download_ask(struct download_transfer *t, const char *validator, bool *again,
                        struct err *err)
{
    const struct libcurl *c = t->d->curl;
    CURL *easy = c->easy_init();
    struct curl_slist *headers = range_headers(t, validator);
    char message[CURL_ERROR_SIZE] = "";
    CURLcode code = CURLE_OUT_OF_MEMORY;

    t->before = t->have;
    if (easy) {
        set_options(easy, t, headers, message);
        code = c->easy_perform(easy);
    }
    c->slist_free_all(headers);
    c->easy_cleanup(easy);
    switch (code) {
    case CURLE_OK:
        *again = t->status >= 500;
        break;
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        *again = true;
        break;
    default:
        *again = false;
    }
    if (download_judge(t, code, message, err) == 0)
        return 0;
    if (t->status == 416 && t->before) { /* what is here is no beginning of what is there */
        AUTO(auto_free) char *path = validator_path(t->d);

        *again = unlink(path) == 0;
    }
    return -1;
}

static void pause_between(const struct download *d, int tries)
{
    for (int ms = 0; ms < tries * PAUSE_MS && !*d->stop; ms += POLL_MS)
        nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000L}, NULL);
}

/* How much of the file is of use; its validator in v. */
static int take_up(struct download_transfer *t, struct buf *v, struct err *err)
{
    AUTO(auto_free) char *path = validator_path(t->d);
    struct err none;
    struct stat st;

    buf_release(v);
    if (fstat(t->fd, &st) < 0)
        return err_set(err, ERR_IO, "%s: %s", t->d->path, strerror(errno));
    t->have =
        buf_read_file(v, path, MAX_VALIDATOR, &none) == 0 && v->len ? (uint64_t)st.st_size : 0;
    if (t->have > limit(t->d) || strpbrk(v->data ? v->data : "", "\r\n"))
        t->have = 0;
    if (ftruncate(t->fd, (off_t)t->have) < 0 || lseek(t->fd, (off_t)t->have, SEEK_SET) < 0)
        return err_set(err, ERR_IO, "%s: %s", t->d->path, strerror(errno));
    return 0;
}

int download(const struct download *d, struct err *err)
{
    AUTO(buf_release) struct buf validator = {0};
    AUTO(auto_close) int fd = open(d->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    struct download_transfer t = {.d = d, .fd = fd};
    uint64_t most = 0; /* bytes that were ever here */
    bool again = true;

    if (fd < 0)
        return err_set(err, ERR_IO, "%s: could not be opened: %s", d->path, strerror(errno));
    for (int tries = 1; again; tries++) {
        if (take_up(&t, &validator, err) < 0)
            return -1;
        if (d->size && t.have == d->size)
            return 0;
        most = t.have > most ? t.have : most;
        t = (struct download_transfer){.d = d, .fd = fd, .have = t.have};
        if (download_ask(&t, validator.data, &again, err) == 0)
            return 0;
        if (err->code == ERR_DAMAGED)
            unlink(d->path);
        if (t.have > most)
            tries = 0;
        again = again && tries < TRIES;
        most = t.have > most ? t.have : most;
        if (again)
            pause_between(d, tries);
    }
    return -1;
}

/* "127.0.0.1:8000/a": the host is an address of this machine itself. */
static bool download_is_loopback(const char *rest)
{
    static const char *const names[] = {"localhost", "[::1]"};
    size_t n = strcspn(rest, "/?#");

    if (n > 6 && memcmp(rest, "127.", 4) == 0)
        return strspn(rest, "0123456789.:") == n;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        size_t len = strlen(names[i]);

        if (n >= len && memcmp(rest, names[i], len) == 0 &&
            (n == len || (rest[len] == ':' && len + 1 + strspn(rest + len + 1, "0123456789") == n)))
            return true;
    }
    return false;
}

int download_check_url(const char *url, struct err *err)
{
    if (strncmp(url, "https://", 8) == 0 && url[8] && url[8] != '/')
        return 0;
    if (strncmp(url, "http://", 7) == 0 && download_is_loopback(url + 7))
        return 0;
    return err_set(err, ERR_INVALID,
                   "\"%.200s\" is no address of https; http is allowed to this machine itself only",
                   url);
}
