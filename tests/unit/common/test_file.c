// LINK: common
/* Files in memory: what is done to a file while it is read, and afterwards. */
#include "paceline/file.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "paceline/buf.h"
#include "tests/test.h"
#include "tests/unit/scratch.h"

#define LEN ((size_t)100000) /* several pages, the last one in part */

static char *folder, *path;
static off_t resize_to = -1; /* once: the file's length after the next fstat */

/* Instead of the C library's, so that the file changes where a reader cannot see it. */
int fstat(int fd, struct stat *st)
{
    const int rc = fstatat(fd, "", st, AT_EMPTY_PATH);

    if (resize_to >= 0 && truncate(path, resize_to))
        perror(path);
    resize_to = -1;
    return rc;
}

static unsigned long long next_number; /* of temporary names; 0: the system's */

/* Each number twice, so that a name that is taken is met. */
ssize_t getrandom(void *to, size_t n, unsigned flags)
{
    static int calls;

    if (!next_number)
        return syscall(SYS_getrandom, to, n, flags);
    memcpy(to, &next_number, n);
    next_number += (unsigned long long)(calls++ % 2);
    return (ssize_t)n;
}

/* The file as `fill` says, LEN times. */
static void put(int fill)
{
    AUTO(auto_free) char *bytes = xmalloc(LEN);

    memset(bytes, fill, LEN);
    scratch_write(folder, "file", bytes, LEN);
}

/* Over what is there, without a moment of another length. */
static void write_over(int fill, size_t at, size_t n)
{
    AUTO(auto_free) char *bytes = xmalloc(n);
    AUTO(auto_close) int fd = open(path, O_WRONLY | O_CLOEXEC);

    memset(bytes, fill, n);
    CHECK_INT(pwrite(fd, bytes, n, (off_t)at), n);
}

static size_t count(const struct file_map *m, int fill)
{
    size_t n = 0;

    for (size_t i = 0; i < m->len; i++)
        n += m->bytes[i] == fill;
    return n;
}

static void reads_a_copy(void)
{
    struct file_map m;
    struct err err = {0};

    put('a');
    CHECK_INT(file_map_read(&m, path, &err), 0);
    write_over('b', 0, LEN);
    CHECK_INT(count(&m, 'a'), LEN);
    CHECK_INT(truncate(path, 1), 0);
    CHECK_INT(count(&m, 'a'), LEN);
    file_map_close(&m);
    CHECK_INT(truncate(path, 0), 0);
    CHECK_INT(file_map_read(&m, path, &err), 0);
    CHECK_INT(m.len, 0);
    file_map_close(&m);
}

static void refuses(void)
{
    static const struct {
        off_t size;
        const char *message;
    } cases[] = {
        {0, "/file: became shorter than its 100000 bytes while it was read"},
        {LEN - 1, "/file: became shorter than its 100000 bytes while it was read"},
        {LEN + 1, "/file: became longer than its 100000 bytes while it was read"},
        {LEN * 9, "/file: became longer than its 100000 bytes while it was read"},
    };
    struct file_map m;
    struct err err = {0};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        put('a');
        resize_to = cases[i].size;
        CHECK_INT(file_map_read(&m, path, &err), -1);
        CHECK_INT(err.code, ERR_IO);
        CHECK_CONTAINS(err.msg, cases[i].message);
        CHECK_INT(m.len, 0);
    }
    CHECK_INT(file_map_read(&m, folder, &err), -1);
    CHECK_INT(err.code, ERR_INVALID);
    CHECK_INT(file_map_read(&m, "/nowhere", &err), -1);
    CHECK_INT(err.code, ERR_NOT_FOUND);
}

/* Whole pages become ours; the rest shows what is written. */
static void owns_a_part(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct file_map m;
    struct err err = {0};

    put('a');
    CHECK_INT(file_map_open(&m, path, &err), 0);
    CHECK_INT(file_map_own(&m, page - 1, 2, &err), 0);
    CHECK_INT(file_map_own(&m, LEN - 1, 1, &err), 0);
    CHECK_INT(file_map_own(&m, 0, 0, &err), 0);
    write_over('b', 0, LEN);
    CHECK_INT(count(&m, 'a'), 2 * page + LEN % page);
    CHECK_INT(m.bytes[page - 1], 'a');
    CHECK_INT(m.bytes[page], 'a');
    CHECK_INT(m.bytes[LEN - 1], 'a');
    file_map_close(&m);
}

static void say(const char *sentence) { fprintf(stderr, "program: %s\n", sentence); }

/* The exit status of a process that reads a map after its file was cut; what it said is in `said`.
 */
