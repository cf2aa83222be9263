/*
 * Another MPI program, as an image of somebody else's may have one. Each rank sums all ranks, says
 * so with its host, its COLOR and its arguments, and then does as the last argument says: "end",
 * "exit3" (rank 1 ends with 3), "wait" (for ever), "patient" (until SIGUSR1, then ends with 0).
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t asked;

static void ask(int signal) { asked = signal; }

static void say(int argc, char **argv, int rank, int size, int sum)
{
    const char *color = getenv("COLOR");
    char host[256] = "";

    gethostname(host, sizeof host - 1);
    printf("rank %d of %d: sum %d, host %s, color %s, arguments", rank, size, sum, host,
           color ? color : "none");
    for (int i = 1; i < argc; i++)
        printf(" [%s]", argv[i]);
    putchar('\n');
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *mode = argv[argc - 1];
    int rank, size, sum;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (strcmp(mode, "patient") == 0)
        signal(SIGUSR1, ask);
    say(argc, argv, rank, size, sum);
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(mode, "exit3") == 0 && rank == 1)
        exit(3);
    while (!asked && strcmp(mode, "end") != 0)
        usleep(10000);
    if (asked) {
        printf("rank %d was asked to stop\n", rank);
        fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}
