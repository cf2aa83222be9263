// LINK: common cli/base/cli.c cli/base/options.c cli/commands/diff.c cli/base/format.c
// LINK: cli/report/table.c
// LINK: worker/checkpoint/safetensors.c
#include <fcntl.h>
#include <math.h>

#include "cli/base/cli.h"
#include "paceline/buf.h"
#include "tests/test.h"
#include "tests/unit/scratch.h"
#include "worker/checkpoint/safetensors.h"

static char *folder, *paths[2];

/* The values of one file; the other gets changed copies. */
struct content {
    float w[2][3][2];
    int64_t n[2];
    double d[1];
    uint8_t u[2];
    int64_t rows; /* of "w"; 2, or 3 to give it another shape */
    const char *last, *step;
};

static const struct content content = {
    .w = {{{1, 2}, {3, 4}, {5, 6}}, {{7, 8}, {9, 10}, {11, 12}}},
    .n = {1, 2},
    .d = {0.5},
    .u = {7, 9},
    .rows = 2,
    .last = "u",
    .step = "938",
};

static void put(const char *path, const struct content *c)
{
    const struct st_tensor tensors[] = {
        {"n", ST_I64, 1, {2}, .data = c->n, .bytes = sizeof c->n},
        {"d", ST_F64, 0, {0}, .data = c->d, .bytes = sizeof c->d},
        {"w", ST_F32, 3, {c->rows, 6 / c->rows, 2}, .data = c->w, .bytes = sizeof c->w},
        {c->last, ST_U8, 1, {2}, .data = c->u, .bytes = sizeof c->u},
    };
    const struct st_meta meta[] = {{"step", c->step}, {"seed", "1"}};
    struct err err = {0};

    CHECK_INT(st_write(path, tensors, ARRAY_LEN(tensors), meta, 2, &err), 0);
}

/* Runs the command; what it printed on stdout and stderr is in out (initialised by the call). */
static int run(struct buf *out, int argc, char **argv)
{
    AUTO(auto_free) char *path = xasprintf("%s/output", folder);
    int saved[2] = {dup(1), dup(2)}, fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600), code;
    struct err err;

    fflush(NULL);
    dup2(fd, 1);
    dup2(fd, 2);
    close(fd);
    code = cmd_diff(argc, argv);
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        dup2(saved[i], i + 1);
        close(saved[i]);
    }
    CHECK_INT(buf_read_file(out, path, 0, &err), 0);
    return code;
}

/* Compares content with changed; NULL parts are not looked for. */
static void check_diff(const struct content *changed, int code, const char *part, const char *other)
{
    char *argv[] = {(char *)"diff", paths[0], paths[1], NULL};
    AUTO(buf_release) struct buf out;

    put(paths[0], &content);
    put(paths[1], changed);
    CHECK_INT(run(&out, 3, argv), code);
    CHECK_CONTAINS(out.data, part);
    CHECK_CONTAINS(out.data, other);
}

static void finds_differences(void)
{
    struct content c = content;

    check_diff(&c, 0, "a.safetensors: step 938\n", "equal: 4 tensors, bit by bit\n");

    c.w[1][2][0] = nextafterf(11, 12);
    c.w[1][2][1] = 12.5f;
    check_diff(&c, 1, "first difference: w[1,2,0]: 11 (0x41300000) and 11.000001 (0x41300001)\n",
               "w             12          2                 0.5\n");
    c = content;
    c.n[1] = -2;
    c.w[0][0][0] = -1;
    check_diff(&c, 1,
               "first difference: n[1]: 2 (0x0000000000000002) and -2 (0xfffffffffffffffe)\n",
               "w             12          1                   2\n");
    c = content;
    c.d[0] = -0.0;
    check_diff(&c, 1, "d: 0.5 (0x3fe0000000000000) and -0 (0x8000000000000000)\n", "step 938");
    c = content;
    c.u[0] = 255;
    check_diff(&c, 1, "u[0]: 7 (0x07) and 255 (0xff)\n", "248\n");
    c = content;
    c.w[0][1][1] = NAN;
    c.w[1][1][1] = 20;
    check_diff(&c, 1, "w[0,1,1]: 4 (0x40800000) and nan (0x7fc00000)\n",
               "w             12          2                 nan\n");
    c = content;
    c.rows = 3;
    check_diff(&c, 1, "w: F32[2,3,2] and F32[3,2,2]\n", "step");
    c = content;
    c.last = "v";
    check_diff(&c, 1, "u: only in ", "v: only in ");
    c = content;
    c.step = "939";
    check_diff(&c, 1, "b.safetensors: step 939\n", "metadata step: 938 and 939\n");
}

static void check_refused(int argc, char **argv, int code, const char *part)
{
    AUTO(buf_release) struct buf out;

    CHECK_INT(run(&out, argc, argv), code);
    CHECK_CONTAINS(out.data, part);
}

static void refuses_bad_input(void)
{
    char *argv[] = {(char *)"diff", paths[0], paths[1], paths[1], NULL};
    char *absent[] = {(char *)"diff", paths[0], (char *)"absent.safetensors", NULL};
    char *option[] = {(char *)"diff", paths[0], (char *)"--deep", NULL};
    char *help[] = {(char *)"diff", (char *)"--help", NULL};

    check_refused(2, argv, 2, "paceline diff: the number of files is 1; it takes 2");
    check_refused(4, argv, 2, "paceline diff: the number of files is 3; it takes 2");
    check_refused(3, option, 2, "paceline diff: unknown option --deep");
    check_refused(3, absent, 3, "paceline diff: absent.safetensors: No such file");
    check_refused(2, help, 0, "usage: paceline diff A.safetensors B.safetensors");
    scratch_write(folder, "b.safetensors", "short", 5);
    check_refused(3, argv, 3, "b.safetensors: 5 bytes; a safetensors file has at least 8");
}

int main(void)
{
    folder = scratch_make();
    paths[0] = xasprintf("%s/a.safetensors", folder);
    paths[1] = xasprintf("%s/b.safetensors", folder);
    finds_differences();
    refuses_bad_input();
    free(paths[0]);
    free(paths[1]);
    scratch_remove(folder);
    return test_result();
}
