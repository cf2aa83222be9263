/* predict: asks a model about files. See docs/tasks/evaluate-and-predict.md. */
#include "worker/predict.h"

#include <dirent.h>
#include <sys/stat.h>

#include "paceline/losses.h"
#include "paceline/mem.h"
#include "worker/checkpoint/config.h"
#include "worker/data/format/arrays.h"
#include "worker/data/format/input.h"
#include "worker/data/image/image_folder.h"
#include "worker/kernels/math.h"
#include "worker/model/loss.h"
#include "worker/predict_text.h"
#include "worker/train/checkpoint/inference.h"
#include "worker/train/telemetry/events.h"

#define BATCH_MAX 64
#define OUTPUTS_MAX 1000 /* that a line lists, which is bounded */

/* A sample that waits for its batch. */
struct asked {
    char *path;
    int64_t number; /* in its file; -1: it is all of it */
};

struct predictor {
    struct trainer t;
    const struct worker_options *options;
    struct config config; /* of the checkpoint */
    struct input_reader *reader;
    float *x, *probabilities;
    struct asked asked[BATCH_MAX];
    uint32_t n, room;
    int64_t taken, answered, failed;
    enum err_code why; /* the first failure's */
};

static size_t sample_floats(const struct predictor *p)
{
    const struct shape s = p->t.normalizer.shape;

    return (size_t)s.c * (size_t)s.h * (size_t)s.w;
}

static bool is_full(const struct predictor *p)
{
    return p->options->limit >= 0 && p->taken >= p->options->limit;
}

void prediction_add_class(cJSON *to, const cJSON *names, int class, double probability)
{
    const cJSON *name = cJSON_GetArrayItem(names, class);

    cJSON_AddNumberToObject(to, "class", class);
    if (cJSON_IsString(name))
        cJSON_AddStringToObject(to, "label", name->valuestring);
    cJSON_AddNumberToObject(to, "probability", probability);
}

void prediction_add_top(cJSON *e, const cJSON *names, const float *probabilities, int n, long top)
{
    cJSON *list = cJSON_AddArrayToObject(e, "top");
    int last = -1; /* the class that was added last; equal ones follow by number */

    for (long k = 0; k < (top < n ? top : n); k++) {
        int best = -1;

        for (int i = 0; i < n; i++) {
            const bool after = last < 0 || probabilities[i] < probabilities[last] ||
                               (probabilities[i] == probabilities[last] && i > last);
            if (after && (best < 0 || probabilities[i] > probabilities[best]))
                best = i;
        }
        if (best < 0) /* none but NaN is left */
            break;
        cJSON *item = cJSON_CreateObject();
        prediction_add_class(item, names, best, (double)probabilities[best]);
        cJSON_AddItemToArray(list, item);
        last = best;
    }
}

static cJSON *event_about(const char *name, const struct asked *a)
{
    cJSON *e = event_new(name);

    cJSON_AddStringToObject(e, "input", a->path);
    if (a->number >= 0)
        cJSON_AddNumberToObject(e, "sample", (double)a->number);
    return e;
}

static void predict_add_floats(cJSON *e, const char *name, const float *x, int n)
{
    cJSON *list = cJSON_AddArrayToObject(e, name);

    for (int i = 0; i < n; i++)
        cJSON_AddItemToArray(list, cJSON_CreateNumber((double)x[i]));
}

static void add_classes(const struct predictor *p, cJSON *e, const float *y)
{
    const int n = p->t.model.classes;
    const struct loss_result r =
        loss_sample(p->t.job->model.loss, p->t.kernels, y, 0, n, 0, 1, NULL, p->probabilities);

    prediction_add_class(e, p->config.names, r.predicted, (double)p->probabilities[r.predicted]);
    prediction_add_top(e, p->config.names, p->probabilities, n, p->options->top);
    if (n <= OUTPUTS_MAX)
        predict_add_floats(e, "probabilities", p->probabilities, n);
}

/* Each output is a question of its own: those that it answers with yes are `labels`. */
static void predict_add_bits(const struct predictor *p, cJSON *e, const float *y)
{
    cJSON *labels = cJSON_AddArrayToObject(e, "labels");

    for (int i = 0; i < p->t.model.classes; i++) {
        p->probabilities[i] = (float)(1 / (1 + math_exp(-(double)y[i])));
        if (y[i] > 0)
            cJSON_AddItemToArray(labels, cJSON_CreateNumber(i));
    }
    predict_add_floats(e, "probabilities", p->probabilities, p->t.model.classes);
}

