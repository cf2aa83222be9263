#include "worker/train/data_check.h"

#include "paceline/mem.h"
#include "worker/data/store/identity.h"

int data_check_derived(struct comm *comm, const struct job *job, const char *what,
                       const void *bytes, size_t n, struct err *err)
{
    return comm_agree(comm, what, bytes, n, err)
               ? err_wrap(err, "dataset %s: give all hosts the same files", job->dataset.name)
               : 0;
}

/* The labels are small, so all compare theirs. */
static int check_set(struct comm *comm, const struct job *job, const struct dataset *set,
                     const char *name, bool reads, struct err *err)
{
    AUTO(auto_free) char *of_labels = xasprintf("the labels of the %s set", name);
    AUTO(auto_free) char *of_samples = xasprintf("the samples of the %s set", name);
    const uint64_t labels = identity_labels(set);
    uint64_t samples = 0;
    int rc;

    if (data_check_derived(comm, job, of_labels, &labels, sizeof labels, err))
        return -1;
    if (!comm_max(comm, reads && comm_rank(comm) > 0)) /* one host's one copy */
        return 0;
    rc = reads ? identity_samples(&samples, set, job, err) : 0;
    if (comm_verdict(comm, rc, err))
        return -1;
    return data_check_derived(comm, job, of_samples, reads ? &samples : NULL, sizeof samples, err);
}

int data_check(struct comm *comm, const struct job *job, const struct datasets *d, bool reads,
               struct err *err)
{
    const struct {
        const char *name;
        const struct dataset *set;
    } sets[] = {{"training", &d->train}, {"validation", &d->validation}, {"test", &d->test}};
    const uint32_t sizes[] = {d->train.n,
                              d->validation.n,
                              d->test.n,
                              d->n_train,
                              (uint32_t)d->train.classes,
                              (uint32_t)d->train.shape.c,
                              (uint32_t)d->train.shape.h,
                              (uint32_t)d->train.shape.w};
    int rc = data_check_derived(comm, job, "the sizes of the data set", sizes, sizeof sizes, err);

    for (size_t i = 0; i < ARRAY_LEN(sets) && rc == 0; i++)
        if (sets[i].set->n)
            rc =
                check_set(comm, job, sets[i].set, sets[i].name, reads || comm_rank(comm) == 0, err);
    return rc;
}
