#include "cli/init_text.h"

#include <ctype.h>
#include <string.h>

#include "paceline/json.h"
#include "paceline/losses.h"
#include "paceline/mem.h"

#define NAME_MAX_LENGTH 40
#define FILTERS_MAX 128
#define SIDE_MIN 8 /* pixels that are worth another convolution */

/* "Flowers (2).d" becomes flowers-2-d: the rules of metadata.name. */
static void job_name(char name[NAME_MAX_LENGTH + 1], const char *path)
{
    const char *slash = strrchr(path, '/'), *from = slash ? slash + 1 : path;
    size_t n = 0;

    for (; *from && n < NAME_MAX_LENGTH; from++) {
        const char c = (char)tolower((unsigned char)*from);
        const bool letter = c >= 'a' && c <= 'z', digit = c >= '0' && c <= '9';

        if (letter || (digit && n))
            name[n++] = c;
        else if (n && name[n - 1] != '-')
            name[n++] = '-';
    }
    while (n && name[n - 1] == '-')
        n--;
    name[n] = '\0';
    if (!n)
        memcpy(name, "job", sizeof "job");
}

/* A description of the labels. */
struct words {
    const char *labels, *outputs, *loss;
};

static const struct words *tell(const struct init_data *d)
{
    static const struct words words[] = {
        [LABELS_CLASS] = {"classes", "a score for each class", NULL},
        [LABELS_NUMBERS] = {"numbers in a label", "the numbers of a label",
                            "labels are numbers; also mae, huber"},
        [LABELS_BITS] = {"labels of 0 and 1 for each", "a score for each label: above 0 says 1",
                         "labels are rows of 0 and 1"},
    };

    return &words[loss_defs[d->loss].labels];
}

static int shorter(struct shape s) { return s.h < s.w ? s.h : s.w; }

/* Convolutions, each with half of the rows and columns of the one before it, then a flat vector. */
static void write_features(struct buf *out, struct shape s)
{
    int filters = 16;

    for (int side = shorter(s); side >= SIDE_MIN; side /= 2) {
        buf_printf(out,
                   "    - {type: conv, filters: %d, kernel: 3, padding: same}\n"
                   "    - {type: relu}\n"
                   "    - {type: maxpool, kernel: 2}\n",
                   filters);
        filters = filters < FILTERS_MAX ? 2 * filters : filters;
    }
    if (s.h > 1 || s.w > 1)
        buf_puts(out, "    - {type: flatten}\n");
}

static void write_dense(struct buf *out, int units)
{
    buf_printf(out, "    - {type: dense, units: %d}\n    - {type: relu}\n", units);
}

/* One input gets a chain of layers; several inputs get a branch each, side by side. */
static void write_layers(struct buf *out, const struct init_data *d)
{
    const bool several = d->n_inputs > 1;

    for (size_t i = 0; i < d->n_inputs; i++) {
        const struct init_input *in = &d->inputs[i];
        const struct shape s = in->shape;

        if (in->name && s.h == 1 && s.w == 1)
            buf_printf(out, "    - {type: input, name: %s, shape: [%d]} # train-%s.npy\n", in->name,
                       s.c, in->name);
        else if (in->name)
            buf_printf(out,
                       "    - {type: input, name: %s, shape: [%d, %d, %d]} # train-%s.npy: "
                       "channels, height, width\n",
                       in->name, s.c, s.h, s.w, in->name);
        write_features(out, s);
        if (several)
            buf_printf(out, "    - {type: dense, units: 32}\n    - {type: relu, name: of_%s}\n",
                       in->name);
    }
    if (several) {
        buf_puts(out, "    - {type: concat, inputs: [");
        for (size_t i = 0; i < d->n_inputs; i++)
            buf_printf(out, "%sof_%s", i ? ", " : "", d->inputs[i].name);
        buf_puts(out, "]}\n");
    }
    write_dense(out, 64);
    if (loss_defs[d->loss].labels != LABELS_NUMBERS) /* it would blur them */
        buf_puts(out, "    - {type: dropout, rate: 0.2} # against learning the samples by heart\n");
    buf_printf(out, "    - {type: dense, units: %d} # %s\n", d->outputs, tell(d)->outputs);
}

static void write_images(struct buf *out, const struct init_data *d)
{
    if (d->image_size)
        buf_printf(
            out,
            "    imageSize: %d # every image becomes %d x %d; the shorter sides have %d to %d "
            "pixels. More shows more, and takes longer\n",
            d->image_size, d->image_size, d->image_size, d->least, d->most);
    buf_printf(out, "    color: %s\n", d->gray ? "gray" : "rgb");
    if (d->splits)
        buf_puts(out, "    testSplit: 0.2 # of each class, for there is no folder test/\n");
    buf_puts(out, "    # maxDamaged: 0.01 # lets so many damaged images be left out\n"
                  "    # augment: {flip: true, pad: 4} # where a mirrored image shows the same\n");
}

static void write_data(struct buf *out, const struct init_data *d)
{
    buf_printf(out, "  dataset:\n    name: %s\n    path: ", d->dataset);
    json_print_string(d->path, out);
    buf_printf(out, "\n    # %u samples to train with, %u to test with; %d %s%s%s\n", d->n_train,
               d->n_test, d->outputs, tell(d)->labels, d->class_names ? ": " : "",
               d->class_names ? d->class_names : "");
    if (strcmp(d->dataset, "images") == 0)
        write_images(out, d);
    buf_puts(out, "    normalizeBy: channel # to mean 0 and deviation 1, as the training samples "
                  "have them\n");
    if (d->n_train >= 50)
        buf_puts(out, "    validationSplit: 0.1 # of the training samples: they choose the best "
                      "checkpoint\n");
}

/* Enough updates to learn something: few samples need more epochs, of smaller batches. */
static void write_training(struct buf *out, const struct init_data *d)
{
    const uint32_t n = d->n_train;
    const int batch = n >= 2000 ? 64 : n >= 500 ? 32 : n >= 64 ? 16 : 8;
    const int epochs = n >= 20000 ? 10 : n >= 2000 ? 20 : 40;

    buf_printf(out,
               "  training:\n"
               "    epochs: %d\n"
               "    batchSize: %d # samples of an update, over all workers\n"
               "    optimizer: {name: adam, learningRate: 0.001}\n"
               "    # earlyStopping: {monitor: loss, patience: 5} # ends when it gets no better\n"
               "  # replicas:\n"
               "  #   worker: {replicas: 2} # or: paceline run JOB --workers 2\n",
               epochs, batch);
}

void init_text(struct buf *out, const struct init_data *d)
{
    char name[NAME_MAX_LENGTH + 1];

    job_name(name, d->path);
    buf_puts(out,
             "# Written by `paceline init`. `paceline validate` checks it, `paceline run` trains "
             "it, and\n"
             "# `paceline explain FIELD` says what a field means and allows.\n"
             "apiVersion: paceline.dev/v1\n"
             "kind: TrainingJob\n");
    buf_printf(out, "metadata: {name: %s}\nspec:\n  model:\n", name);
    if (tell(d)->loss)
        buf_printf(out, "    loss: %s # %s\n", loss_defs[d->loss].name, tell(d)->loss);
    buf_puts(out, "    layers:");
    if (!d->inputs[0].name)
        buf_printf(out, " # for samples of %d x %d x %d: channels, height, width",
                   d->inputs[0].shape.c, d->inputs[0].shape.h, d->inputs[0].shape.w);
    buf_puts(out, "\n");
    write_layers(out, d);
    write_data(out, d);
    write_training(out, d);
}
