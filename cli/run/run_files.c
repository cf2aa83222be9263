#include "cli/run/run_files.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "paceline/mem.h"

void run_files_init(struct run_files *f, const struct folder *folder, bool resume)
{
    *f = (struct run_files){
        .spec = folder_file(folder, "job.json"),
        .new_spec = folder_file(folder, "job.json.new"),
        .events = folder_file(folder, "events.jsonl"),
        .new_events = folder_file(folder, "events.jsonl.new"),
        .resume = resume,
    };
    f->append = resume && access(f->events, F_OK) == 0;
}

void run_files_release(struct run_files *f)
{
    free(f->spec);
    free(f->new_spec);
    free(f->events);
    free(f->new_events);
    *f = (struct run_files){0};
}

/* Not synced: each run writes it anew, and waiting for the disk would delay the first step. */
static int write_spec(const char *path, const char *text, struct err *err)
{
    FILE *f = fopen(path, "we");

    if (f && fputs(text, f) >= 0 && fclose(f) == 0)
        return 0;
    return err_set(err, ERR_IO, "cannot write %.300s: %s", path, strerror(errno));
}

int run_files_open(const struct run_files *f, struct session *s, const char *text, struct err *err)
{
    if (write_spec(f->new_spec, text, err) < 0)
        return -1;
    return session_follow(s, f->append ? f->events : f->new_events, f->append, err);
}

const char *run_files_spec(const struct run_files *f, const struct session *s)
{
    return s->started ? f->spec : f->new_spec;
}

static void keep_file(const char *new_path, const char *path)
{
    if (rename(new_path, path) < 0)
        fprintf(stderr, "paceline: cannot write %s: %s\n", path, strerror(errno));
}

void run_files_keep(void *arg)
{
    const struct run_files *f = arg;

    keep_file(f->new_spec, f->spec);
    if (!f->append)
        keep_file(f->new_events, f->events);
}

void run_files_undo(const struct run_files *f, struct session *s, struct folder *folder)
{
    session_unfollow(s);
    unlink(f->new_spec);
    if (!f->append)
        unlink(f->new_events);
    folder_give_back(folder);
}
