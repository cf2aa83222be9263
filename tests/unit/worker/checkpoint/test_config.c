// LINK: common worker/checkpoint
/* A checkpoint's description of its model: written, read, and refused where it is damaged. */
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

    config_print(&texts, job, shape, classes, names, (struct config_names){NULL, 0});
    return file_of(items, config_items(&texts, items));
}

/* Columns of a table: a name for each value of a sample. */
static void keeps_columns(void)
{
    static const char names[] = "length\0wi\"dth\0";
    static const struct shape two = {2, 1, 1};
    AUTO(auto_job) struct job *job = parse(TEXT, NULL, 0);
    AUTO(config_texts_release) struct config_texts texts;
    AUTO(config_release) struct config c;
    struct st_meta items[CONFIG_ITEMS];
    struct err err = {0};

    config_print(&texts, job, two, 3, (struct config_names){NULL, 3},
                 (struct config_names){names, 2});
    AUTO(st_close) struct st_file f = file_of(items, config_items(&texts, items));
    CHECK_INT(config_read(&c, &f, "f", &err), 0);
    CHECK(c.columns && strcmp(c.columns[0], "length") == 0 && strcmp(c.columns[1], "wi\"dth") == 0);
    config_release(&c);
    snprintf(texts.shape, sizeof texts.shape, "[3,1,1]");
    AUTO(st_close) struct st_file other = file_of(items, config_items(&texts, items));
    CHECK_INT(config_read(&c, &other, "f", &err), -1);
    CHECK_STR(err.msg, "f: __metadata__.columns: needed: a name for each value of a sample");
}

static void writes_and_reads(void)
{
    static const char names[] = "cat\0d\"o\"g\0caf\xc3\xa9\0z\0";
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
    CHECK(!c.name_bytes && !st_meta_get(&f, "classNamesBytes"));
    CHECK(c.version[0] != '\0');
}

#define ANY_NAMES \
    "cat\0x\xc3y\xed\xa0\x80\0caf\xc3\xa9\0caf\xe9\0\xef\xbf\xbd\0\\\0\xff\x80\xbf\xc0\0\x1b[2J\0"

/* Names of any bytes come back as they are. Other readers see UTF-8: ISO 8859-1 reads
 * right, and U+FFFD is never there. */
static void names_of_any_bytes_come_back(void)
{
    static const char names[] = ANY_NAMES;
    AUTO(st_close) struct st_file f = written((struct config_names){names, 8}, 8);
    AUTO(config_release) struct config c;
    AUTO(arena_release) struct arena arena = {0};
    struct err err = {0};
    const char *want = names;

    CHECK_INT(config_read(&c, &f, "f", &err), 0);
    CHECK_STR(st_meta_get(&f, "classNamesBytes"), "[1,3,4,6]");
    CHECK_STR(cJSON_GetArrayItem(c.names, 3)->valuestring, "caf\xc3\xa9");
    CHECK_STR(cJSON_GetArrayItem(c.names, 4)->valuestring, "\xc3\xaf\xc2\xbf\xc2\xbd");
    const char *const *list = config_names_list(&c, &arena);
    for (int i = 0; i < 8; i++) {
        CHECK_STR(list[i], want);
        want += strlen(want) + 1;
    }
}

/* A name that an earlier version has spoiled is not taken for another one. */
static void spoiled_names_are_unknown(void)
{
    static const struct st_meta items[] = {{"classes", "2"},
                                           {"classNames", "[\"a\",\"caf\xef\xbf\xbd\"]"}};
    AUTO(st_close) struct st_file f = file_of(items, 2);
    AUTO(config_release) struct config c;
    AUTO(arena_release) struct arena arena = {0};
    struct err err = {0};

    CHECK_INT(config_read(&c, &f, "f", &err), 0);
    const char *const *list = config_names_list(&c, &arena);
    CHECK_STR(list[0], "a");
    CHECK(list[1] == NULL);
    CHECK_INT(config_check_names(&f, "f", (struct config_names){"a\0caf\xe9\0", 2}, true, &err), 0);
    CHECK_INT(config_check_names(&f, "f", (struct config_names){"b\0caf\xe9\0", 2}, true, &err),
              -1);
}

static void names_are_compared(void)
{
    static const struct {
        const char *names;
        size_t n;
        bool words;
        const char *says; /* NULL: nothing */
    } cases[] = {
        {ANY_NAMES, 8, false, NULL},
        {ANY_NAMES, 3, false, NULL},
        {ANY_NAMES "more\0", 9, false, NULL},
        {NULL, 8, false, NULL},
        {"cat\0dog\0", 2, false,
         "f: its class 1 is \"x\\xc3y\\xed\\xa0\\x80\", but \"dog\" in the data; "
         "needed: data with the classes that the model was trained on"},
        {"\0", 1, true,
         "f: its word 0 is \"cat\", but \"\" in the data; needed: data with the "
         "training text that the model was trained on"},
    };
    static const char names[] = ANY_NAMES;
    AUTO(st_close) struct st_file f = written((struct config_names){names, 8}, 8);
    AUTO(st_close) struct st_file without = written((struct config_names){NULL, 8}, 8);

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct config_names given = {cases[i].names, cases[i].n};
        struct err err = {0};
        const int rc = config_check_names(&f, "f", given, cases[i].words, &err);

        CHECK_INT(rc, cases[i].says ? -1 : 0);
        CHECK_STR(err.msg, cases[i].says ? cases[i].says : "");
        CHECK_INT(config_check_names(&without, "f", given, cases[i].words, &err), 0);
    }
}

static void refuses_damaged_name_bytes(void)
{
    static const char *const lists[] = {"[2]",     "[0,0]", "[1,0]", "[-1]", "[0.5]",
                                        "[\"0\"]", "{}",    "0",     "[1"};

    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        const struct st_meta items[] = {
            {"classes", "2"}, {"classNames", "[\"a\",\"b\"]"}, {"classNamesBytes", lists[i]}};
        AUTO(st_close) struct st_file f = file_of(items, 3);
        struct config c;
        struct err err = {0};

        CHECK_INT(config_read(&c, &f, "f", &err), -1);
        CHECK_CONTAINS(err.msg, "f: __metadata__.classNamesBytes: ");
        CHECK_INT(err.code, ERR_DAMAGED);
        CHECK(!c.names && !c.name_bytes);
    }
}

/* Its characters are not all bytes. */
static void refuses_a_name_of_no_bytes(void)
{
    static const char *const names[] = {"\xc4\x80", "\xe2\x82\xac", "a\xf0\x9f\x98\x80"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        AUTO(auto_free) char *list = xasprintf("[\"%s\"]", names[i]);
        const struct st_meta items[] = {
            {"classes", "1"}, {"classNames", list}, {"classNamesBytes", "[0]"}};
        AUTO(st_close) struct st_file f = file_of(items, 3);
        struct config c;
        struct err err = {0};

        CHECK_INT(config_read(&c, &f, "f", &err), -1);
        CHECK_CONTAINS(err.msg, "each a name without characters beyond U+00FF");
    }
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
    {{"classNamesBytes", "[0]"}, ERR_DAMAGED, "needed: rising numbers of classNames"},
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
    names_of_any_bytes_come_back();
    spoiled_names_are_unknown();
    names_are_compared();
    refuses_damaged_name_bytes();
    refuses_a_name_of_no_bytes();
    keeps_columns();
    names_may_be_absent();
    names_are_bounded();
    reads_what_says_nothing();
    refuses_what_is_damaged();
    free(path);
    scratch_remove(folder);
    return test_result();
}
