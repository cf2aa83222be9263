#include "worker/data/image/image_reader.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paceline/mem.h"
#include "worker/data/image/image.h"
#include "worker/data/image/resize.h"

#define FILE_MAX (256 << 20)
#define PARTS_MAX 8 /* files whose parts are read: the most that a set has */

struct image_reader {
    struct image_decoder *decoder;
    struct resizer *resizer;
    bool resizes;
    struct image image;
    uint8_t *bytes;
    size_t room, len;
    struct part_file {
        const char *path;
        int fd;
    } open[PARTS_MAX];
    int n_open;
};

struct image_reader *image_reader_new(const struct job *job)
{
    struct image_reader *r = xcalloc(1, sizeof *r);

    r->decoder = image_decoder_new();
    r->resizer = resizer_new();
    r->resizes = job->dataset.image_size > 0;
    if (job->dataset.draft)
        image_decoder_draft(r->decoder, (int)job->dataset.image_size);
    return r;
}

void image_reader_fit(struct image_reader *r) { r->resizes = true; }

void image_reader_free(struct image_reader **r)
{
    if (!*r)
        return;
    image_decoder_free(&(*r)->decoder);
    resizer_free(&(*r)->resizer);
    image_release(&(*r)->image);
    free((*r)->bytes);
    for (int i = 0; i < (*r)->n_open; i++)
        close((*r)->open[i].fd);
    free(*r);
    *r = NULL;
}

/* The file's bytes into r->bytes. */
static int image_reader_load(struct image_reader *r, const char *path, struct err *err)
{
    AUTO(auto_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    ssize_t got;

    if (fd < 0 || fstat(fd, &st))
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX)
        return err_set(err, ERR_DAMAGED, "%s: no file of at most %d MiB", path, FILE_MAX >> 20);
    if (r->room < (size_t)st.st_size) {
        free(r->bytes);
        r->room = (size_t)st.st_size * 2;
        r->bytes = xmalloc(r->room);
    }
    for (r->len = 0; r->len < (size_t)st.st_size; r->len += (size_t)got) {
        got = read(fd, r->bytes + r->len, (size_t)st.st_size - r->len);
        if (got < 0)
            return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
        if (got == 0)
            break;
    }
    return 0;
}

int image_reader_read(struct image_reader *r, const char *path, struct shape shape, uint8_t *to,
                      struct err *err)
{
    const struct shape *is = &r->image.shape;

    if (image_reader_load(r, path, err))
        return -1;
    if (image_decode(r->decoder, r->bytes, r->len, shape.c, &r->image, err))
        return err_wrap(err, "%s", path);
    if (!r->resizes && (is->h != shape.h || is->w != shape.w))
        return err_set(err, ERR_INVALID,
                       "%s: %d x %d pixels; the first image has %d x %d (spec.dataset.imageSize "
                       "brings all to one size)",
                       path, is->h, is->w, shape.h, shape.w);
    resize(r->resizer, &r->image, shape.h, shape.w, to);
    return 0;
}

/* The open file, or -1. */
static int part_file(struct image_reader *r, const char *path, struct err *err)
{
    for (int i = 0; i < r->n_open; i++)
        if (r->open[i].path == path)
            return r->open[i].fd;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);

    assert(r->n_open < PARTS_MAX);
    if (fd < 0)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    r->open[r->n_open++] = (struct part_file){path, fd};
    return fd;
}

int image_reader_part(struct image_reader *r, const char *path, size_t at, size_t n, uint8_t *to,
                      struct err *err)
{
    const int fd = part_file(r, path, err);
    ssize_t got;

    if (fd < 0)
        return -1;
    for (size_t have = 0; have < n; have += (size_t)got) {
        got = pread(fd, to + have, n - have, (off_t)(at + have));
        if (got < 0)
            return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
        if (got == 0)
            return err_set(err, ERR_DAMAGED,
                           "%s: cut short since the start: %zu bytes at %zu are gone", path,
                           n - have, at + have);
    }
    return 0;
}

int image_reader_measure(struct image_reader *r, const char *path, struct shape *shape,
                         struct err *err)
{
    if (image_reader_load(r, path, err))
        return -1;
    if (image_measure(r->decoder, r->bytes, r->len, shape, err))
        return err_wrap(err, "%s", path);
    return 0;
}
