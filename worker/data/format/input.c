#include "worker/data/format/input.h"

#include <errno.h>
#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paceline/mem.h"
#include "worker/data/format/input_kind.h"

struct input_reader *input_reader_new(const struct job *job, struct shape shape,
                                      const struct normalizer *normalizer,
                                      const char *const *columns)
{
    struct input_reader *r = xcalloc(1, sizeof *r);

    *r = (struct input_reader){
        .job = job, .shape = shape, .normalizer = normalizer, .columns = columns};
    r->images = image_reader_new(job);
    image_reader_fit(r->images);
    r->bytes = xmalloc(input_values(r));
    return r;
}

void input_reader_free(struct input_reader **r)
{
    if (!*r)
        return;
    image_reader_free(&(*r)->images);
    free((*r)->bytes);
    free(*r);
    *r = NULL;
}

bool input_ends_with(const char *path, const char *ending)
{
    const size_t n = strlen(path), m = strlen(ending);

    return n >= m && strcasecmp(path + n - m, ending) == 0;
}

static bool is_picture(const struct input_reader *r, const char *path, const uint8_t *head)
{
    static const char *const endings[] = {".jpg", ".jpeg", ".png"};

    (void)r;
    for (size_t i = 0; i < ARRAY_LEN(endings); i++)
        if (input_ends_with(path, endings[i])) /* then it can be reported as damaged */
            return true;
    return memcmp(head, "\xff\xd8", 2) == 0 || memcmp(head, "\x89PNG", 4) == 0;
}

/* Whether the picture has been read. */
static int picture_open(struct input *in, struct err *err)
{
    (void)err;
    in->own = xcalloc(1, sizeof(bool));
    return 0;
}

static int picture_next(struct input *in, float *x, struct err *err)
{
    struct input_reader *r = in->reader;
    bool *done = in->own;

    if (*done)
        return 0;
    *done = true;
    if (image_reader_read(r->images, in->paths[0], r->shape, r->bytes, err))
        return -1;
    normalizer_apply(r->normalizer, x, r->bytes);
    return 1;
}

static void picture_close(struct input *in) { free(in->own); }

static const struct input_kind input_picture = {
    .is = is_picture, .open = picture_open, .next = picture_next, .close = picture_close};

/* Kinds that are recognised by their bytes come first. */
static const struct input_kind *const kinds[] = {&input_picture, &input_idx, &input_npy, &input_csv,
                                                 &input_cifar};

/* Reads the first bytes of a file; bytes beyond its end are 0. Opening a pipe must not wait for a
 * writer. */
static int input_read_head(const char *path, uint8_t head[INPUT_HEAD], struct err *err)
{
    AUTO(auto_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    memset(head, 0, INPUT_HEAD);
    if (fd < 0)
        return err_set(err, errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND : ERR_IO, "%s: %s",
                       path, strerror(errno));
    if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode))
        return err_set(err, ERR_INVALID, "%s: found no regular file", path);
    if (read(fd, head, INPUT_HEAD) < 0)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    return 0;
}

static int input_find_kind(struct input *in, const char *path, struct err *err)
{
    const struct input_reader *r = in->reader;
    const bool numbers = r->normalizer->floats;
    const char *allowed = numbers ? ".npy files and tables (.csv)"
                                  : "JPEG, PNG, IDX and .npy files, tables (.csv), and CIFAR's "
                                    "binary files (.bin) for images of 3 x 32 x 32";
    uint8_t head[INPUT_HEAD];

    if (input_read_head(path, head, err))
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(kinds) && !in->kind; i++)
        if (kinds[i]->is(r, path, head))
            in->kind = kinds[i];
    if (!in->kind)
        return err_set(err, ERR_DAMAGED, "%s: no file that this model takes; allowed: %s", path,
                       allowed);
    if (numbers && !in->kind->numbers)
        return err_set(err, ERR_INVALID,
                       "%s: a file of images, but the model was trained on arrays of numbers; "
                       "allowed: %s",
                       path, allowed);
    return 0;
}

struct input *input_open(struct input_reader *r, const char *const *paths, size_t n_paths,
                         struct err *err)
{
    AUTO(input_close) struct input *in = xcalloc(1, sizeof *in);

    *in = (struct input){.reader = r, .paths = paths, .n_paths = n_paths};
    if (n_paths > 1)
        in->kind = &input_npy;
    else if (input_find_kind(in, paths[0], err))
        return NULL;
    if (in->kind->open(in, err))
        return NULL;
    return STEAL(in);
}

void input_close(struct input **in)
{
    if (*in && (*in)->own)
        (*in)->kind->close(*in);
    free(*in);
    *in = NULL;
}

int input_next(struct input *in, float *x, struct err *err) { return in->kind->next(in, x, err); }

bool input_is_many(const struct input *in) { return in->kind->many; }
