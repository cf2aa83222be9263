// LINK: common
/* Suggestions: words of other frameworks, fields that stand elsewhere; and none where nothing is
 * near. */
#include "paceline/suggest.h"

#include "common/spec_table.h"
#include "tests/test.h"

static void test_fields(void)
{
    static const struct {
        const char *prefix, *key, *hint; /* hint NULL: none */
    } cases[] = {
        {"spec.", "lr", "did you mean spec.training.optimizer.learningRate?"},
        {"spec.training.", "LEARNING_RATE", "did you mean spec.training.optimizer.learningRate?"},
        {"spec.training.optimizer.", "learning-rate", "did you mean learningRate?"},
        {"spec.training.optimizer.", "betas", "did you mean beta1?"},
        {"spec.training.optimizer.", "lr", "did you mean learningRate?"},
        {"spec.training.", "max_epochs", "did you mean epochs?"},
        {"spec.", "Epochs", "did you mean spec.training.epochs?"},
        {"", "training", "did you mean spec.training?"},
        {"", "sepc", "did you mean spec?"},
        {"spec.", "cachePath", "did you mean spec.dataset.cachePath?"},
        {"spec.", "queue", "did you mean spec.runPolicy.schedulingPolicy.queue?"},
        {"spec.", "subpath", "did you mean spec.output.subPath?"},
        {"spec.", "alpha", "did you mean spec.dataset.distribution.alpha?"},
        {"spec.dataset.", "fraction", "did you mean spec.strategy.switch.fraction?"},
        {"spec.", "volume", "did you mean spec.dataset.volume or spec.output.volume?"},
        {"spec.", "restartPolicy", NULL}, /* four roles have one */
        {"spec.", "frobnicate", NULL},
        {"spec.", "uid", NULL}, /* the API server's */
        {"spec.model.layers[].", "kernelSize", "did you mean kernel?"},
        {"spec.model.layers[].", "filter", "did you mean filters?"},
        {"spec.model.layers[].", "epochs", NULL},
        {"spec.model.layers[].", "in_features",
         "leave it out: a layer takes what the one before it gives"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out;

        buf_init(&out, 0);
        CHECK_INT(suggest_field(cases[i].prefix, cases[i].key, &out), cases[i].hint != NULL);
        CHECK_STR(out.data, cases[i].hint ? cases[i].hint : "");
        buf_release(&out);
    }
}

static void test_values(void)
{
    static const struct {
        const char *path, *word, *hint;
    } cases[] = {
        {"spec.model.layers[].type", "Linear", "did you mean dense?"},
        {"spec.model.layers[].type", "LSTM", "did you mean lstm?"},
        {"spec.model.layers[].type", "Global_Avg_Pool", "did you mean globalavgpool?"},
        {"spec.model.layers[].type", "kolmogorov", NULL},
        {"spec.dataset.name", "FashionMNIST", "did you mean fashion-mnist?"},
        {"spec.dataset.name", "imagenet", "did you mean images?"},
        {"spec.training.precision", "float16", "did you mean bf16?"},
        {"spec.training.precision", "fp31", "did you mean fp32?"},
        {"spec.training.epochs", "all", NULL}, /* no words are allowed */
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct field *f = spec_field_find(cases[i].path);
        struct buf out;

        buf_init(&out, 0);
        CHECK_INT(suggest_value(f, cases[i].word, &out), cases[i].hint != NULL);
        CHECK_STR(out.data, cases[i].hint ? cases[i].hint : "");
        buf_release(&out);
    }
}

static void test_paths(void)
{
    CHECK_STR(suggest_path("epochs"), "spec.training.epochs");
    CHECK_STR(suggest_path("lr"), "spec.training.optimizer.learningRate");
    CHECK_STR(suggest_path("out_channels"), "spec.model.layers[].filters");
    CHECK_STR(suggest_path("batchSzie"), "spec.training.batchSize");
    CHECK(suggest_path("frobnicate") == NULL);
    CHECK(suggest_path("in_channels") == NULL);
}

/* Each of our words in the tables is one. */
static void test_tables(void)
{
    const char *where, *ours;

    for (size_t i = 0; suggest_alias(i, &where, &ours); i++) {
        const struct field *f = spec_field_find(where);
        char path[128];
        size_t k = 0;

        if (f) {
            while (f->names[k] && strcmp(f->names[k], ours) != 0)
                k++;
            CHECK_STR(f->names[k], ours);
            continue;
        }
        snprintf(path, sizeof path, "%s%s", strncmp(ours, "spec.", 5) == 0 ? "" : where, ours);
        if (!spec_field_find(path))
            CHECK_STR(path, "a field");
    }
}

int main(void)
{
    test_fields();
    test_values();
    test_paths();
    test_tables();
    return test_result();
}
