// LINK: cli/data/fetch.c cli/data/download.c cli/data/libcurl.c cli/data/libcrypto.c
// LINK: cli/data/library.c cli/data/unpack.c
// LINK: cli/data/tar.c cli/data/sha256sums.c cli/data/checksum.c cli/run/folder.c common
/* Data sets from a server on loopback that misbehaves (fetch_server.py): whole or not at all. */
#include "cli/data/fetch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/data/checksum.h"
#include "cli/data/download.h"
#include "paceline/spawn.h"
#include "tests/test.h"
#include "tests/unit/scratch.h"

#define MOST 100000
#define CUT 1000 /* bytes after which the server cuts */

static char *server_folder, *folder; /* the server's files and log; where sets are fetched to */
static int port;

static pid_t start_server(int *stop)
{
    static const char *const argv[] = {"python3", "tests/unit/fetch_server.py", NULL, NULL};
    const char *arguments[ARRAY_LEN(argv)];
    struct spawn p = {.argv = arguments, .fds = {0, 0, 2}, .death_signal = SIGKILL};
    int in[2], out[2];
    char line[20] = "";
    pid_t pid = 0;
    struct err err;

    memcpy(arguments, argv, sizeof argv);
    arguments[2] = server_folder;
    CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
    p.fds[0] = in[0];
    p.fds[1] = out[1];
    CHECK(spawn_process(&pid, &p, &err) == 0);
    close(in[0]);
    close(out[1]);
    for (size_t n = 0; n < sizeof line - 1 && read(out[0], line + n, 1) == 1 && line[n] != '\n';)
        n++;
    close(out[0]);
    port = (int)strtol(line, NULL, 10);
    CHECK(port > 0);
    *stop = in[1];
    return pid;
}

/* Requests so far; the last one of the file in range, if not NULL. */
static int requests(const char *file, char *range)
{
    AUTO(auto_free) char *path = xasprintf("%s/log", server_folder);
    AUTO(auto_fclose) FILE *f = fopen(path, "r");
    char mode[40], name[40], asked[40], condition[40];
    int n = 0;

    while (f && fscanf(f, "%39s %39s %39s %39s", mode, name, asked, condition) == 4) {
        if (file && strcmp(name, file) != 0)
            continue;
        n++;
        if (range)
            memcpy(range, asked, sizeof asked);
    }
    return n;
}

static volatile sig_atomic_t stop;
static uint64_t stop_at; /* bytes of a file after which `stop` is set; 0: never */

static void note(void *arg, const struct data_file *file, uint64_t bytes)
{
    (void)arg, (void)file;
    if (stop_at && bytes >= stop_at)
        stop = 1;
}

/* A set of these files (of the server's folder, which gives sizes and checksums), from MODE. */
struct case_ {
    enum packing packing;
    const char *files[DATA_MAX_FILES];
    bool unsized, md5;
    uint64_t most;
};

static char sums[DATA_MAX_FILES][65];

static struct data_set make_set(const struct case_ *c)
{
    struct data_set set = {.name = "set", .packing = c->packing, .root = "root", .most = c->most};
    struct err err;

    for (int i = 0; i < DATA_MAX_FILES && c->files[i]; i++) {
        AUTO(auto_free) char *path = xasprintf("%s/%s", server_folder, c->files[i]);
        struct checksum_text sum = {{0}};
        struct stat st = {0};

        CHECK(stat(path, &st) == 0);
        CHECK(checksum_file(&sum, c->md5 ? CHECKSUM_MD5 : CHECKSUM_SHA256, path, &err) == 0);
        memcpy(sums[i], sum.s, sizeof sums[i]);
        set.files[i] = (struct data_file){.name = c->files[i]};
        set.files[i].size = c->unsized ? 0 : (uint64_t)st.st_size;
        *(c->md5 ? &set.files[i].md5 : &set.files[i].sha256) = sums[i];
    }
    return set;
}

static int fetch_set(const struct data_set *set, const char *mode, bool *fetched, struct err *err)
{
    AUTO(auto_free) char *mirror = xasprintf("http://127.0.0.1:%d/%s", port, mode);
    AUTO(auto_free) char *to = xasprintf("%s/to", folder);
    const struct fetch f = {.set = set, .to = to, .mirror = mirror, .note = note, .stop = &stop};

    stop = 0;
    *err = (struct err){0};
    return data_fetch(&f, fetched, err);
}

static int fetch_case(const struct case_ *c, const char *mode, struct err *err)
{
    const struct data_set set = make_set(c);
    bool fetched;

    return fetch_set(&set, mode, &fetched, err);
}

