// LINK: common
/* `--set path=value`: what it takes, what it says, in which order. */
#include "tests/unit/spec_text.h"

static void test_sets(void)
{
    static const char *const sets[] = {
        "training.epochs=2",        "spec.training.optimizer={name: adam}",
        "metadata.name=other",      "training.optimizer.beta1=0.5",
        "model.layers[1].units=12", "replicas.worker.replicas=2",
        "training.epochs=3",
    };
    static const struct {
        const char *set, *message;
    } bad[] = {
        {"training.epochs", "--set training.epochs: found no path=value"},
        {"=3", "--set =3: found no path=value"},
        {"training.lr=1", "--set training.lr=1: spec.training.lr: unknown field"},
        {"training.epochs=-1", "--set training.epochs=-1: spec.training.epochs: found -1; allowed"},
        {"training.epochs=", "spec.training.epochs: found nothing; allowed"},
        {"training.epochs=[", "--set training.epochs=[: value:2: not valid YAML"},
        {"kind.name=3", "--set kind.name=3: found no place for it"},
        {"model.layers[9].units=3", "found no place for it"},
        {"model.layers[x].units=3", "found no place for it"},
        {"model.layers[0]=3", "found no place for it"},
        {"replicas.worker.replicas=33", "--set replicas.worker.replicas=33: "
                                        "spec.replicas.worker.replicas: found 33 workers for 32"},
    };
    static const char text[] =
        HEAD "  model: {layers: [{type: flatten}, {type: dense, units: 3}]}\n"
             "  training: {epochs: 1, optimizer: {name: sgd, momentum: 0}}\n";
    AUTO(auto_job) struct job *job = parse(text, sets, ARRAY_LEN(sets));

    if (job) {
        CHECK_INT(job->training.epochs, 3);
        CHECK_INT(job->training.optimizer.type, OPT_ADAM);
        CHECK_NEAR(job->training.optimizer.beta1, 0.5, 0);
        CHECK_STR(job->name, "other");
        CHECK_INT(job->model.layers[1].units, 12);
        CHECK_INT(job->replicas[ROLE_WORKER].replicas, 2);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct problems problems = {0};

        CHECK(!job_parse(text, sizeof text - 1, "t.yaml", &bad[i].set, 1, &problems));
        CHECK_INT(problems.n, 1);
        CHECK_CONTAINS(problems.n ? problems.items[0] : NULL, bad[i].message);
        problems_release(&problems);
    }
}

/* The file's problems come first, then those of the overrides in their order. */
static void test_sets_order(void)
{
    static const char *const sets[] = {"training.lanes=5", "training.epochs=0", "debug.failNan=3"};
    static const char *const wanted[] = {"t.yaml:6: ", "--set training.lanes=5: ",
                                         "--set training.epochs=0: ", "--set debug.failNan=3: "};
    static const char text[] = MODEL "  training: {seed: -1}\n";
    struct problems problems = {0};

    CHECK(!job_parse(text, sizeof text - 1, "t.yaml", sets, ARRAY_LEN(sets), &problems));
    CHECK_INT(problems.n, ARRAY_LEN(wanted));
    for (size_t i = 0; i < problems.n && i < ARRAY_LEN(wanted); i++)
        CHECK_CONTAINS(problems.items[i], wanted[i]);
    problems_release(&problems);
}

int main(void)
{
    test_sets();
    test_sets_order();
    return test_result();
}
