#include "worker/data/store/packed.h"

#include "paceline/buf.h"
#include "paceline/digest.h"
#include "paceline/file.h"
#include "paceline/mem.h"

#define MAGIC 0x31656e696c636170 /* its last digit counts the versions */

struct packed_head {
    uint64_t magic, stamp, digest; /* of this head with a digest of 0, and of the layout's */
    uint64_t spare[5];             /* 0; what follows is 64-byte aligned */
};

_Static_assert(sizeof(struct packed_head) == 64, "the layout keeps its alignment");

char *packed_path(const struct job *job)
{
    AUTO(auto_free)
    char *made_of =
        xasprintf("%s %lld %d %a %a%s", job->dataset.path, (long long)job->dataset.image_size,
                  (int)job->dataset.color, job->dataset.max_damaged, job->dataset.test_split,
                  job->dataset.draft ? " draft" : "");

    return xasprintf("%s/images-%016llx.packed", job->dataset.cache_path,
                     (unsigned long long)digest_bytes(made_of, strlen(made_of)));
}

static uint64_t digest_of(struct packed_head head, const struct layout *l)
{
    struct digest d = digest_begin(sizeof head + sizeof *l);

    head.digest = 0;
    digest_add(&d, &head, sizeof head);
    digest_add(&d, l, sizeof *l);
    return digest_end(&d);
}

static int packed_check(const uint8_t *bytes, size_t len, uint64_t stamp, struct err *err)
{
    const struct layout *l = (const struct layout *)(bytes + sizeof(struct packed_head));
    struct packed_head head;

    if (len < sizeof head + sizeof *l)
        return err_set(err, ERR_DAMAGED, "%zu bytes are no packed copy", len);
    memcpy(&head, bytes, sizeof head);
    if (head.magic != MAGIC || head.digest != digest_of(head, l))
        return err_set(err, ERR_DAMAGED, "no packed copy of this version");
    if (!layout_check(l, len - sizeof head))
        return err_set(err, ERR_DAMAGED, "a damaged packed copy of %zu bytes", len);
    if (head.stamp != stamp)
        return err_set(err, ERR_CONFLICT, "the folder has changed since it was packed");
    return 0;
}

/* Copies the head and the labels, which must not change after they are checked, whoever writes to
 * the file. */
static int packed_own(const struct file_map *file, uint64_t stamp, struct err *err)
{
    const size_t head = sizeof(struct packed_head);
    const struct layout *l = (const struct layout *)(file->bytes + head);

    if (file_map_own(file, 0, file->len < head + sizeof *l ? file->len : head + sizeof *l, err) ||
        packed_check(file->bytes, file->len, stamp, err))
        return -1;
    for (int set = 0; set < N_SETS; set++)
        if (file_map_own(file, head + l->labels[set], l->n[set] * sizeof(uint16_t), err))
            return -1;
    return packed_check(file->bytes, file->len, stamp, err);
}

int packed_open(struct packed *p, const char *path, uint64_t stamp, struct err *err)
{
    struct file_map file;

    if (file_map_open(&file, path, err))
        return -1;
    if (packed_own(&file, stamp, err)) {
        file_map_close(&file);
        return err_wrap(err, "%s", path);
    }
    p->map = (void *)(uintptr_t)file.bytes;
    p->bytes = file.len;
    p->layout = (struct layout *)((char *)p->map + sizeof(struct packed_head));
    return 0;
}

int packed_write(const char *path, uint64_t stamp, const struct layout *layout, struct err *err)
{
    struct packed_head head = {.magic = MAGIC, .stamp = stamp};
    const struct file_part parts[] = {{.bytes = &head, .n = sizeof head},
                                      {.bytes = layout, .n = layout->bytes}};

    head.digest = digest_of(head, layout);
    return file_write_parts(path, parts, ARRAY_LEN(parts), err);
}
