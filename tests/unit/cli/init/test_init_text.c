// LINK: cli/init/init_text.c cli/init/yaml_text.c common
/* paceline init writes a job whose network takes the samples, whatever their shapes. */
#include "cli/init/init_text.h"

#include "paceline/mem.h"
#include "paceline/spec.h"
#include "tests/test.h"

static void check_text(const struct init_data *d, const char *name)
{
    AUTO(problems_release) struct problems problems = {0};
    AUTO(net_release) struct net net = {0};
    AUTO(buf_release) struct buf text;
    struct shape in = d->inputs[0].shape;
    struct err err = {0};

    buf_init(&text, 0);
    init_text(&text, d);
    AUTO(auto_job) struct job *job = job_parse(text.data, text.len, "t", NULL, 0, &problems);
    for (size_t i = 0; i < problems.n; i++)
        CHECK_STR(problems.items[i], "");
    CHECK(job);
    if (!job)
        return;
    CHECK_STR(job->name, name);
    CHECK_STR(job->dataset.path, d->path);
    CHECK_INT(job->training.batch_size <= d->n_train, 1);
    if (d->inputs[0].name)
        in = job_inputs_shape(job);
    CHECK_INT(job_network(job, in, 0, &net, &err), 0);
    CHECK_STR(err.msg, "");
    CHECK_INT(net.out.c, d->outputs);
}

static void test_images(void)
{
    static const struct shape shapes[] = {{1, 28, 28}, {3, 32, 32}, {3, 64, 64}, {1, 1, 1},
                                          {3, 7, 200}, {1, 8, 9},   {3, 33, 65}, {1, 1, 1800}};

    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        struct init_input in = {.shape = shapes[i]};
        const struct init_data d = {.dataset = "images",
                                    .path = (char *)"/da: ta #1/My \"Photos\" (2)",
                                    .inputs = &in,
                                    .n_inputs = 1,
                                    .outputs = 7,
                                    .class_names = (char *)"a # b, c: d",
                                    .n_train = 8u << (3 * i),
                                    .n_test = 8,
                                    .image_size = i % 2 ? 0 : shapes[i].h,
                                    .gray = shapes[i].c == 1,
                                    .splits = i % 3 == 0};

        check_text(&d, "my-photos-2");
    }
}

static void test_arrays(void)
{
    struct init_input in[] = {{(char *)"x", {40, 1, 1}},
                              {(char *)"Image_1", {2, 16, 16}},
                              {(char *)"series", {1, 1, 1800}}};
    struct init_data d = {.dataset = "arrays",
                          .path = (char *)"/data/12_Arrays-",
                          .inputs = in,
                          .outputs = 4,
                          .n_train = 10,
                          .n_test = 2};

    for (size_t n = 1; n <= ARRAY_LEN(in); n++) {
        d.n_inputs = n;
        check_text(&d, "arrays");
    }
    d.path = (char *)"/";
    check_text(&d, "job");
}

/* Names that YAML reads as something else, that layers have by default, and that the names of
 * branches could be. */
static void test_names(void)
{
    static const char longest[] = "a1234567890123456789012345678901234567890123456789",
                      other[] = "a1234567890123456789012345678901234567890123456780";
    static const char *const sets[][5] = {
        {"null"},
        {"y", "no", "On", "true", "N"},
        {"dense1"},
        {"relu7", "x"},
        {"relu1", "relu2", "dropout1", "dense2", "dense2_"},
        {"conv1", "maxpool1", "flatten1", "concat1", "dense3"},
        {"x", "of_x", "of_of_x", "branch_1", "branch_1_"},
        {"input", longest, "a-b", other, "branch_2"},
    };

    for (size_t k = 0; k < ARRAY_LEN(sets); k++) {
        struct init_input in[5] = {0};
        struct init_data d = {.dataset = "arrays",
                              .path = (char *)"/data/null",
                              .inputs = in,
                              .outputs = 4,
                              .n_train = 10,
                              .n_test = 2};

        for (; d.n_inputs < 5 && sets[k][d.n_inputs]; d.n_inputs++)
            in[d.n_inputs] =
                (struct init_input){.name = (char *)sets[k][d.n_inputs], .shape = {1, 16, 16}};
        check_text(&d, "null");
    }
}

int main(void)
{
    test_images();
    test_arrays();
    test_names();
    return test_result();
}
