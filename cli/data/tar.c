#include "cli/data/tar.h"

#include <string.h>

#include "paceline/mem.h"

#define BLOCK 512
#define MAX_EXTENSION 65536 /* bytes of a pax header */

/* A field of the header: where, and how long. */
enum { NAME = 0, SIZE = 124, CHECKSUM = 148, TYPE = 156, MAGIC = 257, PREFIX = 345 };
#define NAME_LEN 100
#define NUMBER_LEN 12
#define CHECKSUM_LEN 8
#define PREFIX_LEN 155

void tar_open(struct tar *t, tar_read_fn *read, void *arg, const char *name, uint64_t most)
{
    *t = (struct tar){.read = read, .arg = arg, .name = name, .most = most};
}

static int64_t tar_take(struct tar *t, void *bytes, size_t n, struct err *err)
{
    int64_t got = t->read(t->arg, bytes, n, err);

    if (got > 0 && (t->total += (uint64_t)got) > t->most)
        return err_set(err, ERR_DAMAGED, "%s: unpacked it is larger than the %llu bytes allowed",
                       t->name, (unsigned long long)t->most);
    return got;
}

static int cut_short(const struct tar *t, struct err *err)
{
    return err_set(err, ERR_DAMAGED, "%s: the archive is cut short after %llu bytes", t->name,
                   (unsigned long long)t->total);
}

/* An octal number that a space or NUL ends. */
static bool octal(const uint8_t *field, size_t n, uint64_t *value)
{
    size_t i = 0;

    while (i < n && field[i] == ' ')
        i++;
    *value = 0;
    if (i == n || field[i] < '0' || field[i] > '7')
        return false;
    for (; i < n && field[i] >= '0' && field[i] <= '7'; i++)
        *value = *value * 8 + (field[i] - '0');
    return i == n || field[i] == ' ' || field[i] == '\0';
}

/* The sum of the header's bytes, those of the sum itself taken as spaces. */
static uint64_t header_sum(const uint8_t h[BLOCK])
{
    uint64_t sum = 0;

    for (int i = 0; i < BLOCK; i++)
        sum += i >= CHECKSUM && i < CHECKSUM + CHECKSUM_LEN ? ' ' : h[i];
    return sum;
}

static bool is_zero(const uint8_t *bytes, size_t n)
{
    while (n && !*bytes)
        bytes++, n--;
    return !n;
}

