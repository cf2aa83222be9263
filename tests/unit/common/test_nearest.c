// LINK: common
/* The word that somebody may have meant. */
#include "paceline/nearest.h"
#include "tests/test.h"

static void test_nearest(void)
{
    static const char *const words[] = {"ring", "tree", "mpi", "communicationThread"};

    CHECK_STR(nearest("trea", words, 4), "tree");
    CHECK_STR(nearest("rnig", words, 4), "ring");
    CHECK_STR(nearest("irgn", words, 4), "ring"); /* two swaps, but three other errors */
    CHECK_STR(nearest("MPI", words, 4), "mpi");
    CHECK_STR(nearest("comunicationthread", words, 4), "communicationThread");
    CHECK(nearest("abc", words, 4) == NULL);
    CHECK(nearest("", words, 4) == NULL);
}

int main(void)
{
    test_nearest();
    return test_result();
}
