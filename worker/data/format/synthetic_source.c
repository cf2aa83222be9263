/*
 * Samples with a known truth, for networks that are to be compared without anybody's data: each is
 * a function of (seed, set, number) alone, and its class is what it was made from. Arithmetic is
 * that of IEEE alone, so every machine makes the same bytes.
 */
#include <stdbool.h>

#include "paceline/mem.h"
#include "worker/data/store/bytes.h"
#include "worker/data/store/source.h"
#include "worker/kernels/random.h"

#define CELLS 7 /* of an image's pattern, each way */
#define BANDS 8 /* of a scene; then height, then colours */
#define COLOURS 3
#define SCENE_CHANNELS (BANDS + 1 + COLOURS)
#define TEST_SHARE 5

/* What a sample is drawn from; `next` counts its numbers. */
struct draw {
    struct random_key key;
    uint32_t next;
};

static struct draw draw_begin(const struct source *s, uint32_t stream, uint32_t item,
                              uint32_t layer)
{
    return (struct draw){.key = {.seed = s->job->training.seed,
                                 .purpose = RANDOM_SAMPLES,
                                 .stream = stream,
                                 .item = item,
                                 .layer = layer}};
}

/* Uniform in [0, 1). */
static double draw_share(struct draw *d) { return random_u32(&d->key, d->next++) * 0x1p-32; }

/* Uniform in 0..n-1. */
static int draw_below(struct draw *d, int n) { return (int)(draw_share(d) * n); }

/* The parts of a key that are no sample's: streams after the two sets. */
enum { STREAM_CLASSES = N_SETS };
enum { LAYER_TRUTH, LAYER_NOISE };

/* x[n] in 0..1, with noise, as bytes. The noise is a sum of four uniform bytes, near a normal one.
 */
static void add_noise(const struct source *s, int set, uint32_t item, const double *x, uint8_t *out,
                      size_t n)
{
    const struct random_key key = draw_begin(s, (uint32_t)set, item, LAYER_NOISE).key;
    const uint32_t k[2] = {(uint32_t)key.seed, (uint32_t)(key.seed >> 32)};
    const double one = s->job->dataset.noise * 255 / 147.8; /* the sum's deviation is 147.8 */
    uint32_t words[4];

    for (size_t i = 0; i < n; i++) {
        const uint32_t counter[4] = {(uint32_t)(i / 4), item, (uint32_t)set,
                                     RANDOM_SAMPLES << 16 | LAYER_NOISE};
        uint32_t w;
        double v;

        if (i % 4 == 0)
            random_philox(words, counter, k);
        w = words[i % 4];
        v = x[i] * 255 +
            one * ((int)((w & 255) + (w >> 8 & 255) + (w >> 16 & 255) + (w >> 24)) - 510);
        out[i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v + 0.5);
    }
}

/* Fills x[c*h*w] with values in 0..1; returns the class. */
typedef int make_fn(const struct source *s, int set, uint32_t item, double *x);

/* A class is a pattern of dark and bright cells; an image has it somewhere else, and dimmed. */
static int make_image(const struct source *s, int set, uint32_t item, double *x)
{
    struct draw d = draw_begin(s, (uint32_t)set, item, LAYER_TRUTH);
    int size = s->shape.h, label = draw_below(&d, s->classes), room = size / CELLS;
    int dy = draw_below(&d, room) - room / 2, dx = draw_below(&d, room) - room / 2;
    double bright = 0.5 + 0.4 * draw_share(&d);
    struct draw pattern = draw_begin(s, STREAM_CLASSES, (uint32_t)label, 0);
    bool cells[CELLS * CELLS];

    for (int i = 0; i < CELLS * CELLS; i++)
        cells[i] = draw_below(&pattern, 2);
    for (int i = 0; i < size; i++)
        for (int j = 0; j < size; j++) {
            int y = i + dy, z = j + dx;
            bool inside = y >= 0 && y < size && z >= 0 && z < size;
            bool on = inside && cells[y * CELLS / size * CELLS + z * CELLS / size];

            x[i * size + j] = on ? bright : 0.1;
        }
    return label;
}

/*
 * A galaxy's spectrum, evenly in log10 of the wavelength, where a redshift z moves all lines by
 * log10(1+z). That is uniform over z = 1.0 to 1.8 and cut into `classes` bins: study 001's network
 * says which.
 */
#define LOG_FROM 3.85     /* log10 of 7,079 Angstrom */
#define LOG_TO 4.05       /* and of 11,220 */
#define LOG_NEAR 0.301030 /* log10(1 + 1.0) */
#define LOG_FAR 0.447158  /* log10(1 + 1.8) */
static const struct line {
    double log, weak, strong; /* log10 of the wavelength at rest; heights */
} lines[] = {
    {3.571359, 0.25, 0.40}, /* [O II] 3727, always in sight */
    {3.587599, 0.04, 0.10}, /* [Ne III] 3869 */
    {3.637590, 0.05, 0.12}, /* H gamma 4340 */
    {3.686726, 0.10, 0.25}, /* H beta 4861 */
    {3.695394, 0.10, 0.30}, /* [O III] 4959 */
    {3.699577, 0.25, 0.45}, /* [O III] 5007 */
};

static void add_line(double *x, int bins, double at, double height)
{
    double width = bins / 700.0 + 0.5;
    int reach = (int)(12 * width), middle = (int)at;

    for (int i = middle - reach; i <= middle + reach; i++) {
        double far = (i + 0.5 - at) / width;

        if (i >= 0 && i < bins)
            x[i] += height / (1 + far * far);
    }
}

