#include "operator/objects/builtin.h"

#include "operator/objects/agent_pod.h"
#include "operator/objects/cluster_layout.h"
#include "operator/objects/tree.h"
#include "operator/objects/volumes.h"
#include "paceline/json.h"
#include "paceline/mem.h"
#include "paceline/net.h"

#define OUTPUT_FOLDER "/output" /* as agent/main.c has it */
#define OUTPUT_GROUP 65532      /* may write there, whoever the volume belongs to */
#define MIB ((int64_t)1 << 20)
#define SHM_MIB 64
#define MEMORY_MIB 512

/*
 * MiB of /dev/shm: what container runtimes give, and checkpoints in memory: those that are kept,
 * the best, and one that is being written, each of the weights and at most two optimiser slots.
 * Of samples whose shape or classes only their readers know it is a guess; 0: there is none.
 */
static int64_t shared_memory_mib(const struct job *job)
{
    struct net net;
    struct err err;
    int64_t bytes, copied = job->output.volume != NULL; /* one may go while it is copied */

    if (job_network(job, job_published_shape(job), job_published_classes(job), &net, &err) < 0)
        return 0;
    bytes = (job->checkpoint.keep + 2 + copied) * 3 * (int64_t)sizeof(float) * (int64_t)net.params;
    net_release(&net);
    return SHM_MIB + (bytes + MIB - 1) / MIB;
}

/* MiB that samples need beyond their bytes, which MEMORY_MIB has room for: as floats, where they
 * are kept so. 0, too, where nobody knows how many there are. */
static int64_t rows_mib(const struct job *job)
{
    const struct shape s = job_published_shape(job);
    const int64_t values = (int64_t)job_published_samples(job) * s.c * s.h * s.w;

    return job->dataset.row_convert ? 0 : (values * (int64_t)(sizeof(float) - 1) + MIB - 1) / MIB;
}

/* A limit ends a pod that needs more, so there is one only where the need is known. A network with
 * layers of its own has a known number of classes; a built-in one is made for those of the data. */
static bool has_limit(const struct job *job)
{
    const bool shape = job_publishes_shape(job) ||
                       (strcmp(job->dataset.name, "images") == 0 && job->dataset.image_size > 0);

    return shape && (job->model.n_layers > 0 || job_published_classes(job) > 0);
}

static void builtin_add_shared_memory(int64_t mib, bool limit, cJSON *spec, cJSON *container)
{
    AUTO(auto_free) char *size = xasprintf("%lldMi", (long long)mib);
    cJSON *empty;

    if (!volumes_mount(container, "paceline-shm", "/dev/shm", false))
        return;
    empty = tree_object(volumes_get(spec, "paceline-shm"), "emptyDir");
    cJSON_AddStringToObject(empty, "medium", "Memory");
    if (limit && mib)
        cJSON_AddStringToObject(empty, "sizeLimit", size);
}

/* A volume of the job's own: source is a pod volume without its name. Where the template mounts
 * something at this path, too, the API server says so. */
static void add_volume(cJSON *spec, cJSON *container, const char *name, const char *source,
                       const char *path, const char *sub_path, bool read_only)
{
    AUTO(auto_json) cJSON *volume = cJSON_Parse(source);
    cJSON *mount = cJSON_CreateObject();

    tree_merge(volumes_get(spec, name), volume);
    cJSON_AddStringToObject(mount, "name", name);
    cJSON_AddStringToObject(mount, "mountPath", path);
    if (sub_path)
        cJSON_AddStringToObject(mount, "subPath", sub_path);
    if (read_only)
        cJSON_AddTrueToObject(mount, "readOnly");
    cJSON_AddItemToArray(tree_list(container, "volumeMounts"), mount);
}

static void add_job_volumes(const struct job *job, bool first, cJSON *spec, cJSON *container)
{
    if (job->dataset.volume)
        add_volume(spec, container, "paceline-data", job->dataset.volume, job->dataset.path, NULL,
                   true);
    if (!job->output.volume || !first)
        return;
    add_volume(spec, container, "paceline-output", job->output.volume, OUTPUT_FOLDER,
               job->output.sub_path, false);
    tree_default(tree_object(spec, "securityContext"), "fsGroup", cJSON_CreateNumber(OUTPUT_GROUP));
}

void builtin_apply(const struct objects_config *config, const struct tj *tj, bool first,
                   cJSON *spec)
{
    static const char *const args[] = {"serve"};
    int64_t shm = shared_memory_mib(tj->job);
    AUTO(auto_free)
    char *memory =
        xasprintf("%lldMi", (long long)(MEMORY_MIB + rows_mib(tj->job) + (shm ? shm : SHM_MIB)));
    cJSON *containers = tree_list(spec, "containers"), *trainer;

    if (!containers->child)
        cJSON_AddItemToArray(containers, cJSON_CreateObject());
    trainer = containers->child;
    tree_default_text(trainer, "name", "trainer");
    tree_default_text(trainer, "image", config->worker_image);
    tree_default(trainer, "args", cJSON_CreateStringArray(args, ARRAY_LEN(args)));
    agent_pod_request(trainer, "cpu", "1");
    agent_pod_request(trainer, "memory", memory); /* a memory volume counts */
    agent_pod_apply(config, tj, spec, trainer);
    agent_pod_number(trainer, "PACELINE_KEEP_SECONDS", job_keep_seconds(tj->job));
    volumes_mount_empty(spec, trainer, "paceline-tmp", "/tmp");
    builtin_add_shared_memory(shm, has_limit(tj->job), spec, trainer);
    add_job_volumes(tj->job, first, spec, trainer);
}
