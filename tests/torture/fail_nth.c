/*
 * Preloaded into a program of ours: the FAIL_AT-th fallible call that its own code makes fails
 * once, as the kernel or the allocator may make it fail. Without FAIL_AT nothing fails. How many
 * there were is written to the file FAIL_COUNT at the end. Calls made by shared libraries do not
 * count, and processes that the program starts are left alone.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static uintptr_t first, last; /* where the program's own code is */
static long fail_at;
static atomic_long count;

static int note_program(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];

        if (p->p_type == PT_LOAD && (p->p_flags & PF_X)) {
            first = info->dlpi_addr + p->p_vaddr;
            last = first + p->p_memsz;
        }
    }
    return 1; /* the program is the first */
}

__attribute__((constructor)) static void begin(void)
{
    const char *at = getenv("FAIL_AT");

    fail_at = at ? strtol(at, NULL, 10) : 0;
    unsetenv("LD_PRELOAD"); /* of what it starts */
    dl_iterate_phdr(note_program, NULL);
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("FAIL_COUNT");
    FILE *f;

    last = 0;
    f = path ? fopen(path, "w") : NULL;
    if (!f)
        return;
    fprintf(f, "%ld\n", atomic_load(&count));
    fclose(f);
}

static bool fails(const void *caller)
{
    uintptr_t at = (uintptr_t)caller;

    return at >= first && at < last && atomic_fetch_add(&count, 1) + 1 == fail_at;
}

/* The next definition of a function after ours. */
#define NEXT(name)                 \
    static __typeof__(name) *next; \
    if (!next)                     \
    next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

#define FAILS(error, value)                   \
    if (fails(__builtin_return_address(0))) { \
        errno = (error);                      \
        return (value);                       \
    }

#define WRAP(type, name, error, value, parameters, arguments) \
    type name parameters                                      \
    {                                                         \
        NEXT(name);                                           \
        FAILS(error, value)                                   \
        return next arguments;                                \
    }

/* dlsym itself may allocate: glibc's own names need no looking up. */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

void *malloc(size_t bytes)
{
    FAILS(ENOMEM, NULL)
    return __libc_malloc(bytes);
}

void *calloc(size_t n, size_t size)
{
    FAILS(ENOMEM, NULL)
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t bytes)
{
    FAILS(ENOMEM, NULL)
    return __libc_realloc(p, bytes);
}

int posix_memalign(void **p, size_t align, size_t bytes)
{
    FAILS(ENOMEM, ENOMEM)
    *p = __libc_memalign(align, bytes);
    return *p ? 0 : ENOMEM;
}

int open(const char *path, int flags, ...)
{
    va_list more;
    mode_t mode;

    va_start(more, flags);
    mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    FAILS(EMFILE, -1)
    return openat(AT_FDCWD, path, flags, mode);
}

WRAP(FILE *, fopen, EMFILE, NULL, (const char *path, const char *mode), (path, mode))
WRAP(FILE *, fdopen, ENOMEM, NULL, (int fd, const char *mode), (fd, mode))
WRAP(ssize_t, read, EIO, -1, (int fd, void *bytes, size_t n), (fd, bytes, n))
WRAP(ssize_t, write, ENOSPC, -1, (int fd, const void *bytes, size_t n), (fd, bytes, n))
WRAP(size_t, fwrite, ENOSPC, 0, (const void *bytes, size_t size, size_t n, FILE *f),
     (bytes, size, n, f))
WRAP(int, fsync, EIO, -1, (int fd), (fd))
WRAP(int, rename, EIO, -1, (const char *from, const char *to), (from, to))
WRAP(int, mkdir, ENOSPC, -1, (const char *path, mode_t mode), (path, mode))
WRAP(int, socket, EMFILE, -1, (int domain, int type, int protocol), (domain, type, protocol))
WRAP(int, bind, EADDRINUSE, -1, (int fd, const struct sockaddr *to, socklen_t n), (fd, to, n))
WRAP(int, listen, EADDRINUSE, -1, (int fd, int backlog), (fd, backlog))
WRAP(int, connect, ECONNREFUSED, -1, (int fd, const struct sockaddr *to, socklen_t n), (fd, to, n))
WRAP(int, accept4, EMFILE, -1, (int fd, struct sockaddr *from, socklen_t *n, int flags),
     (fd, from, n, flags))
WRAP(ssize_t, send, ECONNRESET, -1, (int fd, const void *bytes, size_t n, int flags),
     (fd, bytes, n, flags))
WRAP(ssize_t, recv, ECONNRESET, -1, (int fd, void *bytes, size_t n, int flags),
     (fd, bytes, n, flags))
WRAP(int, pipe2, EMFILE, -1, (int fds[2], int flags), (fds, flags))
/* The pid of a process that could not be started is -1, which means everybody: a finding, and never
 * done. */
int kill(pid_t pid, int number)
{
    NEXT(kill);
    if (pid >= -1 && pid <= 1) {
        static const char words[] = "kill() of processes that are not ours\n";

        fputs(words, stderr);
        abort();
    }
    FAILS(ESRCH, -1)
    return next(pid, number);
}

WRAP(pid_t, fork, EAGAIN, -1, (void), ())
WRAP(ssize_t, getrandom, EIO, -1, (void *bytes, size_t n, unsigned int flags), (bytes, n, flags))
WRAP(int, pthread_create, EAGAIN, EAGAIN,
     (pthread_t * thread, const pthread_attr_t *attributes, void *(*run)(void *), void *arg),
     (thread, attributes, run, arg))
