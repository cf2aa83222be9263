#include "cli/data/checksum.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "paceline/mem.h"

static const char *const names[] = {[CHECKSUM_SHA256] = "SHA256", [CHECKSUM_MD5] = "MD5"};

int checksum_begin(struct checksum *c, enum checksum_kind kind, struct err *err)
{
    *c = (struct checksum){0};
    if (libcrypto_load(&c->crypto, err) < 0)
        return -1;
    c->context = c->crypto.md_ctx_new();
    if (c->context &&
        c->crypto.digest_init(c->context, c->crypto.get_digestbyname(names[kind]), NULL) == 1)
        return 0;
    checksum_release(c);
    return err_set(err, ERR_NOT_FOUND, "libcrypto makes no %s on this machine", names[kind]);
}

void checksum_add(struct checksum *c, const void *bytes, size_t n)
{
    c->crypto.digest_update(c->context, bytes, n);
}

struct checksum_text checksum_end(const struct checksum *c)
{
    struct checksum_text text = {{0}};
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned n = 0;

    c->crypto.digest_final(c->context, sum, &n);
    for (unsigned i = 0; i < n && i < sizeof text.s / 2; i++)
        snprintf(text.s + 2 * (size_t)i, 3, "%02x", sum[i]);
    return text;
}

void checksum_release(struct checksum *c)
{
    if (c->context)
        c->crypto.md_ctx_free(c->context);
    c->context = NULL;
}

int checksum_file(struct checksum_text *out, enum checksum_kind kind, const char *path,
                  struct err *err)
{
    AUTO(auto_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    AUTO(checksum_release) struct checksum c = {0};
    uint8_t chunk[65536];
    ssize_t n;

    if (fd < 0)
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s: %s", path,
                       strerror(errno));
    if (checksum_begin(&c, kind, err) < 0)
        return -1;
    while ((n = read(fd, chunk, sizeof chunk)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
        checksum_add(&c, chunk, (size_t)n);
    }
    *out = checksum_end(&c);
    return 0;
}
