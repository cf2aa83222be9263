#include "cli/init/init_text.h"

#include <ctype.h>
#include <string.h>

#include "cli/init/yaml_text.h"
#include "paceline/json.h"
#include "paceline/losses.h"
#include "paceline/mem.h"

#define NAME_MAX_LENGTH 40
#define LAYER_NAME_MAX 50
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

static const struct words *init_text_tell(const struct init_data *d)
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

/* The layers while they are written. A layer without a name gets its type and number as its name.
 */
struct layers {
    struct buf *out;
    const struct init_data *data;
    int count[LAYER_FLATTEN + 1]; /* of each type, up to the last that is written here */
};

static bool is_input(const struct init_data *d, const char *name)
{
    for (size_t i = 0; i < d->n_inputs; i++)
        if (d->inputs[i].name && strcmp(d->inputs[i].name, name) == 0)
            return true;
    return false;
}

/* Adds '_' until no input has the name. Other layers' names do not end in a number and '_'. */
static void make_unique(char name[LAYER_NAME_MAX + 1], const struct init_data *d)
{
    for (size_t n = strlen(name); n < LAYER_NAME_MAX && is_input(d, name); n++)
        memcpy(name + n, "_", 2);
}

/* Begins a layer. It has a name where an input has the one that it would get. */
static void init_text_begin(struct layers *l, enum layer_type type)
{
    char name[LAYER_NAME_MAX + 1];

    snprintf(name, sizeof name, "%s%d", layer_type_names[type], ++l->count[type]);
    buf_printf(l->out, "    - {type: %s", layer_type_names[type]);
    if (!is_input(l->data, name))
        return;
    make_unique(name, l->data);
    buf_printf(l->out, ", name: %s", name);
}

static void init_text_add(struct layers *l, enum layer_type type)
{
    init_text_begin(l, type);
    buf_puts(l->out, "}\n");
}

/* Convolutions, each with half of the rows and columns of the one before it, then a flat vector. */
static void write_features(struct layers *l, struct shape s)
{
    int filters = 16;

    for (int side = shorter(s); side >= SIDE_MIN; side /= 2) {
        init_text_begin(l, LAYER_CONV);
        buf_printf(l->out, ", filters: %d, kernel: 3, padding: same}\n", filters);
        init_text_add(l, LAYER_RELU);
        init_text_begin(l, LAYER_MAXPOOL);
        buf_puts(l->out, ", kernel: 2}\n");
        filters = filters < FILTERS_MAX ? 2 * filters : filters;
    }
    if (s.h > 1 || s.w > 1)
        init_text_add(l, LAYER_FLATTEN);
}

static void write_dense(struct layers *l, int units)
{
    init_text_begin(l, LAYER_DENSE);
    buf_printf(l->out, ", units: %d", units);
}

static void write_input(struct buf *out, const struct init_input *in)
{
    const struct shape s = in->shape;

    buf_puts(out, "    - {type: input, name: ");
    yaml_text_string(in->name, out);
    if (s.h == 1 && s.w == 1)
        buf_printf(out, ", shape: [%d]} # train-%s.npy\n", s.c, in->name);
    else
        buf_printf(out, ", shape: [%d, %d, %d]} # train-%s.npy: channels, height, width\n", s.c,
                   s.h, s.w, in->name);
}

/* The name of a branch's last layer: of_NAME, unless an input has it or it is too long. */
static void branch_name(char name[LAYER_NAME_MAX + 1], const struct init_data *d, size_t i)
{
    const int n = snprintf(name, LAYER_NAME_MAX + 1, "of_%s", d->inputs[i].name);

    if (n <= LAYER_NAME_MAX && !is_input(d, name))
        return;
    snprintf(name, LAYER_NAME_MAX + 1, "branch_%zu", i + 1);
    make_unique(name, d);
}

/* Each input has layers of its own, and the rest of the network takes their outputs. */
static void write_branches(struct layers *l)
{
    const struct init_data *d = l->data;
    char name[LAYER_NAME_MAX + 1];

    for (size_t i = 0; i < d->n_inputs; i++) {
        write_input(l->out, &d->inputs[i]);
        write_features(l, d->inputs[i].shape);
        write_dense(l, 32);
        branch_name(name, d, i);
        l->count[LAYER_RELU]++;
        buf_printf(l->out, "}\n    - {type: relu, name: %s}\n", name);
    }
    init_text_begin(l, LAYER_CONCAT);
    for (size_t i = 0; i < d->n_inputs; i++) {
        branch_name(name, d, i);
        buf_printf(l->out, "%s%s", i ? ", " : ", inputs: [", name);
    }
    buf_puts(l->out, "]}\n");
}

static void write_layers(struct buf *out, const struct init_data *d)
{
    struct layers l = {.out = out, .data = d};

    if (d->n_inputs > 1) {
        write_branches(&l);
    } else {
        if (d->inputs[0].name)
            write_input(out, &d->inputs[0]);
        write_features(&l, d->inputs[0].shape);
    }
    write_dense(&l, 64);
    buf_puts(out, "}\n");
    init_text_add(&l, LAYER_RELU);
    if (loss_defs[d->loss].labels != LABELS_NUMBERS) { /* it would blur them */
        init_text_begin(&l, LAYER_DROPOUT);
        buf_puts(out, ", rate: 0.2} # against learning the samples by heart\n");
    }
    write_dense(&l, d->outputs);
    buf_printf(out, "} # %s\n", init_text_tell(d)->outputs);
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
               d->n_test, d->outputs, init_text_tell(d)->labels, d->class_names ? ": " : "",
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
    buf_puts(out, "metadata: {name: ");
    yaml_text_string(name, out);
    buf_puts(out, "}\nspec:\n  model:\n");
    if (init_text_tell(d)->loss)
        buf_printf(out, "    loss: %s # %s\n", loss_defs[d->loss].name, init_text_tell(d)->loss);
    buf_puts(out, "    layers:");
    if (!d->inputs[0].name)
        buf_printf(out, " # for samples of %d x %d x %d: channels, height, width",
                   d->inputs[0].shape.c, d->inputs[0].shape.h, d->inputs[0].shape.w);
    buf_puts(out, "\n");
    write_layers(out, d);
    write_data(out, d);
    write_training(out, d);
}
