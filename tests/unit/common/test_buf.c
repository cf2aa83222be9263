// LINK: common/buf.c common/file.c common/err.c common/text.c common/mem.c
/* Buffers and atomic file writes. */
#include "paceline/buf.h"
#include "paceline/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paceline/mem.h"
#include "tests/test.h"

static void test_append(void)
{
    AUTO(buf_release) struct buf b;
    char want[5001];

    buf_init(&b, 0);
    CHECK_STR(b.data, "");
    for (int i = 0; i < 5000; i++) {
        want[i] = (char)('a' + i % 26);
        buf_add(&b, &want[i], 1);
    }
    want[5000] = '\0';
    CHECK_STR(b.data, want);
    CHECK_INT(b.len, 5000);
    buf_printf(&b, "%05d", 42);
    CHECK_STR(b.data + 5000, "00042");
    CHECK(!b.overflowed);
}

static void test_maximum(void)
{
    AUTO(buf_release) struct buf b;

    buf_init(&b, 5);
    buf_puts(&b, "abcde");
    CHECK(!b.overflowed);
    buf_puts(&b, "f");
    CHECK(b.overflowed);
    CHECK_STR(b.data, "abcde");
}

static size_t entries(const char *folder)
{
    DIR *d = opendir(folder);
    size_t n = 0;

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n - 2; /* . and .. */
}

static void test_files(void)
{
    const char *base = getenv("TMPDIR");
    AUTO(auto_free) char *folder = xasprintf("%s/test_buf.XXXXXX", base ? base : "/tmp");
    AUTO(auto_free) char *path = NULL, *blocked = NULL, *other = NULL;
    struct err err = {0};

    if (!mkdtemp(folder)) {
        CHECK(!"mkdtemp");
        return;
    }
    path = xasprintf("%s/a", folder);
    blocked = xasprintf("%s/dir", folder);

    /* A file that another pod's process with our pid is writing stays its own. */
    other = xasprintf("%s.tmp.%ld", path, (long)getpid());
    close(open(other, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    CHECK_INT(file_write_atomic(path, "one", 3, &err), 0);
    CHECK_INT(unlink(other), 0);
    CHECK_INT(file_write_atomic(path, "one\0two", 7, &err), 0);
    CHECK_INT(file_write_atomic(path, "three", 5, &err), 0);
    CHECK_INT(entries(folder), 1);
    for (int max = 4; max <= 5; max++) {
        AUTO(buf_release) struct buf b;
        int rc = buf_read_file(&b, path, (size_t)max, &err);

        CHECK_INT(rc, max == 5 ? 0 : -1);
        if (max == 5)
            CHECK_STR(b.data, "three");
        else
            CHECK_CONTAINS(err.msg, "larger than the 4 bytes");
    }

    /* A folder stands where the file should go: the rename fails and leaves nothing behind. */
    CHECK_INT(mkdir(blocked, 0700), 0);
    CHECK_INT(file_write_atomic(blocked, "x", 1, &err), -1);
    CHECK_INT(err.code, ERR_IO);
    CHECK_CONTAINS(err.msg, "/dir: could not be written");
    CHECK_INT(entries(folder), 2);

    AUTO(buf_release) struct buf none;
    AUTO(auto_free) char *absent = xasprintf("%s/absent", folder);

    CHECK_INT(buf_read_file(&none, absent, 0, &err), -1);
    CHECK_INT(err.code, ERR_NOT_FOUND);
    CHECK_CONTAINS(err.msg, absent);

    rmdir(blocked);
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    test_append();
    test_maximum();
    test_files();
    return test_result();
}
