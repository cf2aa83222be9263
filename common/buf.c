#include "paceline/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paceline/mem.h"

void buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){.data = xcalloc(1, 64), .cap = 64, .max = max};
}

void buf_init_secret(struct buf *b, size_t max)
{
    buf_init(b, max);
    b->secret = true;
}

void buf_release(struct buf *b)
{
    if (b->secret && b->data)
        explicit_bzero(b->data, b->cap);
    free(b->data);
    *b = (struct buf){0};
}

/* A secret buffer is moved by hand, because realloc would leave a copy in freed memory. */
static void buf_grow(struct buf *b, size_t cap)
{
    if (b->secret) {
        char *larger = xcalloc(1, cap);

        memcpy(larger, b->data, b->len);
        explicit_bzero(b->data, b->cap);
        free(b->data);
        b->data = larger;
    } else {
        b->data = xrealloc(b->data, cap);
    }
    b->cap = cap;
}

/* Room for up to n more bytes and the NUL; returns how many of the n the maximum allows. */
static size_t buf_reserve(struct buf *b, size_t n)
{
    if (b->max && n > b->max - b->len) {
        n = b->max - b->len;
        b->overflowed = true;
    }
    if (n >= b->cap - b->len)
        buf_grow(b, (b->len + n + 1) * 3 / 2);
    return n;
}

void buf_add(struct buf *b, const void *bytes, size_t n)
{
    n = buf_reserve(b, n);
    if (n)
        memcpy(b->data + b->len, bytes, n);
    b->len += n;
    b->data[b->len] = '\0';
}

void buf_puts(struct buf *b, const char *s) { buf_add(b, s, strlen(s)); }

void buf_printf(struct buf *b, const char *fmt, ...)
{
    AUTO(auto_free) char *text = NULL;
    va_list args;
    int len;

    va_start(args, fmt);
    len = vasprintf(&text, fmt, args);
    va_end(args);
    if (len < 0) {
        text = NULL;
        b->overflowed = true;
        return;
    }
    buf_add(b, text, (size_t)len);
}

/* Appends the whole file; chunk is scratch. */
static int buf_add_file(struct buf *b, const char *path, char *chunk, size_t size, struct err *err)
{
    AUTO(auto_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    ssize_t n;

    if (fd < 0)
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s: %s", path,
                       strerror(errno));
    if (fstat(fd, &st) == 0 && st.st_size > 0)
        buf_reserve(b, (size_t)st.st_size);
    while ((n = read(fd, chunk, size)) != 0 && !b->overflowed) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
        buf_add(b, chunk, (size_t)n);
    }
    if (b->overflowed)
        return err_set(err, ERR_INVALID, "%s: larger than the %zu bytes allowed", path, b->max);
    return 0;
}

int buf_read_file(struct buf *b, const char *path, size_t max, struct err *err)
{
    char chunk[16384];

    buf_init(b, max);
    return buf_add_file(b, path, chunk, sizeof chunk, err);
}

int buf_read_secret_file(struct buf *b, const char *path, size_t max, struct err *err)
{
    char chunk[4096];

    buf_init_secret(b, max);
    const int rc = buf_add_file(b, path, chunk, sizeof chunk, err);
    explicit_bzero(chunk, sizeof chunk);
    return rc;
}