static void answer(struct predictor *p, const struct asked *a, const float *y)
{
    cJSON *e = event_about("prediction", a);

    cJSON_AddNumberToObject(e, "index", (double)p->answered++);
    switch (job_labels(p->t.job)) {
    case LABELS_NUMBERS:
        predict_add_floats(e, "values", y, p->t.model.classes);
        break;
    case LABELS_BITS:
        predict_add_bits(p, e, y);
        break;
    case LABELS_CLASS:
    case LABELS_WORDS:
        add_classes(p, e, y);
        break;
    }
    event_send(e);
}

/* Answers all samples that wait. */
static void predict_flush(struct predictor *p)
{
    const float *y = p->n ? inference_forward(&p->t, p->x, p->n, true) : NULL;

    for (uint32_t i = 0; i < p->n; i++) {
        answer(p, &p->asked[i], y + i * inference_row(&p->t));
        free(p->asked[i].path);
    }
    p->n = 0;
}

static void predict_skip(struct predictor *p, const char *path, int64_t number,
                         const struct err *why)
{
    struct asked a = {.path = (char *)path, .number = number};
    cJSON *e;

    predict_flush(p); /* answers keep their order */
    e = event_about("skipped", &a);
    cJSON_AddNumberToObject(e, "code", err_exit_code(why->code));
    cJSON_AddStringToObject(e, "message", why->msg);
    event_send(e);
    if (p->failed++ == 0)
        p->why = why->code;
}

/* All samples of one file, or of a file for each input. */
static int predict_ask(struct predictor *p, const char *const *paths, size_t n_paths,
                       struct err *err)
{
    AUTO(input_close) struct input *in = input_open(p->reader, paths, n_paths, err);
    int rc;

    if (!in)
        return -1;
    for (int64_t number = input_is_many(in) ? 0 : -1; !is_full(p); number += number >= 0) {
        rc = input_next(in, p->x + p->n * sample_floats(p), err);
        if (rc == 0 && number == 0)
            return err_set(err, ERR_DAMAGED, "%s: no sample in it", paths[0]);
        if (rc == 0)
            break;
        p->taken++;
        if (rc < 0) {
            if (!input_is_many(in))
                return -1;
            predict_skip(p, paths[0], number, err);
            continue;
        }
        p->asked[p->n++] = (struct asked){xstrdup(paths[0]), number};
        if (p->n == p->room)
            predict_flush(p);
    }
    return 0;
}

static bool predict_is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* An image that cannot be read does not stop the others. */
static int ask_tree(struct predictor *p, const char *folder, struct err *err)
{
    AUTO(image_tree_release) struct image_tree tree = {0};
    struct err why;

    if (image_tree_scan(&tree, folder, err))
        return -1;
    for (size_t i = 0; i < tree.n && !is_full(p); i++)
        if (predict_ask(p, &tree.paths[i], 1, &why))
            predict_skip(p, tree.paths[i], -1, &why);
    return 0;
}

/* The arrays of a model's inputs, by name; freed by array_list_free. */
struct array_list {
    char **paths; /* [n] */
    size_t n;
};

static void array_list_free(struct array_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->paths[i]);
    free(l->paths);
}

static struct array_list array_list_new(const struct job *job)
{
    const size_t inputs = arrays_inputs(job), n = inputs ? inputs : 1;

    return (struct array_list){xcalloc(n, sizeof(char *)), n};
}

/* Takes NAME.npy for each input, else the test set's file. */
static int ask_arrays_folder(struct predictor *p, const char *folder, struct err *err)
{
    AUTO(array_list_free) struct array_list list = array_list_new(p->t.job);
    struct stat st;

    for (size_t i = 0; i < list.n; i++) {
        AUTO(auto_free) char *name = arrays_input_name(p->t.job, i);
        char *path = xasprintf("%s/%s.npy", folder, name);

        if (stat(path, &st)) {
            free(path);
            path = xasprintf("%s/test-%s.npy", folder, name);
        }
        list.paths[i] = path;
        if (stat(path, &st))
            return err_set(err, ERR_NOT_FOUND, "%s: neither %s.npy nor test-%s.npy in this folder",
                           folder, name, name);
    }
    return predict_ask(p, (const char *const *)list.paths, list.n, err);
}

/* The number of the input that "NAME=FILE" names, and *file; -1 if the word has another form, or is
 * itself the name of a file. */
static int named_input(const struct predictor *p, const char *word, const char **file)
{
    const char *equals = strchr(word, '=');
    struct stat st;

    if (!equals || !p->t.normalizer.floats || stat(word, &st) == 0)
        return -1;
    for (size_t i = 0; i < arrays_inputs(p->t.job); i++) {
        AUTO(auto_free) char *name = arrays_input_name(p->t.job, i);

        *file = equals + 1;
        if (strlen(name) == (size_t)(equals - word) && memcmp(name, word, strlen(name)) == 0)
            return (int)i;
    }
    return -1;
}

