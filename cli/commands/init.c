/* paceline init: from data to a job. */
#include <string.h>
#include <unistd.h>

#include "cli/base/cli.h"
#include "cli/base/options.h"
#include "cli/init/init_data.h"
#include "cli/init/init_text.h"
#include "paceline/file.h"
#include "paceline/mem.h"
#include "worker/data/fit.h"

static const struct option_row option_rows[] = {
    OUT_OPTION("FILE", "write it there, instead of printing it"),
    FLAG_OPTION("force", force, "overwrite an existing file"),
};

static const struct command_line command = {
    COMMAND_OPTIONS(option_rows),
    COMMAND_OPERANDS(1, "DATA"),
    .before =
        "usage: paceline init DATA [options]\n"
        "Writes a job for the data in a folder: a commented file that can be trained as it is.\n",
    .after =
        "DATA is a folder of images (train/CLASS/ and test/CLASS/, or CLASS/ alone), of arrays\n"
        "(train-x.npy, train-y.npy, test-x.npy, test-y.npy; docs/reference/arrays.md), or of IDX "
        "files.\n"
        "examples:\n"
        "  paceline init photos -o job.yaml && paceline run job.yaml\n"
        "  paceline init arrays >job.yaml\n",
};

/* The job that was written must be valid and fit the data. Mistakes in the data are reported here.
 */
static int init_check(const struct buf *text, struct err *err)
{
    AUTO(problems_release) struct problems problems = {0};
    AUTO(auto_job)
    struct job *job = job_parse(text->data, text->len, "the job", NULL, 0, &problems);
    AUTO(net_release) struct net net = {0};
    struct data_facts facts;

    if (!job)
        return err_set(err, ERR_INVALID, "%s", problems.n ? problems.items[0] : "no job");
    return data_facts_read(&facts, job, err) ||
                   job_network(job, facts.shape, facts.classes, &net, err) ||
                   data_fit(&facts, job, &net, err)
               ? -1
               : 0;
}

static int write_out(const struct buf *text, const char *path, bool force, struct err *err)
{
    if (!path) {
        fputs(text->data, stdout);
        return 0;
    }
    if (!force && access(path, F_OK) == 0)
        return err_set(err, ERR_INVALID, "%s: it exists; --force writes it anew", path);
    return file_write_atomic(path, text->data, text->len, err);
}

int cmd_init(int argc, char **argv)
{
    AUTO(options_release) struct options o;
    AUTO(init_data_release) struct init_data data = {0};
    AUTO(buf_release) struct buf text;
    struct err err;
    int code;

    buf_init(&text, 0);
    if (!options_parse(&o, argc, argv, &command, &code))
        return code;
    if (init_data_find(&data, o.operand, &err) == 0) {
        init_text(&text, &data);
        if (init_check(&text, &err) == 0 && write_out(&text, o.out, o.force, &err) == 0) {
            if (o.out)
                fprintf(stderr, "%s: written; `paceline run %s` trains it\n", o.out, o.out);
            return EXIT_OK;
        }
    }
    fprintf(stderr, "paceline init: %s\n", err.msg);
    return err_exit_code(err.code);
}
