// LINK: common
/* The language of rules: what its expressions are on a job; rules that repeat a table agree with
 * it. */
#include <string.h>

#include "common/spec_rules.h"
#include "paceline/losses.h"
#include "tests/unit/spec_text.h"

static const char text[] = HEAD
    "  model: {name: mlp, hidden: [7, 8, 9]}\n"
    "  dataset: {path: /data}\n"
    "  training: {batchSize: 24, learningRateSchedule: {type: piecewise, boundaries: [1, 2, 2.5],\n"
    "    values: [1, 1, 0.5, 0.25]}}\n"
    "  replicas: {worker: {replicas: 3, template: {spec: {containers: [{name: c, command: [x, "
    "y]},\n"
    "    {name: ''}]}}}}\n";

#define POD "{spec.replicas.worker.template}.spec"
#define BOUNDS "{spec.training.learningRateSchedule.boundaries}"
#define RATES "{spec.training.learningRateSchedule.values}"

static void test_values(const struct job *job)
{
    static const struct {
        const char *text;
        double wanted;
    } cases[] = {
        {"1 + 2 * 3 - 4", 3},
        {"(1 + 2) * 3", 9},
        {"10 - 4 - 3", 3},
        {"17 % 5", 2},
        {"double(3) * 0.5", 1.5},
        {"1 < 2 && 2 <= 2 && 3 > 2 && 3 >= 3 && 1 == 1 && 1 != 2", 1},
        {"2 < 1 || 2 <= 1 || 2 > 3 || 2 >= 3 || 1 == 2 || 1 != 1", 0},
        {"true || false && false", 1},
        {"!false && !(true && false)", 1},
        {"!true || false", 0},
        {"false ? 1 : true ? 2 : 3", 2},
        {"'a' == 'a' && 'a' != 'b'", 1},
        {"'1' == 1 || '' == 0", 0},
        {"'b' in ['a', 'b']", 1},
        {"'c' in ['a', 'b'] || 1 in []", 0},
        {"2 in [1, 2, 3]", 1},
        {"size('abc') == 3", 1},
        {"{spec.replicas.worker.replicas}", 3},
        {"{spec.training.epochs}", 5},                   /* a default of the table */
        {"{spec.strategy.staleness|7}", 7},              /* absent */
        {"{spec.training.optimizer.momentum|0.5}", 0.9}, /* a default by its selector */
        {"{spec.dataset.name} == 'fashion-mnist'", 1},
        {"{spec.model.name|''} == 'mlp' && {spec.strategy.mode|'x'} == 'sync'", 1},
        {"{spec.dataset.path}.startsWith('/') && !{spec.dataset.path}.startsWith('/d/')", 1},
        {"{?spec.dataset.path} && {?spec.model} && {?spec.model.hidden}", 1},
        {"{?spec.output.volume} || {?spec.mpi} || {?spec.model.layers}", 0},
        {"{?spec.training.optimizer.sharded} || {?spec.replicas.worker.maxReplicas}", 0},
        {"size({spec.model.hidden})", 3},
        {"{#layers}", 8},
        {"{#lanes}", 4},
        {BOUNDS ".isSorted()", 1},
        {BOUNDS ".all(x, x > 0)", 1},
        {BOUNDS ".all(x, x > 1)", 0},
        {BOUNDS ".all(x, " BOUNDS ".exists_one(y, y == x))", 1},
        {RATES ".isSorted()", 0},
        {RATES ".all(x, " RATES ".exists_one(y, y == x))", 0},
        {RATES ".exists_one(x, x < 0.5)", 1},
        {"has(" POD ") && has(" POD ".containers) && !has(" POD ".initContainers)", 1},
        {"size(" POD ".containers[0].command)", 2},
        {"has(" POD ".containers[1].command) || has(" POD ".containers[2])", 0},
        {POD ".containers.all(c, has(c.name))", 1},
        {POD ".containers.all(c, size(c.name) > 0)", 0},
        {"has({spec.replicas.ps.template}.spec)", 0},
    };
    AUTO(rule_facts_release) struct rule_facts facts = {.job = job};
    AUTO(arena_release) struct arena arena = {0};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const double got = rule_expr_number(rule_expr_parse(&arena, cases[i].text, NULL), &facts);

        if (got != cases[i].wanted)
            TEST_FAIL("%s: %g, not %g", cases[i].text, got, cases[i].wanted);
        test_checked++;
    }
}

/* Expressions end where a text goes on. */
static void test_end(const struct job *job)
{
    AUTO(rule_facts_release) struct rule_facts facts = {.job = job};
    AUTO(arena_release) struct arena arena = {0};
    const char *end;

    CHECK_INT((int)rule_expr_number(rule_expr_parse(&arena, "1 + 2]] of", &end), &facts), 3);
    CHECK_STR(end, "]] of");
}

/* Whether the rule with this place and sentence is broken. */
static bool is_broken(const struct job *job, const char *path, const char *allowed)
{
    const struct rule *rule;

    for (size_t i = 0; (rule = spec_rule(i)); i++) {
        AUTO(rule_facts_release) struct rule_facts facts = {.job = job};
        AUTO(buf_release) struct buf found;

        buf_init(&found, 0);
        if (strcmp(rule->paths[0], path) == 0 && strstr(rule->allowed, allowed))
            return rule_is_broken(i, &facts, &found);
    }
    TEST_FAIL("no rule \"%s\"", allowed);
    return false;
}

/* What the rules say of losses, metrics and labels is what the tables of losses.c say. */
static void test_losses(struct job *job)
{
    static char *const names[] = {"mnist", "arrays", "text"};
    const char *monitor = "spec.training.earlyStopping.monitor";
    char *name = job->dataset.name;

    for (int i = 0; i < N_LOSSES * N_METRICS * (int)ARRAY_LEN(names); i++) {
        const enum metric metric = (enum metric)(i / N_LOSSES % N_METRICS);
        const bool classes = loss_defs[i % N_LOSSES].labels == LABELS_CLASS;

        job->model.loss = (enum loss_type)(i % N_LOSSES);
        job->training.early_stop.monitor = metric;
        job->dataset.name = names[i / (N_LOSSES * N_METRICS)];
        job->dataset.distribution.kind = DISTRIBUTION_BY_LABEL;
        CHECK_INT(is_broken(job, monitor, "allowed with mse"),
                  metric != METRIC_PERPLEXITY && !metric_fits(metric, job_labels(job)));
        CHECK_INT(is_broken(job, monitor, "needed with r2"),
                  metric_defs[metric].of_set && job_labels(job) != LABELS_WORDS);
        CHECK_INT(is_broken(job, "spec.model.loss", "needed with mse"),
                  !classes && strcmp(job->dataset.name, "arrays") != 0);
        CHECK_INT(is_broken(job, "spec.dataset.distribution.kind", "allowed there: dealt"),
                  !classes);
    }
    job->dataset.name = name;
}

int main(void)
{
    struct job *job = parse(text, NULL, 0);

    if (job) {
        test_values(job);
        test_end(job);
        test_losses(job);
    }
    job_free(job);
    return test_result();
}