static int cut(bool guarded, char *said, size_t room)
{
    int ends[2], status = 0;
    ssize_t n;

    put('a');
    if (pipe(ends))
        return -1;
    const pid_t child = fork();
    if (child == 0) {
        struct file_map m;
        struct err err;

        dup2(ends[1], STDERR_FILENO);
        signal(SIGBUS, SIG_DFL); /* whatever a sanitizer has set */
        if (guarded)
            file_map_guard(say);
        if (file_map_open(&m, path, &err) || truncate(path, 1))
            _exit(99);
        _exit(count(&m, 'a') == LEN ? 98 : 97);
    }
    close(ends[1]);
    n = read(ends[0], said, room - 1);
    said[n > 0 ? n : 0] = '\0';
    close(ends[0]);
    waitpid(child, &status, 0);
    return status;
}

static void says_what_was_cut(void)
{
    char said[512];
    int status = cut(true, said, sizeof said);

    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), EXIT_DATA);
    CHECK_CONTAINS(said, "program: a file that is read as mapped memory was cut short");
    status = cut(false, said, sizeof said);
    CHECK(WIFSIGNALED(status));
    CHECK_INT(WTERMSIG(status), SIGBUS);
}

static char *in_folder(const char *name) { return xasprintf("%s/%s", folder, name); }

static void has(const char *name, const char *want)
{
    AUTO(auto_free) char *at = in_folder(name);
    AUTO(buf_release) struct buf text;
    struct err err;

    CHECK_INT(buf_read_file(&text, at, 0, &err), 0);
    CHECK_STR(text.data, want);
}

/* In the way of the next temporary names: a link to a victim, a link to nowhere, and what a run
 * that was killed has left. */
static void put_in_the_way(void)
{
    AUTO(auto_free) char *victim = in_folder("victim");
    AUTO(auto_free) char *nowhere = in_folder("nowhere");
    AUTO(auto_free) char *one = in_folder("a.tmp.0000000000000001");
    AUTO(auto_free) char *two = in_folder("a.tmp.0000000000000002");

    scratch_write(folder, "victim", "victim", 6);
    scratch_write(folder, "a.tmp.0000000000000003", "left", 4);
    CHECK_INT(symlink(victim, one), 0);
    CHECK_INT(symlink(nowhere, two), 0);
    next_number = 1;
}

static void is_untouched(void)
{
    AUTO(auto_free) char *nowhere = in_folder("nowhere");
    AUTO(auto_free) char *one = in_folder("a.tmp.0000000000000001");
    AUTO(auto_free) char *two = in_folder("a.tmp.0000000000000002");
    AUTO(auto_free) char *three = in_folder("a.tmp.0000000000000003");
    AUTO(auto_free) char *four = in_folder("a.tmp.0000000000000004");

    next_number = 0;
    has("victim", "victim");
    has("a.tmp.0000000000000003", "left");
    CHECK(access(nowhere, F_OK) != 0);
    CHECK(access(four, F_OK) != 0);
    CHECK_INT(unlink(one) | unlink(two) | unlink(three), 0);
}

static void writes_past_what_is_in_the_way(void)
{
    AUTO(auto_free) char *a = in_folder("a");
    struct err err = {0};

    for (int again = 0; again < 2; again++) {
        put_in_the_way();
        CHECK_INT(file_write_atomic(a, again ? "two" : "one", 3, &err), 0);
        is_untouched();
        has("a", again ? "two" : "one");
    }
}

static void links_past_what_is_in_the_way(void)
{
    AUTO(auto_free) char *a = in_folder("a");
    AUTO(auto_free) char *from = in_folder("from");
    struct stat one, other;
    struct err err = {0};

    scratch_write(folder, "a", "old", 3);
    scratch_write(folder, "from", "new", 3);
    for (int again = 0; again < 2; again++) { /* the second time both are one file already */
        put_in_the_way();
        CHECK_INT(file_link(from, a, &err), 0);
        is_untouched();
        has("a", "new");
        CHECK_INT(stat(a, &one) | stat(from, &other), 0);
        CHECK_INT(one.st_ino, other.st_ino);
        CHECK_INT(one.st_nlink, 2);
    }
    CHECK_INT(file_link("/nowhere", a, &err), -1);
    CHECK_INT(err.code, ERR_IO);
    CHECK_CONTAINS(err.msg, "/a: link to /nowhere: No such file");
}

static void joins_with_one_slash(void)
{
    static const char *const cases[][3] = {
        {"/", "data", "/data"}, {"/a", "b", "/a/b"}, {"a/", "b", "a/b"}, {".", "b/c", "./b/c"}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(auto_free) char *joined = file_in(cases[i][0], cases[i][1]);

        CHECK_STR(joined, cases[i][2]);
    }
}

int main(void)
{
    joins_with_one_slash();
    folder = scratch_make();
    path = xasprintf("%s/file", folder);
    reads_a_copy();
    refuses();
    owns_a_part();
    says_what_was_cut();
    writes_past_what_is_in_the_way();
    links_past_what_is_in_the_way();
    free(path);
    scratch_remove(folder);
    return test_result();
}
