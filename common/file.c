#include "paceline/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paceline/mem.h"

#define TEMPORARY_NAMES 100 /* to try if others are taken */

static void (*say_cut_short)(const char *);

/* A SIGBUS with another cause is raised again and kills the program, as it would without us. */
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

static int open_to_read(const char *path, struct err *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd >= 0)
        return fd;
    return err_set(err, errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND : ERR_IO, "%s: %s",
                   path, strerror(errno));
}

static int size_of(int fd, size_t *n, const char *path, struct err *err)
{
    struct stat st = {0};

    if (fstat(fd, &st))
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_INVALID, "%s: not a regular file", path);
    *n = (size_t)st.st_size;
    return 0;
}

/* Maps file fd, or anonymous memory if fd is -1. */
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

char *file_in(const char *folder, const char *name)
{
    const size_t n = strlen(folder);

    return xasprintf("%s%s%s", folder, n && folder[n - 1] == '/' ? "" : "/", name);
}

int file_map_open(struct file_map *m, const char *path, struct err *err)
{
    AUTO(auto_close) int fd = open_to_read(path, err);
    size_t n = 0;

    *m = (struct file_map){0};
    return fd < 0 || size_of(fd, &n, path, err) ? -1 : map(m, fd, n, path, err);
}

/* Reads exactly n bytes and checks that the file ends there. */
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
    AUTO(auto_close) int fd = open_to_read(path, err);
    size_t n = 0;

    *m = (struct file_map){0};
    if (fd < 0 || size_of(fd, &n, path, err) || map(m, -1, n, path, err))
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

static int write_all(int fd, const char *bytes, size_t n, off_t at)
{
    while (n) {
        ssize_t done = pwrite(fd, bytes, n, at);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -1;
        bytes += done;
        at += done;
        n -= (size_t)done;
    }
    return 0;
}

/* Reserves the space first, so that a full disk shows before anything is written. */
static int write_parts(int fd, const struct file_part *parts, size_t n_parts, size_t total)
{
    if (total && fallocate(fd, 0, 0, (off_t)total) && errno != EOPNOTSUPP && errno != ENOSYS)
        return -1;
    for (int late = 0; late < 2; late++) {
        off_t at = 0;

        for (const struct file_part *p = parts; p < parts + n_parts; at += (off_t)p->n, p++)
            if (p->late == late && write_all(fd, p->load ? p->load(p->arg) : p->bytes, p->n, at))
                return -1;
    }
    return fsync(fd);
}

int file_sync_folder(const char *path)
{
    AUTO(auto_free) char *folder = xstrdup(path);
    char *slash = strrchr(folder, '/');
    AUTO(auto_close) int fd = -1;

    if (slash)
        slash[slash == folder] = '\0'; /* "/file" keeps its slash */
    fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -1 : fsync(fd);
}

/* A name that no other writer has, on this host or on another that writes to the same volume. */
static char *temporary_name(const char *path, int attempt)
{
    unsigned long long number = 0;

    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        number = (unsigned long long)getpid() << 32 | (unsigned)attempt;
    return xasprintf("%s.tmp.%016llx", path, number);
}

int file_temporary(char **tmp, const char *path, struct err *err)
{
    for (int attempt = 0;; attempt++) {
        AUTO(auto_free) char *name = temporary_name(path, attempt);
        const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
        const int fd = open(name, flags, 0666);

        if (fd < 0 && errno == EEXIST && attempt < TEMPORARY_NAMES)
            continue;
        if (fd < 0)
            return err_set(err, ERR_IO, "%s: %s", name, strerror(errno));
        *tmp = STEAL(name);
        return fd;
    }
}

/* link(2) neither follows nor replaces a file that has the name. */
static int link_temporary(char **tmp, const char *from, const char *path)
{
    for (int attempt = 0;; attempt++) {
        AUTO(auto_free) char *name = temporary_name(path, attempt);

        if (link(from, name) == 0) {
            *tmp = STEAL(name);
            return 0;
        }
        if (errno != EEXIST || attempt == TEMPORARY_NAMES)
            return -1;
    }
}

int file_link(const char *from, const char *path, struct err *err)
{
    AUTO(auto_free) char *tmp = NULL;

    if (link_temporary(&tmp, from, path))
        return err_set(err, ERR_IO, "%s: link to %s: %s", path, from, strerror(errno));
    const int rc = rename(tmp, path);
    const int cause = errno;
    unlink(tmp); /* rename keeps it if both names are already the same file */
    return rc ? err_set(err, ERR_IO, "%s: link to %s: %s", path, from, strerror(cause)) : 0;
}

int file_write_parts(const char *path, const struct file_part *parts, size_t n_parts,
                     struct err *err)
{
    AUTO(auto_free) char *tmp = NULL;
    AUTO(auto_close) int fd = file_temporary(&tmp, path, err);
    size_t total = 0;

    if (fd < 0 || !tmp)
        return -1;
    for (size_t i = 0; i < n_parts; i++)
        total += parts[i].n;
    if (write_parts(fd, parts, n_parts, total) || rename(tmp, path)) {
        int cause = errno;

        unlink(tmp);
        return err_set(err, ERR_IO, "%s: could not be written: %s; %zu bytes are needed", path,
                       strerror(cause), total);
    }
    if (file_sync_folder(path))
        return err_set(err, ERR_IO, "%s: its folder could not be synced: %s", path,
                       strerror(errno));
    return 0;
}

int file_write_atomic(const char *path, const void *bytes, size_t n, struct err *err)
{
    return file_write_parts(path, &(struct file_part){.bytes = bytes, .n = n}, 1, err);
}
