#include "worker/predict_text.h"

#include "paceline/file.h"
#include "paceline/mem.h"
#include "worker/data/format/vocabulary.h"
#include "worker/kernels/math.h"
#include "worker/model/loss.h"
#include "worker/train/checkpoint/inference.h"
#include "worker/train/telemetry/events.h"

#define EOS "<eos>"

/* A text on its way through the model. */
struct text_reading {
    struct trainer *t;
    uint32_t *words; /* [n] */
    size_t n;
    size_t last; /* the word that the answer follows */
    double loss; /* of the words after the first */
    double correct;
    float *x, *probabilities; /* [steps]; [classes] of one position */
    float *next;              /* [classes] after word `last` */
    int predicted;            /* the likeliest of them */
};

static int open_vocabulary(struct vocabulary *v, struct arena *arena, const struct config *config,
                           const char *path, struct err *err)
{
    const size_t n = (size_t)cJSON_GetArraySize(config->names);
    const char **words = config_names_list(config, arena);

    if (!n)
        return err_set(err, ERR_INVALID,
                       "%s: the checkpoint does not list the words of its vocabulary; train it "
                       "again with this version, and a spec.dataset.vocabulary whose words have "
                       "at most 16 MiB",
                       path);
    for (size_t i = 0; i < n; i++)
        if (!words[i])
            return err_set(err, ERR_INVALID,
                           "%s: the checkpoint has only a part of word %zu, for an earlier "
                           "version could not write words that are not UTF-8; train it again "
                           "with this version",
                           path, i);
    return vocabulary_list(v, words, n, err);
}

/* A final line end does not count as a word: the answer continues the line. */
static size_t last_word(const struct vocabulary *v, const uint32_t *words, size_t n)
{
    size_t len;
    const char *word = vocabulary_word(v, words[n - 1], &len);

    return n > 1 && len == strlen(EOS) && memcmp(word, EOS, len) == 0 ? n - 2 : n - 1;
}

/* The scores at word i. */
static void predict_text_read_scores(struct text_reading *r, size_t i, const float *y)
{
    struct trainer *t = r->t;
    const bool ends = i + 1 == r->n;
    const struct loss_result result =
        loss_sample(t->job->model.loss, t->kernels, y, 0, t->model.classes,
                    ends ? 0 : (int)r->words[i + 1], 1, NULL, r->probabilities);

    if (!ends) {
        r->loss += result.loss;
        r->correct += result.scores[0];
    }
    if (i != r->last)
        return;
    memcpy(r->next, r->probabilities, (size_t)t->model.classes * sizeof *r->next);
    r->predicted = result.predicted;
}

/* Reads row by row. The last row is padded; nothing is read after it. */
static void predict_text_read_rows(struct text_reading *r)
{
    const size_t steps = (size_t)r->t->model.positions;

    for (size_t begin = 0; begin < r->n; begin += steps) {
        for (size_t i = 0; i < steps; i++)
            r->x[i] = begin + i < r->n ? (float)r->words[begin + i] : 0;
        const float *y = inference_forward(r->t, r->x, 1, begin == 0);
        for (size_t i = 0; i < steps && begin + i < r->n; i++)
            predict_text_read_scores(r, begin + i, y + i * inference_row(r->t));
    }
}

static void predict_text_send(const struct text_reading *r, const char *path, int64_t index,
                              size_t unknown, const cJSON *names, long top)
{
    cJSON *e = event_new("prediction");

    cJSON_AddStringToObject(e, "input", path);
    cJSON_AddNumberToObject(e, "index", (double)index);
    cJSON_AddNumberToObject(e, "words", (double)r->n);
    cJSON_AddNumberToObject(e, "unknown", (double)unknown);
    if (r->n > 1) {
        const double scored = (double)(r->n - 1);

        cJSON_AddNumberToObject(e, "loss", r->loss / scored);
        cJSON_AddNumberToObject(e, "perplexity", math_exp(r->loss / scored));
        cJSON_AddNumberToObject(e, "accuracy", r->correct / scored);
    }
    prediction_add_class(e, names, r->predicted, (double)r->next[r->predicted]);
    prediction_add_top(e, names, r->next, r->t->model.classes, top);
    event_send(e);
}

static size_t count_unknown(const struct vocabulary *v, const uint32_t *words, size_t n)
{
    size_t unknown = 0;

    for (size_t i = 0; i < n; i++)
        unknown += words[i] == v->unknown;
    return unknown;
}

int predict_text(struct trainer *t, const struct config *config, const char *path, int64_t index,
                 long top, struct err *err)
{
    AUTO(file_map_close) struct file_map text = {0};
    AUTO(vocabulary_release) struct vocabulary v = {0};
    AUTO(arena_release) struct arena arena = {0};
    const size_t classes = (size_t)t->model.classes;
    struct text_reading r = {.t = t};

    if (file_map_open(&text, path, err) ||
        vocabulary_count(text.bytes, text.len, path, &r.n, err) ||
        open_vocabulary(&v, &arena, config, path, err))
        return -1;
    if (!r.n)
        return err_set(err, ERR_DAMAGED, "%s: no word in it; one is needed", path);
    AUTO(auto_free) uint32_t *words = xcalloc(r.n, sizeof *words);
    AUTO(auto_free) float *x = xaligned((size_t)t->model.positions * sizeof *x);
    AUTO(auto_free) float *scores = xcalloc(2 * classes, sizeof *scores);

    vocabulary_encode(&v, text.bytes, text.len, words);
    r.words = words;
    r.x = x;
    r.probabilities = scores;
    r.next = scores + classes;
    r.last = last_word(&v, words, r.n);
    predict_text_read_rows(&r);
    predict_text_send(&r, path, index, count_unknown(&v, words, r.n), config->names, top);
    return 0;
}