static int make_spectrum(const struct source *s, int set, uint32_t item, double *x)
{
    struct draw d = draw_begin(s, (uint32_t)set, item, LAYER_TRUTH);
    double share = draw_share(&d), shift = LOG_NEAR + share * (LOG_FAR - LOG_NEAR);
    double level = 0.15 + 0.15 * draw_share(&d), slope = 0.2 * (draw_share(&d) - 0.5);
    double scale = 0.7 + 0.3 * draw_share(&d);
    int bins = s->shape.w;

    for (int i = 0; i < bins; i++)
        x[i] = level + slope * i / bins;
    for (size_t k = 0; k < ARRAY_LEN(lines); k++) {
        double height = lines[k].weak + (lines[k].strong - lines[k].weak) * draw_share(&d);

        add_line(x, bins, (lines[k].log + shift - LOG_FROM) / (LOG_TO - LOG_FROM) * bins,
                 scale * height);
    }
    return (int)(share * s->classes);
}

/*
 * A patch of land seen by three instruments, one after the other as channels: 8 bands of a
 * spectrometer, the height, 3 colours. A class is a material, which the bands show, and whether it
 * stands high (label % 2), which the height alone shows: no one instrument tells all classes apart.
 */
static int make_scene(const struct source *s, int set, uint32_t item, double *x)
{
    struct draw d = draw_begin(s, (uint32_t)set, item, LAYER_TRUTH);
    int size = s->shape.h, label = draw_below(&d, s->classes), other = draw_below(&d, s->classes);
    int edge = draw_below(&d, size / 4 + 1); /* so many columns are another class's */
    double light = 0.6 + 0.4 * draw_share(&d), ground = 0.3 * draw_share(&d);
    double bands[2][BANDS];

    for (int k = 0; k < 2; k++) {
        struct draw material = draw_begin(s, STREAM_CLASSES, (uint32_t)(k ? other : label) / 2, 0);

        for (int b = 0; b < BANDS; b++)
            bands[k][b] = 0.1 + 0.8 * draw_share(&material);
    }
    for (int i = 0; i < size * size; i++) {
        int k = i % size < edge, high = (k ? other : label) % 2;
        const double *band = bands[k];

        for (int b = 0; b < BANDS; b++)
            x[b * size * size + i] = light * band[b];
        x[BANDS * size * size + i] = ground + (high ? 0.5 : 0.1);
        for (int c = 0; c < COLOURS; c++) /* each the mean of three bands that overlap */
            x[(BANDS + 1 + c) * size * size + i] =
                light * (band[2 * c] + band[2 * c + 1] + band[2 * c + 2]) / 3;
    }
    return label;
}

/* size: where the job names none. height false: samples are lines. */
static int open_set(struct source *s, int channels, bool height, int64_t size, struct err *err)
{
    size = s->job->dataset.size ? s->job->dataset.size : size;
    if (size < CELLS)
        return err_set(err, ERR_INVALID,
                       "spec.dataset.made.size: found %lld; 0 or %d to 4096 are allowed",
                       (long long)size, CELLS);
    s->shape = (struct shape){channels, height ? (int)size : 1, (int)size};
    s->classes = (int)s->job->dataset.classes;
    s->n[SET_TRAIN] = (uint32_t)s->job->dataset.samples;
    s->n[SET_TEST] = (s->n[SET_TRAIN] + TEST_SHARE - 1) / TEST_SHARE;
    return 0;
}

static int open_patterns(struct source *s, const char *folder, struct err *err)
{
    (void)folder;
    return open_set(s, 1, true, 28, err);
}

static int open_spectra(struct source *s, const char *folder, struct err *err)
{
    (void)folder;
    return open_set(s, 1, false, 1800, err);
}

static int open_scenes(struct source *s, const char *folder, struct err *err)
{
    (void)folder;
    return open_set(s, SCENE_CHANNELS, true, 16, err);
}

static void make_all(const struct source *s, const struct source_memory *to, make_fn *make)
{
    size_t n = source_image_bytes(s);
    AUTO(auto_free) double *x = xcalloc(n, sizeof *x);

    for (int set = 0; set < N_SETS; set++)
        for (uint32_t i = 0; i < s->n[set]; i++) {
            to->labels[set][i] = (uint16_t)make(s, set, i, x);
            add_noise(s, set, i, x, to->images[set] + i * n, n);
        }
}

static int read_patterns(struct source *s, const struct source_memory *to, struct err *err)
{
    (void)err;
    make_all(s, to, make_image);
    return 0;
}

static int read_spectra(struct source *s, const struct source_memory *to, struct err *err)
{
    (void)err;
    make_all(s, to, make_spectrum);
    return 0;
}

static int read_scenes(struct source *s, const struct source_memory *to, struct err *err)
{
    (void)err;
    make_all(s, to, make_scene);
    return 0;
}

static const struct source_kind synthetic_patterns = {.open = open_patterns, .read = read_patterns};
static const struct source_kind synthetic_spectra = {.open = open_spectra, .read = read_spectra};
static const struct source_kind synthetic_scenes = {.open = open_scenes, .read = read_scenes};

const struct data_kind patterns_kind = {BYTES_KIND(synthetic_patterns, NULL)};
const struct data_kind spectra_kind = {BYTES_KIND(synthetic_spectra, NULL)};
const struct data_kind scenes_kind = {BYTES_KIND(synthetic_scenes, NULL)};