static bool is_there(const char *name)
{
    AUTO(auto_free) char *path = xasprintf("%s/%s", folder, name);

    return access(path, F_OK) == 0;
}

static int64_t bytes_of(const char *name)
{
    AUTO(auto_free) char *path = xasprintf("%s/%s", folder, name);
    struct stat st;

    return stat(path, &st) == 0 ? st.st_size : -1;
}

static void begin_case(void)
{
    AUTO(auto_free) char *log = xasprintf("%s/log", server_folder);

    if (folder)
        scratch_remove(folder);
    folder = scratch_make();
    unlink(log);
}

/* folder/name is the server's file `want`. */
static void check_same(const char *name, const char *want)
{
    AUTO(auto_free)
    char *command = xasprintf("cmp '%s/%s' '%s/%s'", folder, name, server_folder, want);

    CHECK_INT(system(command), 0);
}

#define NOTHING_BUT_PARTS                     \
    do {                                      \
        CHECK(!is_there("to"));               \
        CHECK(!is_there("evil"));             \
        CHECK(!is_there("to.part/unpacked")); \
    } while (0)

static const struct case_ two = {PACKED_GZIP, {"a.gz", "b.gz"}, .most = MOST};
static const struct case_ one = {PACKED_GZIP, {"a.gz"}, .most = MOST};

static void check_whole(void)
{
    CHECK(!is_there("to.part"));
    check_same("to/a", "a");
}

static void test_whole(void)
{
    const struct data_set set = make_set(&two);
    AUTO(auto_free) char *command = NULL;
    bool fetched = false;
    struct err err;
    int n;

    begin_case();
    CHECK_INT(fetch_set(&set, "plain", &fetched, &err), 0);
    CHECK(fetched);
    check_whole();
    check_same("to/b", "b");
    command = xasprintf("cd '%s/to' && sha256sum --quiet -c SHA256SUMS", folder);
    CHECK_INT(system(command), 0);

    n = requests(NULL, NULL);
    CHECK_INT(n, 2);
    CHECK_INT(fetch_set(&set, "plain", &fetched, &err), 0);
    CHECK(!fetched);
    CHECK_INT(requests(NULL, NULL), n);
}

static void test_present(void)
{
    AUTO(auto_free) char *to = NULL;
    struct data_set set = make_set(&two);
    bool fetched;
    struct err err;

    begin_case();
    to = xasprintf("%s/to", folder);
    CHECK(mkdir(to, 0777) == 0); /* empty: as if it were not there */
    CHECK_INT(fetch_set(&set, "plain", &fetched, &err), 0);
    scratch_write(to, "b", "changed", 7);
    CHECK_INT(fetch_set(&set, "plain", &fetched, &err), -1);
    CHECK_INT(err.code, ERR_DAMAGED);
    CHECK_CONTAINS(err.msg, "/to/b: it has changed");
    set.name = "another";
    CHECK_INT(fetch_set(&set, "plain", &fetched, &err), -1);
    CHECK_INT(err.code, ERR_CONFLICT);
    check_same("to/a", "a");

    begin_case();
    scratch_write(folder, "to", "a file", 6);
    CHECK_INT(fetch_set(&set, "plain", &fetched, &err), -1);
    CHECK_INT(err.code, ERR_CONFLICT);
    CHECK_INT(bytes_of("to"), 6);
}

/* Each connection is cut after 1000 bytes. */
static void test_cuts(void)
{
    static const struct case_ unsized = {PACKED_GZIP, {"a.gz"}, true, true, MOST};
    char range[40];
    struct err err;

    begin_case();
    CHECK_INT(fetch_case(&one, "cuts", &err), 0);
    check_whole();
    CHECK_INT(requests("a.gz", range), 6);
    CHECK_STR(range, "bytes=5000-");

    begin_case();
    CHECK_INT(fetch_case(&unsized, "cuts", &err), 0);
    check_whole();

    begin_case(); /* once, then parts are ignored: all of it comes again */
    CHECK_INT(fetch_case(&one, "ignores", &err), 0);
    check_whole();
    CHECK_INT(requests("a.gz", range), 2);
    CHECK_STR(range, "bytes=1000-");

    begin_case(); /* once, then it is another file as far as one can know */
    CHECK_INT(fetch_case(&one, "changes", &err), 0);
    check_whole();
}

