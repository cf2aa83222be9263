/*
 * How many JPEGs one core decodes: decode DIR SIZE decode|draft|prepare.
 *
 * The .jpg files of DIR are read into memory first. Each line of standard input is a number of
 * images to decode, in turn; the answer is a line of JSON. decode: to planes of bytes, brought to
 * SIZE (0: as they are); draft: the same with DCT-scaled decoding; prepare: decoded, then padded by
 * 4, cut, mirrored and normalised to floats.
 */
#include <dirent.h>
#include <time.h>

#include "paceline/file.h"
#include "paceline/mem.h"
#include "worker/data/batch/augment.h"
#include "worker/data/batch/normalize.h"
#include "worker/data/image/image.h"
#include "worker/data/image/resize.h"

#define MAX_FILES 4096

static struct file_map files[MAX_FILES];
static size_t n_files;

static double seconds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char *why)
{
    fprintf(stderr, "decode: %s\n", why);
    exit(1);
}

static void read_files(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    struct err err;

    while (dir && n_files < MAX_FILES && (entry = readdir(dir))) {
        AUTO(auto_free) char *path = xasprintf("%s/%s", folder, entry->d_name);

        if (!strstr(entry->d_name, ".jpg"))
            continue;
        if (file_map_open(&files[n_files++], path, &err))
            fail(err.msg);
    }
    if (!n_files)
        fail("no .jpg files");
    closedir(dir);
}

struct bench {
    struct image_decoder *decoder;
    struct resizer *resizer;
    struct image image;
    struct normalizer normalizer;
    int size;
    bool prepares;
    uint8_t *bytes, *view;
    float *x;
};

static void one(struct bench *b, uint32_t i)
{
    const struct augment augment = {.flip = true, .pad = 4, .seed = 1};
    const struct file_map *f = &files[i % n_files];
    struct err err;

    if (image_decode(b->decoder, f->bytes, f->len, 3, &b->image, &err))
        fail(err.msg);
    const struct shape s = {3, b->size ? b->size : b->image.shape.h,
                            b->size ? b->size : b->image.shape.w};

    if (!b->bytes) {
        const struct job job = {.dataset = {.mean = 0.47, .std = 0.25}};
        const size_t n = (size_t)s.c * (size_t)s.h * (size_t)s.w;

        b->bytes = xmalloc(n);
        b->view = xmalloc(n);
        b->x = xmalloc(n * sizeof *b->x);
        normalizer_init(&b->normalizer, &job, s);
    }
    resize(b->resizer, &b->image, s.h, s.w, b->bytes);
    if (!b->prepares)
        return;
    augment_apply(b->view, b->bytes, s, augment_draw(&augment, 0, i));
    normalizer_apply(&b->normalizer, b->x, b->view);
}

int main(int argc, char **argv)
{
    struct bench b = {.decoder = image_decoder_new(), .resizer = resizer_new()};
    char line[64];
    uint32_t i = 0;

    if (argc != 4)
        fail("usage: decode DIR SIZE decode|draft|prepare");
    b.size = (int)strtol(argv[2], NULL, 10);
    b.prepares = strcmp(argv[3], "prepare") == 0;
    if (strcmp(argv[3], "draft") == 0)
        image_decoder_draft(b.decoder, b.size);
    read_files(argv[1]);
    printf("{\"version\": \"paceline\"}\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        const uint32_t end = i + (uint32_t)strtoul(line, NULL, 10), begin = i;
        const double start = seconds_now();

        while (i < end)
            one(&b, i++);
        printf("{\"samplesPerSecond\": %.1f}\n", (end - begin) / (seconds_now() - start));
        fflush(stdout);
    }
    return 0;
}
