#include "paceline/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paceline/mem.h"

void buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){.data = xcalloc(1, 64), .cap = 64, .max = max};
}

void buf_release(struct buf *b)
{
    free(b->data);
    *b = (struct buf){0};
}

/* Room for up to n more bytes and the NUL; returns how many of the n the maximum allows. */
static size_t buf_reserve(struct buf *b, size_t n)
{
    if (b->max && n > b->max - b->len) {
        n = b->max - b->len;
        b->overflowed = true;
    }
    if (n >= b->cap - b->len) {
        b->cap = (b->len + n + 1) * 3 / 2;
        b->data = xrealloc(b->data, b->cap);
    }
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

int buf_read_file(struct buf *b, const char *path, size_t max, struct err *err)
{
    AUTO(auto_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    char chunk[16384];
    ssize_t n;

    buf_init(b, max);
    if (fd < 0)
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s: %s", path,
                       strerror(errno));
    if (fstat(fd, &st) == 0 && st.st_size > 0)
        buf_reserve(b, (size_t)st.st_size);
    while ((n = read(fd, chunk, sizeof chunk)) != 0 && !b->overflowed) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
        buf_add(b, chunk, (size_t)n);
    }
    if (b->overflowed)
        return err_set(err, ERR_INVALID, "%s: larger than the %zu bytes allowed", path, max);
    return 0;
}

static int write_all(int fd, const char *bytes, size_t n, off_t at)
{
    while (n) {
        ssize_t done = pwrite(fd, bytes, n, at);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -1;
        bytes += done;
        at += done;
        n -= (size_t)done;
    }
    return 0;
}

/* Reserves the space first, so that a full disk shows before anything is written. */
static int write_parts(int fd, const struct file_part *parts, size_t n_parts, size_t total)
{
    if (total && fallocate(fd, 0, 0, (off_t)total) && errno != EOPNOTSUPP && errno != ENOSYS)
        return -1;
    for (int late = 0; late < 2; late++) {
        off_t at = 0;

        for (const struct file_part *p = parts; p < parts + n_parts; at += (off_t)p->n, p++)
            if (p->late == late && write_all(fd, p->load ? p->load(p->arg) : p->bytes, p->n, at))
                return -1;
    }
    return fsync(fd);
}

static int sync_folder(const char *path)
{
    AUTO(auto_free) char *folder = xstrdup(path);
    char *slash = strrchr(folder, '/');
    AUTO(auto_close) int fd = -1;

    if (slash)
        slash[slash == folder] = '\0'; /* "/file" keeps its slash */
    fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -1 : fsync(fd);
}

/* Unique also where several pods write one volume: their processes often have the same pid. */
static char *temporary_name(const char *path)
{
    unsigned long long number = 0;

    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        number = (unsigned long long)getpid();
    return xasprintf("%s.tmp.%016llx", path, number);
}

int file_write_parts(const char *path, const struct file_part *parts, size_t n_parts,
                     struct err *err)
{
    AUTO(auto_free) char *tmp = temporary_name(path);
    AUTO(auto_close) int fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    size_t total = 0;

    if (fd < 0)
        return err_set(err, ERR_IO, "%s: %s", tmp, strerror(errno));
    for (size_t i = 0; i < n_parts; i++)
        total += parts[i].n;
    if (write_parts(fd, parts, n_parts, total) || rename(tmp, path)) {
        int cause = errno;

        unlink(tmp);
        return err_set(err, ERR_IO, "%s: could not be written: %s; %zu bytes are needed", path,
                       strerror(cause), total);
    }
    if (sync_folder(path))
        return err_set(err, ERR_IO, "%s: its folder could not be synced: %s", path,
                       strerror(errno));
    return 0;
}

int file_write_atomic(const char *path, const void *bytes, size_t n, struct err *err)
{
    return file_write_parts(path, &(struct file_part){.bytes = bytes, .n = n}, 1, err);
}
