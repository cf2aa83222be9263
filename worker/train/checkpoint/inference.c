#include "worker/train/checkpoint/inference.h"

#include "worker/train/checkpoint/checkpoint.h"

static int inference_thread_count(const struct job *job)
{
    const int wanted = (int)job->training.threads;

    return wanted ? wanted : threads_available_cpus();
}

int inference_init(struct trainer *t, const struct job *job, struct comm *comm,
                   const struct kernels *kernels, struct shape in, int classes, uint32_t samples,
                   const char *checkpoint, struct err *err)
{
    struct model_config config = {.kernels = kernels,
                                  .max_samples = samples,
                                  .batch = samples,
                                  .bf16 = job->training.precision == PRECISION_BF16};

    *t = (struct trainer){.job = job, .comm = comm, .kernels = kernels, .mirror = -1};
    t->threads = config.threads = threads_new(inference_thread_count(job));
    if (job_network(job, in, classes, &t->net, err) != 0)
        return -1;
    model_init(&t->model, &t->net, &config);
    normalizer_init(&t->normalizer, job, in);
    return checkpoint_load_model(t, checkpoint, err);
}

const float *inference_forward(struct trainer *t, const float *x, uint32_t n, bool begins)
{
    t->pass.n = n;
    t->pass.begins = begins;
    t->pass.training = false;
    return model_forward(&t->model, &t->pass, x);
}

size_t inference_row(const struct trainer *t)
{
    const struct model *m = &t->model;

    return m->layers[m->n_layers - 1].out_floats / (size_t)m->positions;
}
