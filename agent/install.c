#include "agent/install.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paceline/err.h"
#include "paceline/mem.h"

#define CHUNK ((size_t)1 << 20)

struct install {
    const char *folder;
    struct err err;
};

static int install_copy(const char *from, const char *to, struct err *err)
{
    AUTO(auto_close) int in = open(from, O_RDONLY | O_CLOEXEC);
    AUTO(auto_close)
    int out = in < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    ssize_t n;

    if (out < 0)
        return err_set(err, ERR_IO, "cannot copy %s to %s: %s", from, to, strerror(errno));
    while ((n = sendfile(out, in, NULL, CHUNK)) > 0)
        continue;
    if (n < 0 || fchmod(out, 0755) < 0)
        return err_set(err, ERR_IO, "cannot copy %s to %s: %s", from, to, strerror(errno));
    return 0;
}

/* Called for each object that is loaded here: the portable agent is linked with the same. */
static int copy_loaded(struct dl_phdr_info *object, size_t size, void *arg)
{
    struct install *i = arg;
    bool loader = object->dlpi_addr == getauxval(AT_BASE);
    const char *slash = strrchr(object->dlpi_name, '/');
    AUTO(auto_free) char *to = NULL;

    (void)size;
    if (!slash) /* the program, and what the kernel has put there */
        return 0;
    to = xasprintf("%s/lib/%s", i->folder, loader ? "ld.so" : slash + 1);
    return install_copy(object->dlpi_name, to, &i->err);
}

static int copy_program(const struct install *i, struct err *err)
{
    AUTO(auto_free) char *to = xasprintf("%s/paceline-agent", i->folder);
    AUTO(auto_free) char *from = NULL;
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    if (n < 0)
        return err_set(err, ERR_IO, "cannot read /proc/self/exe: %s", strerror(errno));
    self[n] = '\0';
    from = xasprintf("%s-portable", self);
    return install_copy(from, to, err);
}

/* Readable by all: the user of the other image may be another. */
static int make_folder(const char *folder, struct err *err)
{
    AUTO(auto_free) char *lib = xasprintf("%s/lib", folder);

    if ((mkdir(lib, 0755) < 0 && errno != EEXIST) || chmod(lib, 0755) < 0)
        return err_set(err, ERR_IO, "cannot make the folder %s: %s", lib, strerror(errno));
    return 0;
}

int agent_install(int argc, char **argv)
{
    struct install i = {.folder = argv[1]};

    if (argc != 2) {
        fputs("usage: paceline-agent install DIR\n", stderr);
        return EXIT_INVALID;
    }
    if (make_folder(i.folder, &i.err) == 0 && dl_iterate_phdr(copy_loaded, &i) == 0 &&
        copy_program(&i, &i.err) == 0)
        return EXIT_OK;
    fprintf(stderr, "paceline-agent: %s\n", i.err.msg);
    return err_exit_code(i.err.code);
}
