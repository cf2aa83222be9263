// LINK: common worker/checkpoint
/* What a checkpoint says of its model: written, read, and refused where it is damaged. */
#include <unistd.h>

#include "tests/unit/scratch.h"
#include "tests/unit/spec_text.h"
#include "worker/checkpoint/config.h"

#define TEXT MODEL "  dataset: {name: idx, path: /data, normalize: {mean: 0.5, std: 2}}\n"

static const struct shape shape = {3, 32, 31};
static char *folder, *path;

/* A file with these items and no tensor, opened. */
static struct st_file file_of(const struct st_meta *items, size_t n)
{
    struct st_file f;
    struct err err = {0};

    CHECK_INT(st_write(path, NULL, 0, items, n, &err), 0);
    CHECK_INT(st_open(&f, path, &err), 0);
    CHECK_STR(err.msg, "");
    return f;
}

static struct st_file written(struct config_names names, int classes)
{
    AUTO(auto_job) struct job *job = parse(TEXT, NULL, 0);
    AUTO(config_texts_release) struct config_texts texts;
    struct st_meta items[CONFIG_ITEMS];

    config_print(&texts, job, shape, classes, names);
    return file_of(items, config_items(&texts, items));
}

static void writes_and_reads(void)
{
    static const char names[] = "cat\0d\"o\"g\0caf\xc3\xa9\0x\xc3y\xed\xa0\x80\0";
    AUTO(st_close) struct st_file f = written((struct config_names){names, 4}, 4);
    AUTO(config_release) struct config c;
    struct err err = {0};

    CHECK_INT(config_read(&c, &f, "f", &err), 0);
    CHECK_STR(err.msg, "");
    CHECK(c.job && !c.job->dataset.path);
    CHECK_STR(c.job->model.name, "mlp");
    CHECK_NEAR(c.job->dataset.mean, 0.5, 0);
    CHECK_NEAR(c.job->dataset.std, 2, 0);
    CHECK(c.shape.c == 3 && c.shape.h == 32 && c.shape.w == 31);
    CHECK_INT(c.classes, 4);
    CHECK_STR(cJSON_GetArrayItem(c.names, 1)->valuestring, "d\"o\"g");
    CHECK_STR(cJSON_GetArrayItem(c.names, 2)->valuestring, "caf\xc3\xa9");
    /* what is no UTF-8 is replaced: other readers would refuse the file */
    CHECK_STR(cJSON_GetArrayItem(c.names, 3)->valuestring,
              "x\xef\xbf\xbdy\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    CHECK(c.version[0] != '\0');
}

static void names_may_be_absent(void)
{
    AUTO(st_close) struct st_file f = written((struct config_names){NULL, 7}, 7);
    AUTO(config_release) struct config c;
    struct err err = {0};

    CHECK_INT(config_read(&c, &f, "f", &err), 0);
    CHECK_INT(c.classes, 7);
    CHECK(c.names == NULL);
}

/* More than a header should have: left out, and the file is as good as one without names. */
static void names_are_bounded(void)
{
    const size_t each = 4096, n = CONFIG_NAMES_MAX / each + 1;
    AUTO(auto_free) char *names = xcalloc(n, each);

    for (size_t i = 0; i < n; i++)
        memset(names + i * each, 'a', each - 1);
    AUTO(st_close) struct st_file f = written((struct config_names){names, n}, (int)n);
    CHECK(st_meta_get(&f, "classNames") == NULL);
    CHECK_INT(st_meta_get(&f, "spec") != NULL, 1);
}

/* Of before there was a config. */
static void reads_what_says_nothing(void)
{
    const struct st_meta item = {"step", "3"};
    AUTO(st_close) struct st_file f = file_of(&item, 1);
    AUTO(config_release) struct config c;
    struct err err = {0};

    CHECK_INT(config_read(&c, &f, "f", &err), 0);
    CHECK(!c.job && !c.names && c.classes == 0 && c.shape.c == 0);
    CHECK_STR(c.version, "");
}

#define HEAD_JSON                                                                                 \
    "{\"apiVersion\":\"paceline.dev/v1\",\"kind\":\"TrainingJob\",\"metadata\":{\"name\":\"t\"}," \
    "\"spec\":"

static const struct {
    struct st_meta item;
    enum err_code code;
    const char *says;
} refused[] = {
    {{"spec", "{"}, ERR_DAMAGED, "f: __metadata__.spec: spec:1: not valid JSON"},
    {{"spec", "[]"}, ERR_INVALID, "found no object"},
    {{"spec", HEAD_JSON "{\"model\":{\"name\":\"mlp\"},\"warp\":9}}"},
     ERR_INVALID,
     "written by version , this is "},
    {{"spec", HEAD_JSON "{\"model\":{\"name\":\"mlp\"},\"warp\":9}}"},
     ERR_INVALID,
     "spec:1: spec.warp: unknown field"},
    {{"spec", HEAD_JSON "{\"replicas\":{\"worker\":{\"template\":{\"spec\":{\"containers\":[{"
                        "\"name\":\"c\",\"image\":\"i\"}]}}}}}}"},
     ERR_INVALID,
     "belongs to jobs with spec.model only"},
    {{"shape", "[1,2]"}, ERR_DAMAGED, "f: __metadata__.shape: needed: [channels, height, width]"},
    {{"shape", "[1,2,0]"}, ERR_DAMAGED, "needed: three whole numbers from 1 to 268435456"},
    {{"shape", "[1,2,3.5]"}, ERR_DAMAGED, "needed: three whole numbers from 1 to 268435456"},
    {{"shape", "[1,2,1e9]"}, ERR_DAMAGED, "needed: three whole numbers from 1 to 268435456"},
    {{"shape", "[1,2,\"3\"]"}, ERR_DAMAGED, "needed: three whole numbers from 1 to 268435456"},
    {{"classes", "-3"},
     ERR_DAMAGED,
     "f: __metadata__.classes: needed: a whole number from 1 to 16777216"},
    {{"classes", "16777217"}, ERR_DAMAGED, "needed: a whole number from 1 to 16777216"},
    {{"classes", "99999999999999999999"}, ERR_DAMAGED, "from 1 to 16777216"},
    {{"classNames", "[\"a\",\"b\"]"}, ERR_DAMAGED, "as many strings as there are classes"},
    {{"classNames", "[3]"}, ERR_DAMAGED, "f: __metadata__.classNames: needed: a list of strings"},
    {{"classNames", "{\"a\":\"b\"}"}, ERR_DAMAGED, "as many strings as there are classes"},
};

static void refuses_what_is_damaged(void)
{
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        AUTO(st_close) struct st_file f = file_of(&refused[i].item, 1);
        struct config c;
        struct err err = {0};

        CHECK_INT(config_read(&c, &f, "f", &err), -1);
        CHECK_CONTAINS(err.msg, refused[i].says);
        CHECK_INT(err.code, refused[i].code);
        CHECK(!c.job && !c.names);
    }
}

int main(void)
{
    folder = scratch_make();
    path = xasprintf("%s/f.safetensors", folder);
    writes_and_reads();
    names_may_be_absent();
    names_are_bounded();
    reads_what_says_nothing();
    refuses_what_is_damaged();
    free(path);
    scratch_remove(folder);
    return test_result();
}