bool tar_path_is_safe(const char *path)
{
    for (const char *c = path; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return false;
    for (const char *part = path;; part++) {
        size_t n = strcspn(part, "/");

        if (!n || (n <= 2 && strspn(part, ".") >= n))
            return false;
        part += n;
        if (!*part)
            return true;
    }
}

/* The entry's path: prefix (POSIX only) and name, without a leading "./" and a trailing "/". */
static int read_path(struct tar *t, const uint8_t h[BLOCK], struct err *err)
{
    const char *name = (const char *)h + NAME, *prefix = (const char *)h + PREFIX;
    bool posix = h[MAGIC + 5] == '\0' && *prefix;
    char path[TAR_MAX_PATH + 1];
    const char *begin = path;
    size_t n;

    snprintf(path, sizeof path, "%.*s%s%.*s", posix ? PREFIX_LEN : 0, prefix, posix ? "/" : "",
             NAME_LEN, name);
    while (begin[0] == '.' && begin[1] == '/')
        begin += 2;
    n = strlen(begin);
    while (n && begin[n - 1] == '/' && t->folder)
        n--;
    memcpy(t->path, begin, n);
    t->path[n] = '\0';
    if (t->folder && (!n || strcmp(t->path, ".") == 0)) /* where the archive starts */
        t->path[0] = '\0';
    else if (!tar_path_is_safe(t->path))
        return err_set(
            err, ERR_DAMAGED,
            "%s: the entry \"%.200s\" leads out of the archive or is no path; nothing of "
            "it is taken",
            t->name, path);
    return 0;
}

/* A pax header for the entry after it. Records that only add details (times, owners) are passed
 * over. */
static int pass_extension(struct tar *t, struct err *err)
{
    static const char *const unknown[] = {" path=", " size=", " linkpath=", " GNU.sparse."};
    AUTO(auto_free) char *text = NULL;
    int64_t n;

    if (t->size > MAX_EXTENSION)
        return err_set(err, ERR_DAMAGED, "%s: an extended header of %llu bytes; %d are allowed",
                       t->name, (unsigned long long)t->size, MAX_EXTENSION);
    text = xcalloc(1, t->size + 1);
    n = tar_data(t, text, t->size, err);
    if (n < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(unknown); i++)
        if (memmem(text, (size_t)n, unknown[i], strlen(unknown[i])))
            return err_set(err, ERR_DAMAGED,
                           "%s: an extended header sets%s, which is not understood here", t->name,
                           unknown[i]);
    return 0;
}

/* Sets t->left and t->padding as well; *extension: it belongs to the entry after it. */
static int tar_read_header(struct tar *t, const uint8_t h[BLOCK], bool *extension, struct err *err)
{
    uint64_t sum;
    uint8_t type = h[TYPE];

    if (memcmp(h + MAGIC, "ustar", 5) != 0 || !octal(h + CHECKSUM, CHECKSUM_LEN, &sum) ||
        sum != header_sum(h))
        return err_set(err, ERR_DAMAGED, "%s: what is at byte %llu is no tar header", t->name,
                       (unsigned long long)t->total - BLOCK);
    *extension = type == 'x' || type == 'g';
    t->folder = type == '5';
    if (!*extension && !t->folder && type != '0' && type != '\0')
        return err_set(
            err, ERR_DAMAGED,
            "%s: the entry \"%.100s\" is no file and no folder (type '%c'); links and the "
            "like are not taken",
            t->name, (const char *)h + NAME, type >= ' ' && type < 0x7f ? type : '?');
    if (!octal(h + SIZE, NUMBER_LEN, &t->size) || (t->folder && t->size))
        return err_set(err, ERR_DAMAGED, "%s: the entry \"%.100s\" has no size that can be read",
                       t->name, (const char *)h + NAME);
    t->left = t->size;
    t->padding = (size_t)(-t->size % BLOCK);
    return *extension ? 0 : read_path(t, h, err);
}

static int tar_skip(struct tar *t, uint64_t n, struct err *err)
{
    uint8_t chunk[4096];

    while (n) {
        size_t part = n < sizeof chunk ? (size_t)n : sizeof chunk;
        int64_t got = tar_take(t, chunk, part, err);

        if (got < 0)
            return -1;
        if ((size_t)got < part)
            return cut_short(t, err);
        n -= part;
    }
    return 0;
}

/* Bytes after the last entry mean nothing, but the source checks itself at its end. */
static int read_rest(struct tar *t, struct err *err)
{
    uint8_t chunk[4096];
    int64_t got;

    do {
        got = tar_take(t, chunk, sizeof chunk, err);
    } while (got > 0);
    return (int)got;
}

int tar_next(struct tar *t, bool *more, struct err *err)
{
    uint8_t header[BLOCK];
    bool extension = true;

    while (extension) {
        int64_t got;

        if (tar_skip(t, t->left + t->padding, err) < 0)
            return -1;
        t->left = t->padding = 0;
        got = tar_take(t, header, BLOCK, err);
        if (got < 0)
            return -1;
        if (got < BLOCK)
            return cut_short(t, err);
        *more = !is_zero(header, BLOCK);
        if (!*more)
            return read_rest(t, err);
        if (tar_read_header(t, header, &extension, err) < 0 ||
            (extension && pass_extension(t, err) < 0))
            return -1;
    }
    return 0;
}

int64_t tar_data(struct tar *t, void *bytes, size_t n, struct err *err)
{
    int64_t got;

    if (n > t->left)
        n = (size_t)t->left;
    if (!n)
        return 0;
    got = tar_take(t, bytes, n, err);
    if (got >= 0 && (size_t)got < n)
        return cut_short(t, err);
    if (got > 0)
        t->left -= (uint64_t)got;
    return got;
}
