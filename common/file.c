#include "paceline/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paceline/mem.h"

static void (*say_cut_short)(const char *);

/* SIGBUS of another cause comes again and kills, as it did before. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (info->si_code != BUS_ADRERR) {
        signal(number, SIG_DFL);
        return;
    }
    say_cut_short("a file that is read as mapped memory was cut short meanwhile, or its disk "
                  "fails; needed: files that nobody writes to during the run");
    _exit(EXIT_DATA);
}

void file_map_guard(void (*say)(const char *sentence))
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};

    say_cut_short = say;
    sigaction(SIGBUS, &action, NULL);
}

static int open_regular(const char *path, struct stat *st, struct err *err)
{
    AUTO(auto_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    int opened;

    if (fd < 0)
        return err_set(err, errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND : ERR_IO, "%s: %s",
                       path, strerror(errno));
    if (fstat(fd, st))
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st->st_mode))
        return err_set(err, ERR_INVALID, "%s: not a regular file", path);
    opened = fd;
    fd = -1;
    return opened;
}

/* Of file fd, or of memory alone where fd is -1. */
static int map(struct file_map *m, int fd, size_t len, const char *path, struct err *err)
{
    const int flags = MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0);
    void *at;

    m->bytes = (const uint8_t *)"";
    if (!len)
        return 0;
    at = mmap(NULL, len, PROT_READ | (fd < 0 ? PROT_WRITE : 0), flags, fd, 0);
    if (at == MAP_FAILED)
        return err_set(err, ERR_IO, "%s: map %zu bytes: %s", path, len, strerror(errno));
    *m = (struct file_map){at, len};
    return 0;
}

int file_map_open(struct file_map *m, const char *path, struct err *err)
{
    struct stat st;
    AUTO(auto_close) int fd = open_regular(path, &st, err);

    *m = (struct file_map){0};
    return fd < 0 ? -1 : map(m, fd, (size_t)st.st_size, path, err);
}

/* Exactly n bytes, which is all there is. */
static int read_all(int fd, uint8_t *to, size_t n, const char *path, struct err *err)
{
    uint8_t beyond;
    size_t have = 0;
    ssize_t got;

    do {
        got = have < n ? read(fd, to + have, n - have) : read(fd, &beyond, 1);
        if (got > 0)
            have += (size_t)got;
    } while ((got > 0 && have <= n) || (got < 0 && errno == EINTR));
    if (got < 0)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    if (have != n)
        return err_set(err, ERR_IO, "%s: became %s than its %zu bytes while it was read", path,
                       have < n ? "shorter" : "longer", n);
    return 0;
}

int file_map_read(struct file_map *m, const char *path, struct err *err)
{
    struct stat st;
    AUTO(auto_close) int fd = open_regular(path, &st, err);

    *m = (struct file_map){0};
    if (fd < 0 || map(m, -1, (size_t)st.st_size, path, err))
        return -1;
    if (read_all(fd, m->len ? (uint8_t *)(uintptr_t)m->bytes : NULL, m->len, path, err) == 0)
        return 0;
    file_map_close(m);
    return -1;
}

/* A page of a private mapping is copied when it is written to. */
int file_map_own(const struct file_map *m, size_t at, size_t n, struct err *err)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *bytes = (uint8_t *)(uintptr_t)m->bytes;

    if (!n)
        return 0;
    if (mprotect(bytes, m->len, PROT_READ | PROT_WRITE))
        return err_set(err, ERR_IO, "%zu bytes of memory: %s", n, strerror(errno));
    for (size_t i = at - at % page; i < at + n; i += page) {
        volatile uint8_t *first = bytes + i;

        *first = *first;
    }
    mprotect(bytes, m->len, PROT_READ);
    return 0;
}

void file_map_close(struct file_map *m)
{
    if (m->len)
        munmap((void *)m->bytes, m->len);
    *m = (struct file_map){0};
}