/* Servers that never give the whole file: the fetch ends. */
static void test_never(void)
{
    static const char *const modes[] = {"nameless", "cuts-ignores", "lies", "500"};
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        begin_case();
        CHECK_INT(fetch_case(&one, modes[i], &err), -1);
        CHECK_INT(err.code, ERR_TRANSIENT);
        CHECK_CONTAINS(err.msg, "/a.gz: ");
        NOTHING_BUT_PARTS;
    }
    begin_case();
    CHECK_INT(fetch_case(&one, "404", &err), -1);
    CHECK_INT(err.code, ERR_NOT_FOUND);
    CHECK_CONTAINS(err.msg, "status 404");
    CHECK_INT(requests(NULL, NULL), 1);
    CHECK_INT(fetch_case(&one, "redirect", &err), -1); /* to plain http */
    CHECK_INT(requests(NULL, NULL), 2);
    NOTHING_BUT_PARTS;
}

static void test_interrupted(void)
{
    char range[40];
    struct err err;

    begin_case();
    stop_at = CUT;
    CHECK_INT(fetch_case(&one, "hangs", &err), -1);
    stop_at = 0;
    CHECK_INT(err.code, ERR_INTERRUPTED);
    NOTHING_BUT_PARTS;
    CHECK_INT(bytes_of("to.part/a.gz"), CUT);
    CHECK_INT(fetch_case(&one, "plain", &err), 0);
    check_whole();
    CHECK_INT(requests("a.gz", range), 2);
    CHECK_STR(range, "bytes=1000-");
}

static void test_wrong_bytes(void)
{
    static const struct case_ md5 = {PACKED_GZIP, {"a.gz"}, true, true, MOST};
    static const struct case_ raw = {PACKED_NOT, {"a"}, .most = MOST};
    static const struct case_ narrow = {PACKED_GZIP, {"a.gz"}, true, false, 3000};
    struct err err;

    begin_case();
    CHECK_INT(fetch_case(&one, "other", &err), -1);
    CHECK_INT(err.code, ERR_DAMAGED);
    CHECK_CONTAINS(err.msg, "its SHA-256 is ");
    NOTHING_BUT_PARTS;
    CHECK(!is_there("to.part/a.gz"));
    CHECK_INT(fetch_case(&raw, "other", &err), -1); /* nothing but the checksum can tell */
    CHECK_INT(err.code, ERR_DAMAGED);
    NOTHING_BUT_PARTS;
    CHECK_INT(fetch_case(&md5, "other", &err), -1);
    CHECK_CONTAINS(err.msg, "its MD5 is ");
    CHECK_INT(fetch_case(&one, "large", &err), -1);
    CHECK_INT(err.code, ERR_DAMAGED);
    CHECK_CONTAINS(err.msg, "larger than");
    CHECK_INT(fetch_case(&one, "small", &err), -1);
    CHECK_INT(err.code, ERR_DAMAGED);
    CHECK_CONTAINS(err.msg, "it must have");
    CHECK_INT(fetch_case(&narrow, "plain", &err), -1);
    CHECK_CONTAINS(err.msg, "larger than the 3000 bytes allowed");
    NOTHING_BUT_PARTS;
    CHECK_INT(fetch_case(&one, "plain", &err), 0);
    check_whole();
}

static void test_archives(void)
{
    static const struct case_ good = {PACKED_TAR, {"good.tar.gz"}, .most = MOST};
    static const struct case_ plain = {PACKED_TAR, {"plain.tar"}, .most = MOST};
    struct err err;

    begin_case();
    CHECK_INT(fetch_case(&good, "plain", &err), 0);
    CHECK_INT(bytes_of("to/x.bin"), 5000);
    CHECK_INT(bytes_of("to/deep/y.bin"), 10);
    CHECK_INT(bytes_of("to/empty"), 0);
    CHECK(!is_there("to/z") && !is_there("to/other"));
    CHECK_INT(fetch_case(&plain, "plain", &err), 0); /* the same, so it is there */
    begin_case();
    CHECK_INT(fetch_case(&plain, "plain", &err), 0);
    CHECK_INT(bytes_of("to/deep/y.bin"), 10);
}

