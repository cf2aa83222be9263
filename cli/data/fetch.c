#include "cli/data/fetch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/data/checksum.h"
#include "cli/data/download.h"
#include "cli/data/sha256sums.h"
#include "cli/run/folder.h"
#include "paceline/file.h"
#include "paceline/mem.h"

#define MAX_OPEN_FOLDERS 16

/* The files beside the folder that is made. */
struct work {
    const struct fetch *f;
    struct libcurl curl;
    char *to;       /* without a trailing "/" */
    char *part;     /* to.part */
    char *unpacked; /* in it */
    int lock;       /* descriptor of part; the lock ends with it */
};

static void work_release(struct work *w)
{
    auto_close(&w->lock);
    libcurl_unload(&w->curl);
    free(w->to);
    free(w->part);
    free(w->unpacked);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    (void)remove(path); /* what stays makes its folder stay */
    return 0;
}

static void remove_tree(const char *path)
{
    nftw(path, remove_one, MAX_OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
}

/* Whether path is absent or a folder without files. */
static bool fetch_is_free(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    bool empty = true;

    if (!dir)
        return access(path, F_OK) != 0;
    while ((entry = readdir(dir)) != NULL)
        empty = empty && entry->d_name[0] == '.' && strspn(entry->d_name, ".") <= 2 &&
                !entry->d_name[strspn(entry->d_name, ".")];
    closedir(dir);
    return empty;
}

static bool fetch_is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The folder has files: they are those of the set, or the fetch fails. */
static int check_present(const struct work *w, struct err *err)
{
    if (sha256sums_check(w->to, w->f->set->name, err) == 0) {
        remove_tree(w->part); /* of a fetch that was killed when it had all but tidied up */
        return 0;
    }
    if (err->code == ERR_IO && fetch_is_folder(w->to))
        return -1;
    if (err->code == ERR_DAMAGED)
        return err_wrap(err, "remove the folder and fetch it anew");
    return err_set(err, ERR_CONFLICT,
                   "%s has files already, and not all of %s as `paceline data fetch` left them; "
                   "remove it, or name another folder with --to",
                   w->to, w->f->set->name);
}

static int work_begin(struct work *w, struct err *err)
{
    if (folder_make(w->part, err) < 0)
        return -1;
    w->lock = open(w->part, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (w->lock < 0)
        return err_set(err, ERR_IO, "%s: %s", w->part, strerror(errno));
    if (flock(w->lock, LOCK_EX | LOCK_NB) < 0)
        return err_set(err, ERR_CONFLICT, "%s: another fetch works on it", w->part);
    remove_tree(w->unpacked); /* of a fetch that was killed */
    return libcurl_load(&w->curl, err);
}

struct file_note {
    const struct fetch *f;
    const struct data_file *file;
};

static void pass_note(void *arg, uint64_t bytes)
{
    const struct file_note *n = arg;

    n->f->note(n->f->arg, n->file, bytes);
}

/* A file that is not what it must be is of no use, so the next fetch begins it anew. */
static int check_file(const struct data_file *file, const char *path, const char *url,
                      struct err *err)
{
    enum checksum_kind kind = file->sha256 ? CHECKSUM_SHA256 : CHECKSUM_MD5;
    const char *want = file->sha256 ? file->sha256 : file->md5;
    struct checksum_text found;

    if (!want)
        return 0;
    if (checksum_file(&found, kind, path, err) < 0)
        return -1;
    if (strcmp(found.s, want) == 0)
        return 0;
    unlink(path);
    return err_set(err, ERR_DAMAGED, "%s: its %s is %s, it must be %s; what came was removed", url,
                   kind == CHECKSUM_SHA256 ? "SHA-256" : "MD5", found.s, want);
}

static int get_from(const struct work *w, const char *home, const struct data_file *file,
                    struct err *err)
{
    AUTO(auto_free) char *url = xasprintf("%s%s", home, file->name);
    AUTO(auto_free) char *path = xasprintf("%s/%s", w->part, file->name);
    struct file_note note = {w->f, file};
    const struct download d = {.curl = &w->curl,
                               .url = url,
                               .path = path,
                               .size = file->size,
                               .most = w->f->set->most,
                               .note = pass_note,
                               .arg = &note,
                               .stop = w->f->stop};

    if (download_check_url(url, err) < 0 || download(&d, err) < 0)
        return -1;
    return check_file(file, path, url, err);
}

static int get_file(const struct work *w, const struct data_file *file, struct err *err)
{
    const struct data_set *set = w->f->set;
    const char *mirror = w->f->mirror;

    if (mirror) {
        size_t n = strlen(mirror);
        AUTO(auto_free)
        char *home = xasprintf("%s%s%s/", mirror, n && mirror[n - 1] == '/' ? "" : "/", set->name);

        return get_from(w, home, file, err);
    }
    for (int i = 0; i < DATA_MAX_HOMES && set->homes[i]; i++) {
        if (get_from(w, set->homes[i], file, err) == 0)
            return 0;
        if (err->code == ERR_INTERRUPTED || err->code == ERR_IO)
            return -1;
    }
    return -1;
}

static int fetch_unpack_set(const struct work *w, struct err *err)
{
    AUTO(buf_release) struct buf sums = {0};
    const struct data_set *set = w->f->set;
    const struct unpack u = {w->unpacked, set->packing, set->root, set->most, &sums, w->f->stop};
    AUTO(auto_free) char *sums_path = xasprintf("%s/%s", w->unpacked, SHA256SUMS_FILE);

    sha256sums_begin(&sums, set->name);
    if (mkdir(w->unpacked, 0777) < 0)
        return err_set(err, ERR_IO, "%s: could not be made: %s", w->unpacked, strerror(errno));
    for (int i = 0; i < DATA_MAX_FILES && set->files[i].name; i++) {
        AUTO(auto_free) char *path = xasprintf("%s/%s", w->part, set->files[i].name);

        if (unpack_file(&u, path, set->files[i].name, err) < 0)
            return -1;
    }
    return file_write_atomic(sums_path, sums.data, sums.len, err);
}

/* All that was written is on the disk before it gets its name. */
static int fetch_publish(const struct work *w, struct err *err)
{
    if (syncfs(w->lock) < 0)
        return err_set(err, ERR_IO, "%s: could not be written: %s", w->unpacked, strerror(errno));
    if (rename(w->unpacked, w->to) < 0)
        return err_set(err, ERR_IO, "%s: could not be made: %s", w->to, strerror(errno));
    remove_tree(w->part);
    return 0;
}

int data_fetch(const struct fetch *f, bool *fetched, struct err *err)
{
    size_t n = strlen(f->to);
    struct libcrypto crypto;

    while (n > 1 && f->to[n - 1] == '/')
        n--;
    AUTO(work_release)
    struct work w = {.f = f,
                     .to = xasprintf("%.*s", (int)n, f->to),
                     .part = xasprintf("%.*s.part", (int)n, f->to),
                     .unpacked = xasprintf("%.*s.part/unpacked", (int)n, f->to),
                     .lock = -1};

    *fetched = false;
    if (libcrypto_load(&crypto, err) < 0) /* or every sum would fail later, after the download */
        return -1;
    if (!fetch_is_free(w.to))
        return check_present(&w, err);
    if (work_begin(&w, err) < 0)
        return -1;
    for (int i = 0; i < DATA_MAX_FILES && f->set->files[i].name; i++)
        if (get_file(&w, &f->set->files[i], err) < 0)
            return -1;
    if (fetch_unpack_set(&w, err) < 0 || fetch_publish(&w, err) < 0) {
        remove_tree(w.unpacked);
        return -1;
    }
    *fetched = true;
    return 0;
}
