#include "cli/run/checkpoint_run.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/run/checkpoint_job.h"
#include "cli/run/checkpoint_path.h"
#include "paceline/clock.h"
#include "paceline/mem.h"

/* Writes the effective spec to a file that the worker inherits and that nobody has to remove. */
static int spec_file(const struct job *job, char path[32], struct err *err)
{
    AUTO(buf_release) struct buf spec;
    int fd = memfd_create("job.json", 0);

    buf_init(&spec, 0);
    job_to_json(job, &spec);
    snprintf(path, 32, "/proc/self/fd/%d", fd);
    if (fd >= 0 && write(fd, spec.data, spec.len) == (ssize_t)spec.len)
        return fd;
    auto_close(&fd);
    return err_set(err, ERR_IO, "cannot hold the spec: %s", strerror(errno));
}

int checkpoint_run(struct session *s, const struct options *o, const char *command, bool needs_data,
                   const char *const *besides, size_t n, struct job **job)
{
    AUTO(auto_free) char *path = NULL;
    AUTO(auto_close) int fd = -1;
    AUTO(auto_free) const char **arguments = xcalloc(n + 6, sizeof *arguments);
    char spec_path[32];
    struct err err;
    int code;

    *job = NULL;
    s->json = o->json;
    path = checkpoint_path_find(o->operand, &err);
    if (!path)
        return session_fail(s, command, err_exit_code(err.code), &err);
    *job = cli_checkpoint_job(path, o->spec, &o->sets, needs_data, &code);
    if (!*job)
        return code;
    fd = spec_file(*job, spec_path, &err);
    if (fd < 0)
        return session_fail(s, command, err_exit_code(err.code), &err);
    const char *const first[] = {command, "--spec", spec_path, "--checkpoint", path};
    memcpy(arguments, first, sizeof first);
    for (size_t i = 0; i < n; i++) /* without any, besides may be NULL */
        arguments[ARRAY_LEN(first) + i] = besides[i];
    code = session_run(s, arguments, 1, (int)(*job)->training.threads, clock_realtime_ns(), &err);
    return code == EXIT_OK ? code : session_fail(s, command, code, &err);
}
