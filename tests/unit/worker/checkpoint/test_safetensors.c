// LINK: common/err.c common/text.c common/mem.c common/buf.c common/file.c common/json.c
// LINK: worker/checkpoint/safetensors.c
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "paceline/buf.h"
#include "tests/test.h"
#include "tests/unit/scratch.h"
#include "worker/checkpoint/safetensors.h"

static const int64_t steps[] = {7, -1};
static const float weights[2 * 3] = {1.5f, -0.0f, 3e-45f, INFINITY, 5, 6};
static const uint8_t flags[] = {1, 2, 3};

static const struct st_tensor tensors[] = {
    {"steps", ST_I64, 1, {2}, .data = steps, .bytes = sizeof steps},
    {"conv1.weight \"q\" \xc3\xa9",
     ST_F32,
     4,
     {2, 1, 3, 1},
     .data = weights,
     .bytes = sizeof weights},
    {"none", ST_F32, 2, {0, 5}, .data = weights, .bytes = 0},
    {"flags", ST_U8, 1, {3}, .data = flags, .bytes = 3},
    {"scalar", ST_U8, 0, {0}, .data = flags, .bytes = 1},
};
static const struct st_meta meta[] = {{"step", "938"}, {"job", "{\"a\": \"b\\n\"}"}};

static char *folder, *path;
static char *spoil; /* once: a header that somebody writes to when it is parsed */
static size_t spoil_n;

/* cJSON's, which looks at a string twice: to measure it, and to copy it. */
cJSON *cJSON_ParseWithLengthOpts(const char *text, size_t len, const char **end, cJSON_bool whole)
{
    cJSON *(*real)(const char *, size_t, const char **, cJSON_bool);

    *(void **)&real = dlsym(RTLD_NEXT, "cJSON_ParseWithLengthOpts");
    if (spoil)
        memset(spoil, '"', spoil_n);
    spoil = NULL;
    return real(text, len, end, whole);
}

static void writes_and_reads(void)
{
    struct st_file f;
    struct err err = {0};
    const struct st_tensor *t;

    CHECK_INT(st_write(path, tensors, ARRAY_LEN(tensors), meta, ARRAY_LEN(meta), &err), 0);
    CHECK_INT(st_open(&f, path, &err), 0);
    CHECK_INT(f.n, ARRAY_LEN(tensors));
    for (size_t i = 0; i < ARRAY_LEN(tensors); i++) {
        t = st_find(&f, tensors[i].name);
        CHECK(t != NULL);
        CHECK_INT(t->dtype, tensors[i].dtype);
        CHECK_INT(t->n_dims, tensors[i].n_dims);
        CHECK_BYTES(t->dims, tensors[i].dims, sizeof t->dims);
        CHECK_INT(t->bytes, tensors[i].bytes);
        CHECK_BYTES(t->data, tensors[i].data, t->bytes);
    }
    CHECK_INT((uintptr_t)f.tensors[0].data % 64, 0);
    CHECK(st_find(&f, "conv1") == NULL);
    CHECK_INT(f.n_meta, 2);
    CHECK_STR(f.meta[0].key, "step");
    CHECK_STR(st_meta_get(&f, "job"), meta[1].value);
    CHECK(st_meta_get(&f, "epoch") == NULL);
    st_close(&f);
}

static void same_input_same_bytes(void)
{
    AUTO(buf_release) struct buf first;
    AUTO(buf_release) struct buf second;
    struct err err = {0};

    CHECK_INT(buf_read_file(&first, path, 0, &err), 0);
    CHECK_INT(st_write(path, tensors, ARRAY_LEN(tensors), meta, ARRAY_LEN(meta), &err), 0);
    CHECK_INT(buf_read_file(&second, path, 0, &err), 0);
    CHECK_INT(first.len, second.len);
    CHECK_BYTES(second.data, first.data, first.len);
}

static char late_value[] = "unknown";

static const void *load_late(void *arg)
{
    memcpy(late_value, "is 4242", sizeof late_value);
    return arg;
}

/* Mistakes that show only when the tensors have been loaded. */
static void late_metadata(void)
{
    const struct st_meta late = {"late", late_value};
    struct st_tensor t = tensors[0];
    struct st_file f;
    struct err err = {0};

    t.load = load_late;
    t.arg = (void *)t.data;
    t.data = NULL;
    CHECK_INT(st_write(path, &t, 1, &late, 1, &err), 0);
    CHECK_INT(st_open(&f, path, &err), 0);
    CHECK_STR(st_meta_get(&f, "late"), "is 4242");
    CHECK_BYTES(f.tensors[0].data, tensors[0].data, t.bytes);
    st_close(&f);
}

