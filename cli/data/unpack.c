#include "cli/data/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "cli/data/checksum.h"
#include "cli/data/sha256sums.h"
#include "cli/data/tar.h"
#include "paceline/mem.h"

#define CHUNK 65536

/* A packed file: zlib gives plain ones as they are. */
struct unpack_input {
    gzFile gz;
    const char *name;
    const volatile sig_atomic_t *stop;
};

static void packed_close(struct unpack_input *p)
{
    if (p->gz)
        gzclose_r(p->gz);
}

static int packed_open(struct unpack_input *p, const struct unpack *u, const char *path,
                       const char *name, struct err *err)
{
    *p = (struct unpack_input){.gz = gzopen(path, "rbe"), .name = name, .stop = u->stop};
    if (!p->gz)
        return err_set(err, ERR_IO, "%s: %s", path, errno ? strerror(errno) : "no memory");
    gzbuffer(p->gz, CHUNK);
    if (u->packing == PACKED_GZIP && gzdirect(p->gz))
        return err_set(err, ERR_DAMAGED, "%s: it is not compressed by gzip", name);
    return 0;
}

/* Fit for tar_read_fn. */
static int64_t packed_read(void *arg, void *bytes, size_t n, struct err *err)
{
    struct unpack_input *p = arg;
    int got, code;

    if (*p->stop)
        return err_set(err, ERR_INTERRUPTED, "interrupted");
    got = gzread(p->gz, bytes, (unsigned)n);
    if (got == (int)n)
        return got;
    gzerror(p->gz, &code);
    if (code == Z_ERRNO)
        return err_set(err, ERR_IO, "%s: %s", p->name, strerror(errno));
    if (got < 0 || code != Z_OK)
        return err_set(err, ERR_DAMAGED, "%s: the compressed data is %s", p->name,
                       code == Z_BUF_ERROR ? "cut short" : "damaged");
    return got;
}

/* A file that is written, and summed on its way. */
struct unpack_output {
    const struct unpack *u;
    const char *path; /* below u->folder */
    int fd;
    struct checksum sum;
};

static void output_close(struct unpack_output *o)
{
    auto_close(&o->fd);
    checksum_release(&o->sum);
}

static int failed(const struct unpack_output *o, struct err *err)
{
    return err_set(err, ERR_IO, "%s/%s: could not be written: %s", o->u->folder, o->path,
                   strerror(errno));
}

static int output_open(struct unpack_output *o, const struct unpack *u, const char *path,
                       struct err *err)
{
    AUTO(auto_free) char *full = xasprintf("%s/%s", u->folder, path);

    *o = (struct unpack_output){.u = u, .path = path, .fd = -1};
    if (checksum_begin(&o->sum, CHECKSUM_SHA256, err) < 0)
        return -1;
    o->fd = open(full, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (o->fd < 0 && errno == EEXIST)
        return err_set(err, ERR_DAMAGED, "%s is there twice", path);
    return o->fd < 0 ? failed(o, err) : 0;
}

static int output_write(struct unpack_output *o, const uint8_t *bytes, size_t n, struct err *err)
{
    checksum_add(&o->sum, bytes, n);
    while (n) {
        ssize_t done = write(o->fd, bytes, n);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return failed(o, err);
        bytes += done;
        n -= (size_t)done;
    }
    return 0;
}

static int output_end(struct unpack_output *o, struct err *err)
{
    if (close(o->fd) < 0) {
        o->fd = -1;
        return failed(o, err);
    }
    o->fd = -1;
    sha256sums_add(o->u->sums, o->path, checksum_end(&o->sum).s);
    return 0;
}

static int unpack_one(const struct unpack *u, struct unpack_input *p, const char *name,
                      struct err *err)
{
    AUTO(output_close) struct unpack_output out = {.fd = -1};
    AUTO(auto_free) uint8_t *chunk = xmalloc(CHUNK);
    uint64_t total = 0;
    int64_t n;

    if (output_open(&out, u, name, err) < 0)
        return -1;
    while ((n = packed_read(p, chunk, CHUNK, err)) > 0) {
        total += (uint64_t)n;
        if (total > u->most)
            return err_set(err, ERR_DAMAGED,
                           "%s: unpacked it is larger than the %llu bytes allowed", p->name,
                           (unsigned long long)u->most);
        if (output_write(&out, chunk, (size_t)n, err) < 0)
            return -1;
    }
    return n < 0 ? -1 : output_end(&out, err);
}

/* Makes the folders that lead to path, and path itself if it is one. */
static int unpack_make_folders(const struct unpack *u, const char *path, bool folder,
                               struct err *err)
{
    for (const char *end = path; *end; end++) {
        AUTO(auto_free) char *part = NULL;

        end += strcspn(end, "/");
        if (!*end && !folder)
            return 0;
        part = xasprintf("%s/%.*s", u->folder, (int)(end - path), path);
        if (mkdir(part, 0777) < 0 && errno != EEXIST)
            return err_set(err, ERR_IO, "%s: could not be made: %s", part, strerror(errno));
        if (!*end)
            return 0;
    }
    return 0;
}

static int unpack_entry(const struct unpack *u, struct tar *t, const char *path, struct err *err)
{
    AUTO(output_close) struct unpack_output out = {.fd = -1};
    AUTO(auto_free) uint8_t *chunk = xmalloc(CHUNK);
    int64_t n;

    if (unpack_make_folders(u, path, t->folder, err) < 0)
        return -1;
    if (t->folder)
        return 0;
    if (output_open(&out, u, path, err) < 0)
        return -1;
    while ((n = tar_data(t, chunk, CHUNK, err)) > 0)
        if (output_write(&out, chunk, (size_t)n, err) < 0)
            return -1;
    return n < 0 ? -1 : output_end(&out, err);
}

/* The part of path below root; NULL: it is not there. */
static const char *below(const char *path, const char *root)
{
    size_t n = strlen(root);

    if (!n)
        return path;
    return strncmp(path, root, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

static int unpack_all(const struct unpack *u, struct unpack_input *p, struct err *err)
{
    struct tar tar;
    bool more, any = false;

    tar_open(&tar, packed_read, p, p->name, u->most);
    while (true) {
        const char *path;

        if (tar_next(&tar, &more, err) < 0)
            return -1;
        if (!more)
            break;
        path = below(tar.path, u->root);
        if (!path || !*path)
            continue;
        any |= !tar.folder;
        if (unpack_entry(u, &tar, path, err) < 0)
            return err->code == ERR_DAMAGED && !strstr(err->msg, p->name)
                       ? err_wrap(err, "%s", p->name)
                       : -1;
    }
    if (!any)
        return err_set(err, ERR_DAMAGED, "%s: it has no files in a folder %s", p->name, u->root);
    return 0;
}

int unpack_file(const struct unpack *u, const char *path, const char *name, struct err *err)
{
    AUTO(packed_close) struct unpack_input packed = {0};
    size_t n = strlen(name);
    AUTO(auto_free) char *plain = NULL;

    if (u->packing == PACKED_GZIP && n > 3 && strcmp(name + n - 3, ".gz") == 0)
        n -= 3;
    plain = xasprintf("%.*s", (int)n, name);
    if (packed_open(&packed, u, path, name, err) < 0)
        return -1;
    if (u->packing == PACKED_TAR)
        return unpack_all(u, &packed, err);
    return unpack_one(u, &packed, plain, err);
}
