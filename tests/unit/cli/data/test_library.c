// LINK: cli/data/library.c common/err.c common/text.c
/* Libraries that are loaded when needed: their functions work; one sentence for what is not there.
 */
#include "cli/data/library.h"
#include "tests/test.h"

int main(void)
{
    double (*cosine)(double) = NULL, (*other)(double) = NULL;
    const struct library_function known = {"cos", &cosine}, unknown = {"no_such_thing", &other};
    struct err err = {.msg = ""};

    CHECK_INT(library_load("libm.so.6", "libc6", &known, 1, &err), 0);
    CHECK(cosine && cosine(0) == 1);
    CHECK_INT(library_load("libm.so.6", "libc6", &unknown, 1, &err), -1);
    CHECK_INT(err.code, ERR_NOT_FOUND);
    CHECK_STR(err.msg, "libm.so.6 has no no_such_thing");
    CHECK(!other);
    CHECK_INT(library_load("libnowhere.so.9", "libnowhere9", &known, 1, &err), -1);
    CHECK_INT(err.code, ERR_NOT_FOUND);
    CHECK_CONTAINS(err.msg, "libnowhere.so.9 is not on this machine (");
    CHECK_CONTAINS(err.msg, "Debian has it in the package libnowhere9");
    return test_result();
}