/* Answers all words NAME=FILE together. */
static int ask_named(struct predictor *p, struct err *err)
{
    AUTO(array_list_free) struct array_list list = array_list_new(p->t.job);
    const char *file = NULL;
    size_t given = 0;

    for (size_t k = 0; k < p->options->inputs.n; k++) {
        const int i = named_input(p, p->options->inputs.items[k], &file);

        if (i < 0)
            continue;
        if (list.paths[i])
            return err_set(err, ERR_INVALID, "%s: a second file for this input; one is needed",
                           p->options->inputs.items[k]);
        list.paths[i] = xstrdup(file);
        given++;
    }
    if (!given)
        return 0;
    for (size_t i = 0; i < list.n; i++) {
        AUTO(auto_free) char *name = arrays_input_name(p->t.job, i);

        if (!list.paths[i])
            return err_set(err, ERR_INVALID, "no file for the input %s; needed: %s=FILE", name,
                           name);
    }
    return predict_ask(p, (const char *const *)list.paths, list.n, err);
}

static int ask_text(struct predictor *p, const char *path, struct err *err)
{
    if (predict_text(&p->t, &p->config, path, p->answered, p->options->top, err))
        return -1;
    p->answered++;
    return 0;
}

static int ask_word(struct predictor *p, const char *word, struct err *err)
{
    if (p->t.net.rows)
        return ask_text(p, word, err);
    if (!predict_is_folder(word))
        return predict_ask(p, &word, 1, err);
    return p->t.normalizer.floats ? ask_arrays_folder(p, word, err) : ask_tree(p, word, err);
}

/* A file of an older engine does not describe its model, so the data must be there. */
static int learn_data(struct predictor *p, const struct job *job, struct err *err)
{
    struct datasets data;

    if (p->config.shape.c && p->config.classes)
        return 0;
    if (datasets_load(&data, job, "", 0, 1, err))
        return err_wrap(err,
                        "%s: written by an older version, which did not say what it was trained on",
                        p->options->checkpoint);
    p->config.shape = data.train.shape;
    p->config.classes = data.train.classes;
    datasets_release(&data);
    return 0;
}

static int predict_start(struct predictor *p, const struct job *job, struct comm *comm,
                         const struct kernels *kernels, struct err *err)
{
    const char *path = p->options->checkpoint;
    AUTO(st_close) struct st_file f = {0};

    if (st_open_on_disk(&f, path, err) || config_read(&p->config, &f, path, err) ||
        learn_data(p, job, err))
        return -1;
    p->room = job_named_set(job)->of == SAMPLES_WORDS         ? 1 /* a text is one stream */
              : job->training.batch_size < (int64_t)BATCH_MAX ? (uint32_t)job->training.batch_size
                                                              : BATCH_MAX;
    if (inference_init(&p->t, job, comm, kernels, p->config.shape, p->config.classes, p->room, path,
                       err))
        return -1;
    if (!labels_are_classes(job_labels(job)) && p->t.model.classes > OUTPUTS_MAX)
        return err_set(err, ERR_INVALID, "%s: a model of %d outputs; predict prints at most %d",
                       path, p->t.model.classes, OUTPUTS_MAX);
    p->reader = input_reader_new(job, p->config.shape, &p->t.normalizer, p->config.columns);
    p->x = xaligned(p->room * sample_floats(p) * sizeof *p->x);
    p->probabilities = xcalloc((size_t)p->t.model.classes, sizeof *p->probabilities);
    return 0;
}

static void predict_release(struct predictor *p)
{
    input_reader_free(&p->reader);
    trainer_release(&p->t);
    config_release(&p->config);
    free(p->x);
    free(p->probabilities);
    free(p);
}

static int ask_all(struct predictor *p, struct err *err)
{
    const struct worker_options *o = p->options;
    const char *file;
    struct err why;

    if (ask_named(p, err))
        return -1;
    for (size_t i = 0; i < o->inputs.n && !is_full(p); i++) {
        if (named_input(p, o->inputs.items[i], &file) >= 0 ||
            ask_word(p, o->inputs.items[i], &why) == 0)
            continue;
        if (o->inputs.n == 1 && p->answered + p->n == 0 && p->failed == 0) {
            *err = why;
            return -1;
        }
        predict_skip(p, o->inputs.items[i], -1, &why);
    }
    predict_flush(p);
    if (!p->failed)
        return 0;
    return err_set(err, p->why, "%lld of the inputs could not be read; %lld samples are answered",
                   (long long)p->failed, (long long)p->answered);
}

int worker_predict(const struct job *job, struct comm *comm, const struct kernels *kernels,
                   const struct worker_options *o, struct err *err)
{
    struct predictor *p = xcalloc(1, sizeof *p);
    int rc;

    p->options = o;
    rc = predict_start(p, job, comm, kernels, err);
    if (rc == 0 && comm_rank(comm) == 0)
        rc = ask_all(p, err);
    predict_release(p);
    return rc;
}
