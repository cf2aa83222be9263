#include "agent/mpi_version.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "paceline/clock.h"
#include "paceline/mem.h"
#include "paceline/spawn.h"

#define NEEDED "spec.mpi needs Open MPI 4 or 5"
#define ANSWER_MS 30000 /* a cold image may come over the network */
#define OPEN_MPI "(Open MPI) "

/* Other families, by a word that their mpirun prints. */
static const struct mpi_family {
    const char *word, *name;
} families[] = {
    {"HYDRA", "MPICH's or one made from it (Hydra)"},
    {"Intel(R) MPI", "Intel MPI's"},
};

int mpi_version_parse(const char *text, struct err *err)
{
    const char *open_mpi = strstr(text, OPEN_MPI);
    const char *version = open_mpi ? open_mpi + strlen(OPEN_MPI) : "";
    size_t len = strcspn(version, " \n");

    if (strncmp(version, "4.", 2) == 0 || strncmp(version, "5.", 2) == 0)
        return 0;
    if (open_mpi)
        return err_set(err, ERR_INVALID, "this image's mpirun is Open MPI %.*s: " NEEDED,
                       len < 40 ? (int)len : 40, version);
    for (const struct mpi_family *f = families; f < families + ARRAY_LEN(families); f++)
        if (strstr(text, f->word))
            return err_set(err, ERR_INVALID, "this image's mpirun is %s: " NEEDED, f->name);
    return err_set(
        err, ERR_INVALID,
        "this image's mpirun is of no known MPI (its --version prints \"%.*s\"): " NEEDED,
        (int)strcspn(text, "\n"), text);
}

/* What comes until the pipe ends or the text is full; whatever comes later is of no interest. */
static void read_answer(int fd, char *text, size_t size)
{
    int64_t end_ms = clock_ms() + ANSWER_MS, left_ms;
    size_t len = 0;

    while (len + 1 < size && (left_ms = end_ms - clock_ms()) > 0) {
        struct pollfd pfd = {.fd = fd, .events = POLLIN};
        ssize_t n;

        if (poll(&pfd, 1, (int)left_ms) <= 0)
            continue;
        n = read(fd, text + len, size - 1 - len);
        if (n <= 0)
            break;
        len += (size_t)n;
    }
    text[len] = '\0';
}

int mpi_version_check(struct err *err)
{
    static const char *const argv[] = {"mpirun", "--version", NULL};
    AUTO(spawn_close_pipe) int out[2] = {-1, -1};
    AUTO(auto_close) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct spawn process = {.argv = argv, .death_signal = SIGKILL};
    char text[400];
    struct err why;
    pid_t pid;

    if (null < 0 || pipe2(out, O_CLOEXEC) < 0)
        return err_set(err, ERR_IO, "cannot open a pipe to mpirun: %s", strerror(errno));
    memcpy(process.fds, (const int[]){null, out[1], null}, sizeof process.fds);
    if (spawn_process(&pid, &process, &why) < 0)
        return err_set(err, ERR_INVALID, "this image has no mpirun: %s; " NEEDED, why.msg);
    auto_close(&out[1]);
    out[1] = -1;
    read_answer(out[0], text, sizeof text);
    kill(-pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return mpi_version_parse(text, err);
}
