#include "operator/controller/budget.h"

#include <stdio.h>
#include <string.h>

#include "operator/controller/state.h"

void budgets_init(struct budgets *b)
{
    accounts_init(&b->jobs, BUDGET_JOB_MS_PER_SECOND, BUDGET_JOB_BURST_MS);
    accounts_init(&b->namespaces, BUDGET_NAMESPACE_MS_PER_SECOND, BUDGET_NAMESPACE_BURST_MS);
}

void budgets_release(struct budgets *b)
{
    accounts_release(&b->jobs);
    accounts_release(&b->namespaces);
}

int64_t budget_begin(const struct controller *c)
{
    return c->config.cpu_us ? c->config.cpu_us() : 0;
}

static void budget_namespace_of(char out[WHOSE_SIZE], const char *whose)
{
    snprintf(out, WHOSE_SIZE, "%.*s", (int)strcspn(whose, "/"), whose);
}

void budget_charge(struct controller *c, const char *whose, int64_t began_us, uint64_t bytes)
{
    char namespace_[WHOSE_SIZE];
    double ms;

    if (!c->config.cpu_us || !*whose)
        return;
    ms = (double)(c->config.cpu_us() - began_us) / 1e3 + (double)bytes / BUDGET_BYTES_PER_MS;
    budget_namespace_of(namespace_, whose);
    accounts_spend(&c->budgets.namespaces, namespace_, ms, c->now.mono_ms);
    if (strchr(whose, '/'))
        accounts_spend(&c->budgets.jobs, whose, ms, c->now.mono_ms);
}

int64_t budget_wait_ms(const struct controller *c, const char *whose)
{
    int64_t job = accounts_wait_ms(&c->budgets.jobs, whose, c->now.mono_ms), all;
    char namespace_[WHOSE_SIZE];

    budget_namespace_of(namespace_, whose);
    all = accounts_wait_ms(&c->budgets.namespaces, namespace_, c->now.mono_ms);
    return job > all ? job : all;
}

static const char *budget_text_of(const cJSON *object, const char *member)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, member));
}

void budget_whose(char out[WHOSE_SIZE], const cJSON *object, bool is_job)
{
    const cJSON *meta = cJSON_GetObjectItemCaseSensitive(object, "metadata");
    /* Of the owners the sieve keeps only the one that controls the object. */
    const cJSON *owner = cJSON_GetObjectItemCaseSensitive(meta, "ownerReferences");
    const char *namespace_ = budget_text_of(meta, "namespace");
    const char *job = budget_text_of(is_job ? meta : owner ? owner->child : NULL, "name");

    snprintf(out, WHOSE_SIZE, "%s%s%s", namespace_ ? namespace_ : "", namespace_ && job ? "/" : "",
             namespace_ && job ? job : "");
}
