// LINK: operator/reconcile operator/api common
/*
 * reconcile by cases as data files: tests/reconcile/, format in reconcile_case.h.
 *   test_reconcile --rewrite FILE...   writes what reconcile does now into the files: read the diff
 */
#include <glob.h>
#include <strings.h>

#include "paceline/file.h"
#include "tests/unit/reconcile_print.h"

/* Runs the case; appends its plan. */
static void case_run(struct reconcile_case *c, struct buf *out)
{
    AUTO(plan_release) struct plan plan = {0}, again = {0};
    AUTO(buf_release) struct buf reversed;

    reconcile(&c->o, c->now, &plan);
    print_plan(out, c, &plan);
    /* The order in which pods come must not matter. */
    for (size_t i = 0; i < c->o.n_pods; i++)
        c->pointers[i] = &c->pods[c->o.n_pods - 1 - i];
    buf_init(&reversed, 0);
    reconcile(&c->o, c->now, &again);
    print_plan(&reversed, c, &again);
    CHECK_STR(out->len ? out->data : "", reversed.len ? reversed.data : "");
}

static const char *text_of(const struct buf *b) { return b->len ? b->data : ""; }

/* The plan of the case, appended to out; compared with what is wanted, if that is given. */
static void case_finish(struct reconcile_case *c, const char *path, const char *want,
                        struct buf *out)
{
    AUTO(buf_release) struct buf plan;

    buf_init(&plan, 0);
    case_run(c, &plan);
    buf_puts(out, text_of(&plan));
    test_checked++;
    if (want && (strncmp(want, text_of(&plan), plan.len) != 0 ||
                 strspn(want + plan.len, "\n") != strlen(want + plan.len)))
        TEST_FAIL("%s: %s: wanted\n%s\ngot\n%s", path, c->name, want, text_of(&plan));
}

/* Runs every case of a file; out gets the file as it would be with the plans of now. */
static int file_run(const char *path, struct buf *out, bool check)
{
    AUTO(buf_release) struct buf text;
    struct reconcile_case c = {0};
    struct err err;
    int n = 0;

    if (buf_read_file(&text, path, 1 << 20, &err)) {
        TEST_FAIL("%s", err.msg);
        return 0;
    }
    for (char *line = text.data, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        buf_printf(out, next ? "%s\n" : "%s", line);
        if (strncmp(line, "== ", 3) == 0) {
            arena_release(&c.arena);
            case_begin(&c, line + 3);
        } else if (strcmp(line, "plan") == 0 && next) {
            char *want = next, *end = strstr(want, "\n== ");

            next = end ? end + 1 : NULL;
            if (end)
                *end = '\0';
            case_finish(&c, path, check ? want : NULL, out);
            buf_puts(out, end ? "\n" : "");
            n++;
        } else if (*line && *line != '#') {
            case_line(&c, line);
        }
    }
    arena_release(&c.arena);
    return n;
}

static void test_cases(void)
{
    glob_t files = {0};
    int n = 0;

    CHECK_INT(glob("tests/reconcile/*.case", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        AUTO(buf_release) struct buf out;

        buf_init(&out, 0);
        n += file_run(files.gl_pathv[i], &out, true);
    }
    globfree(&files);
    CHECK(n >= 80);
    printf("%d cases\n", n);
}

static int rewrite(int n, char **paths)
{
    for (int i = 0; i < n; i++) {
        AUTO(buf_release) struct buf out;
        struct err err;

        buf_init(&out, 0);
        file_run(paths[i], &out, false);
        if (test_failed || file_write_atomic(paths[i], out.data, out.len, &err))
            return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "--rewrite") == 0)
        return rewrite(argc - 2, argv + 2);
    test_cases();
    return test_result();
}