/* All have the checksum that they must have. */
static void test_bad_archives(void)
{
    static const struct {
        enum packing packing;
        const char *file, *says;
    } cases[] = {
        {PACKED_TAR, "up.tar.gz", "leads out of the archive"},
        {PACKED_TAR, "absolute.tar.gz", "leads out of the archive"},
        {PACKED_TAR, "link.tar.gz", "is no file and no folder (type '2')"},
        {PACKED_TAR, "hardlink.tar.gz", "is no file and no folder (type '1')"},
        {PACKED_TAR, "device.tar.gz", "is no file and no folder (type '3')"},
        {PACKED_TAR, "twice.tar.gz", "x.bin is there twice"},
        {PACKED_TAR, "none.tar.gz", "no files in a folder root"},
        {PACKED_TAR, "short.tar", "cut short"},
        {PACKED_TAR, "cut.tar.gz", "the compressed data is cut short"},
        {PACKED_TAR, "damaged.tar.gz", "the compressed data is damaged"},
        {PACKED_TAR, "text.tar.gz", "is no tar header"},
        {PACKED_TAR, "boundary.tar", "cut short after 5632 bytes"},
        {PACKED_TAR, "sparse.tar", "sets GNU.sparse."},
        {PACKED_TAR, "many.tar.gz", "larger than the 100000 bytes allowed"},
        {PACKED_TAR, "bomb.gz", "larger than"},
        {PACKED_GZIP, "cut.gz", "the compressed data is cut short"},
        {PACKED_GZIP, "bomb.gz", "larger than"},
        {PACKED_GZIP, "plain.tar", "not compressed by gzip"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct case_ c = {cases[i].packing, {cases[i].file}, .most = MOST};
        struct err err;

        begin_case();
        CHECK_INT(fetch_case(&c, "plain", &err), -1);
        CHECK_INT(err.code, ERR_DAMAGED);
        CHECK_CONTAINS(err.msg, cases[i].says);
        CHECK_CONTAINS(err.msg, cases[i].file);
        NOTHING_BUT_PARTS;
        CHECK(access("/tmp/paceline-evil", F_OK) != 0);
    }
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;

    CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = bytes == RLIM_INFINITY ? limit.rlim_max : bytes;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

/* As if the disk were full: while a file comes, and while it is unpacked. */
static void test_no_room(void)
{
    static const struct case_ bomb = {PACKED_GZIP, {"bomb.gz"}, .most = 2 << 20};
    struct err err;

    signal(SIGXFSZ, SIG_IGN);
    begin_case();
    limit_files(3000);
    CHECK_INT(fetch_case(&one, "plain", &err), -1);
    limit_files(RLIM_INFINITY);
    CHECK_INT(err.code, ERR_IO);
    CHECK_CONTAINS(err.msg, "could not be written");
    NOTHING_BUT_PARTS;
    CHECK_INT(bytes_of("to.part/a.gz"), 3000);
    CHECK_INT(fetch_case(&one, "plain", &err), 0);
    check_whole();

    begin_case();
    limit_files(3000);
    CHECK_INT(fetch_case(&bomb, "plain", &err), -1);
    limit_files(RLIM_INFINITY);
    CHECK_INT(err.code, ERR_IO);
    NOTHING_BUT_PARTS;
}

static void test_two_at_once(void)
{
    AUTO(auto_free) char *part = NULL;
    struct err err;
    int lock;

    begin_case();
    part = xasprintf("%s/to.part", folder);
    CHECK(mkdir(part, 0777) == 0);
    lock = open(part, O_RDONLY | O_DIRECTORY);
    CHECK(flock(lock, LOCK_EX) == 0);
    CHECK_INT(fetch_case(&one, "plain", &err), -1);
    CHECK_INT(err.code, ERR_CONFLICT);
    close(lock);
    CHECK_INT(fetch_case(&one, "plain", &err), 0);
}

static void test_urls(void)
{
    static const char *const good[] = {"https://example.org/a", "http://127.0.0.1:80/a",
                                       "http://localhost/a",    "http://localhost:1/",
                                       "http://[::1]:80/a",     "http://127.1.2.3"};
    static const char *const bad[] = {"http://example.org/",
                                      "http://127.0.0.1.example.org/",
                                      "http://127.0.0.1@example.org/",
                                      "http://localhost.org/",
                                      "http://localhost:80@example.org/",
                                      "ftp://127.0.0.1/",
                                      "file:///etc/passwd",
                                      "https://",
                                      "https:///a",
                                      "example.org",
                                      "http://[::1].org/",
                                      "HTTP://example.org/"};
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        CHECK(download_check_url(good[i], &err) == 0);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(download_check_url(bad[i], &err) < 0);
}

int main(void)
{
    int running;
    pid_t server;

    server_folder = scratch_make();
    server = start_server(&running);
    test_urls();
    test_whole();
    test_present();
    test_cuts();
    test_never();
    test_interrupted();
    test_wrong_bytes();
    test_archives();
    test_bad_archives();
    test_no_room();
    test_two_at_once();
    close(running);
    waitpid(server, NULL, 0);
    scratch_remove(folder);
    scratch_remove(server_folder);
    return test_result();
}
