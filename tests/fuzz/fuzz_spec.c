// LINK: common
/*
 * A TrainingJob of any bytes: no crash; a refusal names a problem; what is accepted has the same
 * JSON form again. Bytes before a NUL are an override (--set), if there is one. The same bytes go
 * through the cluster spec's parsers.
 */
#include <stdint.h>

#include "paceline/cluster.h"
#include "paceline/mem.h"
#include "paceline/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_job(const char *text, size_t len, const char *const *sets, size_t n_sets)
{
    AUTO(problems_release) struct problems problems = {0};
    AUTO(auto_job) struct job *job = job_parse(text, len, "fuzz", sets, n_sets, &problems);
    AUTO(auto_job) struct job *again = NULL;
    AUTO(net_release) struct net net = {0};
    AUTO(buf_release) struct buf first, second;
    struct err err;

    buf_init(&first, 0);
    buf_init(&second, 0);
    if (!job && problems.n == 0)
        abort();
    if (!job)
        return;
    (void)!job_network(job, job_published_shape(job), 0, &net, &err);
    job_to_json(job, &first);
    again = job_parse(first.data, first.len, "again", NULL, 0, &problems);
    if (!again) {
        fprintf(stderr, "%s\n%s\n", first.data, problems.items[0]);
        abort();
    }
    job_to_json(again, &second);
    if (strcmp(first.data, second.data) != 0)
        abort();
}

static void fuzz_cluster(const char *text, size_t len)
{
    AUTO(cluster_release) struct cluster cluster;
    AUTO(hostfile_release) struct hostfile hosts;
    struct err err;

    (void)!cluster_parse(&cluster, text, len, &err);
    (void)!hostfile_parse(&hosts, text, len, "fuzz", &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(auto_free) char *text = xmalloc(size + 1);
    size_t set_len;

    memcpy(text, data, size);
    text[size] = '\0';
    set_len = strlen(text);
    if (set_len < size)
        fuzz_job(text + set_len + 1, size - set_len - 1, (const char *const[]){text}, 1);
    else
        fuzz_job(text, size, NULL, 0);
    fuzz_cluster(text, size);
    return 0;
}
