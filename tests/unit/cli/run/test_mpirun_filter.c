// LINK: cli/run/mpirun_filter.c common/buf.c common/err.c common/text.c common/mem.c
#include "cli/run/mpirun_filter.h"

#include "paceline/buf.h"
#include "paceline/mem.h"
#include "tests/test.h"

#define DASHES "--------------------------------------------------------------------------\n"

/* As mpirun of Open MPI 5.0.7 has printed them. */
#define ABORT                                                                      \
    DASHES "MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD\n"      \
           "  Proc: [[9383,1],0]\n"                                                \
           "  Errorcode: 3\n"                                                      \
           "NOTE: invoking MPI_ABORT causes Open MPI to kill all MPI processes.\n" \
           "You may or may not see output from other processes, depending on\n"    \
           "exactly when Open MPI kills them.\n" DASHES
#define ABORTED                                                                         \
    DASHES "prterun has exited due to process rank 0 with PID 0 on node vm calling\n"   \
           "\"abort\". This may have caused other processes in the application to be\n" \
           "terminated by signals sent by prterun (as reported here).\n" DASHES
#define CODE                                                                            \
    DASHES "prterun detected that one or more processes exited with non-zero status,\n" \
           "thus causing the job to be terminated. The first process to do so was:\n"   \
           "   Process name: [prterun-vm-21148@1,1]\n"                                  \
           "   Exit code:    7\n" DASHES
#define SIGNAL                                                                         \
    DASHES "prterun noticed that process rank 0 with PID 21283 on node vm exited on\n" \
           "signal 9 (Killed).\n" DASHES
#define SLOTS                                                                      \
    DASHES "There are not enough slots available in the system to satisfy the 2\n" \
           "slots that were requested by the application:\n" DASHES

static void keep(void *arg, const char *line, size_t len)
{
    buf_add(arg, line, len);
    buf_add(arg, "\n", 1);
}

static void test_paragraphs(void)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"", ""},
        {"a\nb\n", "a\nb\n"},
        {ABORT ABORTED, ""},
        {CODE, ""},
        {"a\n" SIGNAL "b\n", "a\nb\n"},
        {SLOTS, SLOTS},
        {SLOTS SLOTS, SLOTS SLOTS},
        {SLOTS CODE "a\n" SLOTS, SLOTS "a\n" SLOTS},
        {CODE SLOTS "a\n" ABORTED, SLOTS "a\n"},
        {DASHES, DASHES},
        {DASHES DASHES "a\n", DASHES DASHES "a\n"},
        {DASHES "a\nprterun noticed that process rank 0\n",
         DASHES "a\nprterun noticed that process rank 0\n"},
        /* One that does not end. */
        {DASHES "MPI_ABORT was invoked on rank "
                "0\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n\n",
         "17\n\n"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct mpirun_filter n = {0};
        AUTO(buf_release) struct buf out;

        buf_init(&out, 0);
        for (const char *rest = cases[i].in; *rest; rest = strchr(rest, '\n') + 1) {
            AUTO(auto_free) char *line = xstrdup(rest);
            size_t len = strcspn(line, "\n");

            line[len] = '\0';
            mpirun_filter_add(&n, line, len, keep, &out);
        }
        mpirun_filter_end(&n, keep, &out);
        CHECK_STR(out.data, cases[i].out);
    }
}

int main(void)
{
    test_paragraphs();
    return test_result();
}