/* The file with this header, padded so that n bytes of data start at a multiple of 8. */
static struct buf file_of(const char *header, size_t n)
{
    AUTO(auto_free) char *data = xcalloc(1, n);
    size_t len = (strlen(header) + 7) & ~(size_t)7;
    struct buf b;

    buf_init(&b, 0);
    for (int i = 0; i < 8; i++)
        buf_add(&b, &(uint8_t){(uint8_t)(len >> 8 * i)}, 1);
    buf_printf(&b, "%-*s", (int)len, header);
    buf_add(&b, data, n);
    return b;
}

#define F32_4 "\"dtype\":\"F32\",\"shape\":[4]"
static const struct {
    const char *header;
    size_t n;
    const char *sentence; /* NULL: a good file */
} headers[] = {
    {"{\"a\":{" F32_4 ",\"data_offsets\":[0,16]}}", 16, NULL},
    {"{\"b\":{" F32_4 ",\"data_offsets\":[16,32]},\"a\":{" F32_4 ",\"data_offsets\":[0,16]} }", 32,
     NULL},
    {"{ }", 0, NULL},
    {"", 0, "f:1: not valid JSON"},
    {"[]", 0, "f: the header must be a JSON object"},
    {"{\"a\":{\"dtype\":\"F32\"", 0, "f:1: not valid JSON"},
    {"{\"a\":{" F32_4 ",\"data_offsets\":[0,16]}}x", 16,
     "f:1: text after the end of the JSON value"},
    {"{\"a\":{" F32_4 ",\"data_offsets\":[0,16]},\"a\":{" F32_4 ",\"data_offsets\":[16,32]}}", 32,
     "f: key \"a\" stands twice in one object"},
    {"{\"a\":1}", 0, "f: tensor a: an object is needed"},
    {"{\"a\":{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":[0,8]}}", 8,
     "f: tensor a: dtype BF16; F32, F64, I64 and U8 are allowed"},
    {"{\"a\":{\"shape\":[4],\"data_offsets\":[0,8]}}", 8,
     "f: tensor a: dtype none; F32, F64, I64 and U8 are allowed"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1],\"data_offsets\":[0,1]}}", 1,
     "f: tensor a: its shape must be a list of at most 4 sizes"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1,-1],\"data_offsets\":[0,1]}}", 1,
     "f: tensor a: size 2 of its shape is not a whole number of 0 to 2^53"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1.5],\"data_offsets\":[0,1]}}", 1,
     "f: tensor a: size 1 of its shape is not a whole number of 0 to 2^53"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0,
     "f: tensor a: its shape needs more than 2^64 bytes"},
    {"{\"a\":{" F32_4 "}}", 16, "f: tensor a: data_offsets must be two whole numbers"},
    {"{\"a\":{" F32_4 ",\"data_offsets\":[0,16,16]}}", 16,
     "f: tensor a: data_offsets must be two whole numbers"},
    {"{\"a\":{" F32_4 ",\"data_offsets\":[0,16]}}", 15,
     "f: tensor a: data_offsets 0 to 16; the file has 15 bytes of data"},
    {"{\"a\":{" F32_4 ",\"data_offsets\":[16,0]}}", 16,
     "f: tensor a: data_offsets 16 to 0; the file has 16 bytes of data"},
    {"{\"a\":{" F32_4 ",\"data_offsets\":[0,12]}}", 12,
     "f: tensor a: data_offsets span 12 bytes; its shape needs 16"},
    {"{\"a\":{" F32_4 ",\"data_offsets\":[0,16]}}", 17,
     "f: 16 bytes of tensors; the file has 17 bytes of data"},
    {"{\"a\":{" F32_4 ",\"data_offsets\":[4,20]}}", 20,
     "f: tensor a starts at byte 4 of the data; the one before it ends at 0"},
    {"{\"a\":{" F32_4 ",\"data_offsets\":[0,16]},\"b\":{" F32_4 ",\"data_offsets\":[12,28]}}", 28,
     "f: tensor b starts at byte 12 of the data; the one before it ends at 16"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},\"b\":{" F32_4
     ",\"data_offsets\":[1,17]}}",
     17, "f: tensor b starts at byte 1 of the data; a multiple of 4 is needed"},
    {"{\"__metadata__\":{\"step\":1}}", 0, "f: __metadata__.step: a string is needed"},
    {"{\"__metadata__\":[]}", 0, "f: __metadata__: an object is needed"},
};

