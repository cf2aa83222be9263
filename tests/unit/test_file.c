// LINK: common
/* Files in memory: what is done to a file while it is read, and afterwards. */
#include "paceline/file.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

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

int main(void)
{
    folder = scratch_make();
    path = xasprintf("%s/file", folder);
    reads_a_copy();
    refuses();
    owns_a_part();
    says_what_was_cut();
    free(path);
    scratch_remove(folder);
    return test_result();
}
