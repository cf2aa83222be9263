// LINK: cli/run/folder.c common/err.c common/text.c common/mem.c
#include "cli/run/folder.h"

#include <fcntl.h>

#include "paceline/mem.h"
#include "tests/test.h"
#include "tests/unit/scratch.h"

static char *root;

static void touch(const char *folder, const char *name, long mtime)
{
    AUTO(auto_free) char *path = xasprintf("%s/%s", folder, name);

    scratch_write(folder, name, name, strlen(name));
    CHECK_INT(utimensat(AT_FDCWD, path, (struct timespec[]){{mtime, 0}, {mtime, 0}}, 0), 0);
}

static void test_newest_checkpoint(void)
{
    AUTO(auto_free) char *none = folder_newest_checkpoint("/nonexistent");
    AUTO(auto_free) char *empty = folder_newest_checkpoint(root);
    AUTO(auto_free) char *want = xasprintf("%s/b.safetensors", root);
    AUTO(auto_free) char *found = NULL;

    CHECK(!none);
    CHECK(!empty);
    touch(root, "a.safetensors", 1000);
    touch(root, "b.safetensors", 3000);
    touch(root, "c.safetensors", 2000);
    touch(root, "d.safetensors.tmp", 4000);
    touch(root, ".safetensors", 4000);
    found = folder_newest_checkpoint(root);
    CHECK_STR(found, want);
}

/* Nothing is lost: each run with checkpoints moves to the next free number. */
static void test_move_aside(void)
{
    AUTO(auto_free) char *path = xasprintf("%s/runs/fashion", root);
    AUTO(auto_free) char *slashed = xasprintf("%s/", path);
    struct err err = {0};

    for (int i = 0; i < 4; i++) {
        AUTO(folder_release) struct folder f;
        AUTO(auto_free) char *moved = xasprintf("%s.%d", path, i);
        AUTO(auto_free) char *kept = NULL;

        CHECK_INT(folder_take(&f, i % 2 ? slashed : path, false, &err), 0);
        CHECK_STR(f.path, path);
        if (i == 0) {
            CHECK(!f.moved_to);
        } else {
            CHECK_STR(f.moved_to, moved);
            kept = folder_newest_checkpoint(moved);
            CHECK(kept);
        }
        touch(f.path, "x.safetensors", 1);
    }
}

static void test_keep(void)
{
    AUTO(auto_free) char *path = xasprintf("%s/kept", root);
    AUTO(auto_free) char *file = NULL;
    AUTO(auto_free) char *want = xasprintf("%s/job.json", path);
    struct err err = {0};

    for (int i = 0; i < 2; i++) {
        AUTO(folder_release) struct folder f;

        CHECK_INT(folder_take(&f, path, true, &err), 0);
        CHECK(!f.moved_to);
        touch(f.path, "x.safetensors", 1);
        free(file);
        file = folder_file(&f, "job.json");
    }
    CHECK_STR(file, want);
}

static void test_refused(void)
{
    AUTO(auto_free) char *path = xasprintf("%s/busy", root);
    AUTO(auto_free) char *below_file = xasprintf("%s/a.safetensors/x", root);
    AUTO(folder_release) struct folder first;
    AUTO(folder_release) struct folder second;
    AUTO(folder_release) struct folder third;
    struct err err = {0};

    CHECK_INT(folder_take(&first, path, true, &err), 0);
    CHECK_INT(folder_take(&second, path, false, &err), -1);
    CHECK_INT(err.code, ERR_CONFLICT);
    CHECK_CONTAINS(err.msg, "is in use by another run");
    CHECK_INT(folder_take(&third, below_file, false, &err), -1);
    CHECK_INT(err.code, ERR_IO);
    CHECK_CONTAINS(err.msg, "cannot make the folder");
}

int main(void)
{
    root = scratch_make();
    test_newest_checkpoint();
    test_move_aside();
    test_keep();
    test_refused();
    scratch_remove(root);
    return test_result();
}