static void judges_headers(void)
{
    for (size_t i = 0; i < ARRAY_LEN(headers); i++) {
        AUTO(buf_release) struct buf b = file_of(headers[i].header, headers[i].n);
        struct st_file f;
        struct err err = {0};

        CHECK_INT(st_parse(&f, b.data, b.len, "f", &err), headers[i].sentence ? -1 : 0);
        CHECK_STR(err.msg, headers[i].sentence ? headers[i].sentence : "");
        CHECK_INT(err.code, headers[i].sentence ? ERR_DAMAGED : ERR_NONE);
        if (f.n == 2) /* in the order of the data, not of the header */
            CHECK_STR(f.tensors[0].name, "a");
        st_close(&f);
    }
}

static void judges_lengths(void)
{
    AUTO(buf_release) struct buf b;
    struct st_file f;
    struct err err = {0};

    CHECK_INT(st_parse(&f, "1234567", 7, "f", &err), -1);
    CHECK_STR(err.msg, "f: 7 bytes; a safetensors file has at least 8");
    CHECK_INT(st_parse(&f, "\xff\xff\xff\xff\xff\xff\xff\xff{}", 10, "f", &err), -1);
    CHECK_STR(err.msg, "f: a header of 18446744073709551615 bytes; the file has 2 after its "
                       "length");

    /* Cut anywhere, our own file is refused. */
    CHECK_INT(buf_read_file(&b, path, 0, &err), 0);
    for (size_t len = 0; len < b.len; len++) {
        void *cut = xmalloc(len);
        memcpy(cut, b.data, len);
        CHECK_INT(st_parse(&f, cut, len, "f", &err), -1);
        free(cut);
    }
}

static void parses_a_copy(void)
{
    AUTO(buf_release) struct buf b;
    struct st_file f;
    struct err err = {0};

    CHECK_INT(st_write(path, tensors, ARRAY_LEN(tensors), meta, ARRAY_LEN(meta), &err), 0);
    CHECK_INT(buf_read_file(&b, path, 0, &err), 0);
    spoil = b.data + 8;
    memcpy(&spoil_n, b.data, sizeof spoil_n);
    CHECK_INT(st_parse(&f, b.data, b.len, "file", &err), 0);
    CHECK(!spoil);
    CHECK_INT(b.data[8], '"');
    CHECK_INT(f.n, ARRAY_LEN(tensors));
    st_close(&f);
}

/* A file that stays on the disk is read like a mapped one, and gets the same messages. */
static void leaves_data_on_disk(void)
{
    AUTO(buf_release) struct buf b;
    AUTO(auto_free) char *cut = xasprintf("%s/cut", folder);
    struct st_file f, mapped;
    struct err err = {0}, same = {0};

    CHECK_INT(st_write(path, tensors, ARRAY_LEN(tensors), meta, ARRAY_LEN(meta), &err), 0);
    CHECK_INT(st_open(&mapped, path, &err), 0);
    CHECK_INT(st_open_on_disk(&f, path, &err), 0);
    CHECK_INT(f.n, mapped.n);
    CHECK_INT(f.n_meta, mapped.n_meta);
    for (size_t i = 0; i < f.n; i++) {
        const size_t n = f.tensors[i].bytes;
        AUTO(auto_free) char *got = xmalloc(n + 1);

        CHECK_STR(f.tensors[i].name, mapped.tensors[i].name);
        CHECK(f.tensors[i].data == NULL);
        CHECK_INT(st_read(&f, path, f.tensors[i].offset, got, n, &err), 0);
        CHECK_BYTES(got, mapped.tensors[i].data, n);
    }
    st_close(&mapped);
    CHECK_INT(buf_read_file(&b, path, 0, &err), 0);
    CHECK_INT(truncate(path, (off_t)b.len - 1), 0); /* under the reader */
    CHECK_INT(st_read(&f, path, b.len - 4, (char[4]){0}, 4, &err), -1);
    CHECK_INT(err.code, ERR_IO);
    CHECK_CONTAINS(err.msg, "it has become shorter");
    st_close(&f);
    for (size_t len = 0; len < b.len; len++) {
        scratch_write(folder, "cut", b.data, len);
        CHECK_INT(st_open_on_disk(&f, cut, &err), -1);
        CHECK_INT(st_parse(&f, b.data, len, cut, &same), -1);
        CHECK_STR(err.msg, same.msg);
        CHECK_INT(err.code, same.code);
    }
}

