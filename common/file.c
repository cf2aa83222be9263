#include "paceline/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "paceline/mem.h"

int file_map_open(struct file_map *m, const char *path, struct err *err)
{
    AUTO(auto_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    void *map;

    *m = (struct file_map){0};
    if (fd < 0)
        return err_set(err, errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND : ERR_IO, "%s: %s",
                       path, strerror(errno));
    if (fstat(fd, &st))
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_INVALID, "%s: not a regular file", path);
    m->bytes = (const uint8_t *)"";
    if (!st.st_size)
        return 0;
    map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED)
        return err_set(err, ERR_IO, "%s: map %lld bytes: %s", path, (long long)st.st_size,
                       strerror(errno));
    *m = (struct file_map){map, (size_t)st.st_size};
    return 0;
}

void file_map_close(struct file_map *m)
{
    if (m->len)
        munmap((void *)m->bytes, m->len);
    *m = (struct file_map){0};
}
