/* Files of many images as bytes: IDX, and CIFAR's records. */
#include "paceline/mem.h"
#include "worker/data/format/cifar.h"
#include "worker/data/format/idx.h"
#include "worker/data/format/input_kind.h"

struct input_file {
    struct file_map map;
    uint8_t *unpacked;    /* of a gzip file; NULL: the map has the images */
    const uint8_t *bytes; /* of the first image */
    size_t step;          /* from one to the next */
    uint32_t n, at;
};

static int bytes_next(struct input *in, float *x, struct err *err)
{
    struct input_file *f = in->own;

    (void)err;
    if (f->at == f->n)
        return 0;
    normalizer_apply(in->reader->normalizer, x, f->bytes + f->at++ * f->step);
    return 1;
}

static void bytes_close(struct input *in)
{
    struct input_file *f = in->own;

    file_map_close(&f->map);
    free(f->unpacked);
    free(f);
}

static bool is_idx(const struct input_reader *r, const char *path, const uint8_t *head)
{
    (void)r;
    (void)path;
    return memcmp(head, "\0\0\x08", 3) == 0 || memcmp(head, "\x1f\x8b", 2) == 0;
}

/* Of images of one channel, else of several. */
static int open_dims(struct idx_file *idx, const struct file_map *map, const char *path,
                     struct err *err)
{
    struct err ignored;

    if (idx_open(idx, map->bytes, map->len, path, 3, err) == 0 ||
        idx_open(idx, map->bytes, map->len, path, 4, &ignored) == 0)
        return 0;
    return -1;
}

static int input_bytes_check_shape(const struct idx_file *idx, struct shape want, struct err *err)
{
    const uint32_t *d = idx->dims;
    const bool colours = idx->n_dims == 4;
    const struct shape is = {colours ? (int)d[1] : 1, (int)d[idx->n_dims - 2],
                             (int)d[idx->n_dims - 1]};
    const bool last = colours && is.w == want.c && is.c == want.h && is.h == want.w;

    if (is.c == want.c && is.h == want.h && is.w == want.w)
        return 0;
    return err_set(err, ERR_INVALID,
                   "%s: images of %d x %d x %d (channels, height, width); the model takes "
                   "%d x %d x %d%s",
                   idx->name, is.c, is.h, is.w, want.c, want.h, want.w,
                   last ? ", and channels come first" : "");
}

static int idx_input_open(struct input *in, struct err *err)
{
    struct input_file *f = in->own = xcalloc(1, sizeof *f);
    struct idx_file idx;

    if (file_map_open(&f->map, in->paths[0], err) || open_dims(&idx, &f->map, in->paths[0], err) ||
        input_bytes_check_shape(&idx, in->reader->shape, err))
        return -1;
    f->bytes = f->map.bytes + idx.header;
    if (idx.gzip) {
        f->unpacked = xmalloc(idx.header + idx.payload);
        if (idx_unpack(&idx, f->unpacked, err))
            return -1;
        f->bytes = f->unpacked + idx.header;
    }
    f->step = input_values(in->reader);
    f->n = idx.dims[0];
    return 0;
}

const struct input_kind input_idx = {
    .many = true, .is = is_idx, .open = idx_input_open, .next = bytes_next, .close = bytes_close};

/* The files begin with a label, so only their name tells their kind. */
static bool is_cifar(const struct input_reader *r, const char *path, const uint8_t *head)
{
    (void)head;
    return input_ends_with(path, ".bin") && r->shape.c == 3 && r->shape.h == 32 && r->shape.w == 32;
}

static int cifar_input_open(struct input *in, struct err *err)
{
    static const struct cifar_format formats[] = {{"cifar10", 1, 10}, {"cifar100", 2, 100}};
    struct input_file *f = in->own = xcalloc(1, sizeof *f);
    const char *name = in->reader->job->dataset.name;

    if (file_map_open(&f->map, in->paths[0], err))
        return -1;
    const size_t record = formats[0].label_bytes + CIFAR_IMAGE_BYTES;
    const bool fits = f->map.len % record == 0;
    const struct cifar_format *format =
        &formats[strcmp(name, "cifar100") == 0 || (strcmp(name, "cifar10") != 0 && !fits)];
    if (cifar_records(format, f->map.len, in->paths[0], &f->n, err))
        return -1;
    f->bytes = f->map.bytes + format->label_bytes;
    f->step = cifar_image_at(format, 1) - format->label_bytes;
    return 0;
}

const struct input_kind input_cifar = {.many = true,
                                       .is = is_cifar,
                                       .open = cifar_input_open,
                                       .next = bytes_next,
                                       .close = bytes_close};