static void judges_files(void)
{
    struct st_file f;
    struct err err = {0};
    AUTO(auto_free) char *absent = xasprintf("%s/absent", folder);
    AUTO(auto_free) char *empty = xasprintf("%s/empty", folder);

    for (int disk = 0; disk < 2; disk++) {
        int (*const opens)(struct st_file *, const char *, struct err *) =
            disk ? st_open_on_disk : st_open;

        CHECK_INT(opens(&f, absent, &err), -1);
        CHECK_INT(err.code, ERR_NOT_FOUND);
        CHECK_CONTAINS(err.msg, absent);
        CHECK_INT(opens(&f, folder, &err), -1);
        CHECK_INT(err.code, ERR_INVALID);
        CHECK_CONTAINS(err.msg, "not a regular file");
    }
    scratch_write(folder, "empty", "", 0);
    CHECK_INT(st_open(&f, empty, &err), -1);
    CHECK_CONTAINS(err.msg, "empty: 0 bytes; a safetensors file has at least 8");
}

static int count_files(const char *dir)
{
    DIR *d = opendir(dir);
    int n = 0;

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n - 2;
}

/* Writes a small file, then one too large for the place: the small one stays, alone. */
static void check_full_disk(const char *dir, size_t bytes, const char *cause)
{
    AUTO(auto_free) char *file = xasprintf("%s/full.safetensors", dir);
    AUTO(auto_free) char *large = xcalloc(1, bytes);
    AUTO(auto_free) char *needed = xasprintf("%s; ", cause);
    struct st_tensor t = {"a", ST_U8, 1, {(int64_t)bytes}, .data = large, .bytes = bytes};
    struct st_file f;
    struct err err = {0};

    CHECK_INT(st_write(file, tensors, ARRAY_LEN(tensors), meta, ARRAY_LEN(meta), &err), 0);
    CHECK_INT(st_write(file, &t, 1, NULL, 0, &err), -1);
    CHECK_INT(err.code, ERR_IO);
    CHECK_CONTAINS(err.msg, file);
    CHECK_CONTAINS(err.msg, needed);
    CHECK_CONTAINS(err.msg, "bytes are needed");
    CHECK_INT(st_open(&f, file, &err), 0);
    CHECK_INT(f.n, ARRAY_LEN(tensors));
    st_close(&f);
    CHECK_INT(count_files(dir), 1);
}

/* In processes of their own: limits and mounts end with them. */
static void run_apart(void (*check)(void))
{
    int status = -1;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        test_failed = 0;
        check();
        _exit(test_failed != 0);
    }
    waitpid(pid, &status, 0);
    CHECK_INT(status, 0);
}

static char *full_dir(const char *name)
{
    char *dir = xasprintf("%s/%s", folder, name);

    CHECK_INT(mkdir(dir, 0700), 0);
    return dir;
}

static void full_by_limit(void)
{
    AUTO(auto_free) char *dir = full_dir("limit");

    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){65536, 65536});
    check_full_disk(dir, 100000, strerror(EFBIG));
}

static void full_by_tmpfs(void)
{
    AUTO(auto_free) char *dir = full_dir("tmpfs");

    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("tmpfs", dir, "tmpfs", 0, "size=64k")) {
        printf("no full disk tried: a tmpfs cannot be mounted here (%s)\n", strerror(errno));
        return;
    }
    check_full_disk(dir, 100000, strerror(ENOSPC));
}

int main(void)
{
    folder = scratch_make();
    path = xasprintf("%s/a.safetensors", folder);
    late_metadata();
    writes_and_reads();
    same_input_same_bytes();
    judges_headers();
    judges_lengths();
    parses_a_copy();
    leaves_data_on_disk();
    judges_files();
    run_apart(full_by_limit);
    run_apart(full_by_tmpfs);
    free(path);
    scratch_remove(folder);
    return test_result();
}
