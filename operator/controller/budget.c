#include "operator/controller/budget.h"

#include "operator/controller/state.h"

int64_t budget_begin(const struct controller *c)
{
    return c->config.cpu_us ? c->config.cpu_us() : 0;
}

void budget_charge(struct controller *c, const char *key, int64_t began_us)
{
    struct memory *m = c->config.cpu_us ? memories_find(c->memories, key) : NULL;

    if (m)
        limit_spend(&m->cpu_limit, (double)(c->config.cpu_us() - began_us) / 1e3, c->now.mono_ms);
}

int64_t budget_wait_ms(const struct controller *c, const char *key)
{
    const struct memory *m = memories_find(c->memories, key);

    return m ? limit_next_ms(&m->cpu_limit, c->now.mono_ms) : 0;
}
