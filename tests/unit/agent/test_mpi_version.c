// LINK: common agent/mpi_version.c
/* The implementation of an mpirun, by its --version; and the mpirun in PATH. */
#include "agent/mpi_version.h"

#include <sys/stat.h>

#include "paceline/mem.h"
#include "tests/test.h"
#include "tests/unit/scratch.h"

static void check_texts(void)
{
    static const struct {
        const char *text, *why; /* why NULL: it is good */
    } cases[] = {
        {"mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/", NULL},
        {"mpirun (Open MPI) 5.0.7\n", NULL},
        {"prterun (Open MPI) 5.0.7", NULL},
        {"mpirun (Open MPI) 3.1.6\n", "mpirun is Open MPI 3.1.6: spec.mpi needs Open MPI 4 or 5"},
        {"mpirun (Open MPI) 40\n", "mpirun is Open MPI 40: "},
        {"mpirun (Open MPI) ", "mpirun is Open MPI : "},
        {"HYDRA build details:\n    Version:  4.0.2\n", "mpirun is MPICH's or one made from it"},
        {"Intel(R) MPI Library for Linux* OS, Version 2021.11", "mpirun is Intel MPI's: "},
        {"busy\nbox", "of no known MPI (its --version prints \"busy\"): "},
        {"", "of no known MPI (its --version prints \"\"): "},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};

        CHECK_INT(mpi_version_parse(cases[i].text, &err), cases[i].why ? -1 : 0);
        if (cases[i].why)
            CHECK_CONTAINS(err.msg, cases[i].why);
        CHECK_INT(err.code, cases[i].why ? ERR_INVALID : 0);
    }
}

/* The output counts, not the exit code; what it leaves behind is not waited for. */
static void check_programs(char *scratch)
{
    static const char good[] = "#!/bin/sh\necho 'mpirun (Open MPI) 4.1.4'\nexit 1\n";
    static const char flood[] = "#!/bin/sh\nexec /bin/yes HYDRA\n";
    AUTO(auto_free) char *path = xasprintf("%s/mpirun", scratch);
    struct err err = {0};

    setenv("PATH", scratch, 1);
    CHECK_INT(mpi_version_check(&err), -1);
    CHECK_CONTAINS(err.msg, "this image has no mpirun: cannot start mpirun");
    CHECK_INT(err.code, ERR_INVALID);
    scratch_write(scratch, "mpirun", good, sizeof good - 1);
    CHECK_INT(chmod(path, 0755), 0);
    CHECK_INT(mpi_version_check(&err), 0);
    scratch_write(scratch, "mpirun", flood, sizeof flood - 1);
    CHECK_INT(chmod(path, 0755), 0);
    CHECK_INT(mpi_version_check(&err), -1);
    CHECK_CONTAINS(err.msg, "MPICH's");
}

int main(void)
{
    char *scratch = scratch_make();

    check_texts();
    check_programs(scratch);
    scratch_remove(scratch);
    return test_result();
}
