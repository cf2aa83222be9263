#include "common/spec_table.h"

#include "paceline/mem.h"

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define AT(type, member) .offset = offsetof(type, member), .size = sizeof(((type *)0)->member)
#define JOB(member) AT(struct job, member)
#define JOB_LIST(member, n_member) JOB(member), .n_offset = offsetof(struct job, n_member)
#define CHANGE(member) JOB(strategy.change.member)
#define LAYER(member) AT(struct layer_spec, member)
#define RANGE(low, high) .min = (low), .max = (high)
#define EXACT_INTEGERS 9007199254740991.0 /* 2^53 - 1: what JSON carries without loss */
#define MOST 1e300
#define LABEL                                                                                   \
    .pattern = "^[a-z]([-a-z0-9]{0,48}[a-z0-9])?$",                                             \
    .pattern_text = "1 to 50 lower-case letters, digits and '-', from a letter to a letter or " \
                    "digit"
#define LAYER_NAME                              \
    .pattern = "^[A-Za-z][A-Za-z0-9_-]{0,49}$", \
    .pattern_text = "1 to 50 letters, digits, '_' and '-', from a letter"
#define LABEL_VALUE                                               \
    .pattern = "^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$", \
    .pattern_text = "1 to 63 letters, digits, '-', '_' and '.', from a letter or digit to one"
#define RESTART_DOC                                                                            \
    "What follows when a process fails. Never: the job fails; OnFailure, Always: the kubelet " \
    "restarts the container; ExitCode: codes from 128 restart the pod, others fail the job. "  \
    "Jobs with spec.model or spec.mpi ignore it."
#define ROLE_RESTART(key, role)                                                              \
    {                                                                                        \
        "spec.replicas." key ".restartPolicy", FIELD_ENUM, JOB(replicas[role].restart),      \
            .names = NAMES("Never", "OnFailure", "Always", "ExitCode"), .default_ = "Never", \
            .fixed = true, .doc = RESTART_DOC                                                \
    }
#define TEMPLATE_DOC                                                                            \
    "The pod template. A job without spec.model needs one with a container for each role that " \
    "has replicas; one machine does not use it."
#define ROLE_TEMPLATE(key, role)                                                       \
    {                                                                                  \
        "spec.replicas." key ".template", FIELD_OPAQUE, JOB(replicas[role].template_), \
            .fixed = true, .doc = TEMPLATE_DOC                                         \
    }
/* Of a pod's volumes those that outlive it; data may come with the others, too. */
#define STORAGE                                                                                  \
    "persistentVolumeClaim", "hostPath", "nfs", "csi", "azureFile", "cephfs", "iscsi", "fc",     \
        "rbd", "cinder", "glusterfs", "portworxVolume", "vsphereVolume", "awsElasticBlockStore", \
        "gcePersistentDisk", "azureDisk", "flexVolume"

const struct field spec_fields[] = {
    {"apiVersion", FIELD_STRING, .names = NAMES("paceline.dev/v1"), .required = true,
     .doc = "The group and version of this kind of object."},
    {"kind", FIELD_STRING, .names = NAMES("TrainingJob"), .required = true,
     .doc = "The kind of this object."},
    {"metadata", FIELD_OBJECT, .required = true, .doc = "Name and labels, as Kubernetes has them."},
    {"metadata.name", FIELD_STRING, JOB(name), LABEL, .required = true,
     .doc = "The job's name; folders, pods and reports are named after it."},
    {"metadata.namespace", FIELD_STRING, JOB(namespace_), .default_ = "default",
     .pattern = "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$",
     .pattern_text = "1 to 63 lower-case letters, digits and '-', not at the ends",
     .doc = "The Kubernetes namespace; one machine has no use for it."},
    {"metadata.labels", FIELD_MAP, JOB(labels), .doc = "Labels to select the job by."},
    {"metadata.annotations", FIELD_MAP, JOB(annotations), .doc = "Notes of tools and people."},
    {"metadata.uid", FIELD_IGNORED, .doc = "Written by the API server; not read."},
    {"metadata.resourceVersion", FIELD_IGNORED, .doc = "Written by the API server; not read."},
    {"metadata.generation", FIELD_IGNORED, .doc = "Written by the API server; not read."},
    {"metadata.creationTimestamp", FIELD_IGNORED, .doc = "Written by the API server; not read."},
    {"metadata.managedFields", FIELD_IGNORED, .doc = "Written by the API server; not read."},
    {"metadata.ownerReferences", FIELD_IGNORED, .doc = "Written by controllers; not read."},
    {"metadata.finalizers", FIELD_IGNORED, .doc = "Written by controllers; not read."},
    {"status", FIELD_IGNORED, .doc = "Written by the operator; not read."},
    {"spec", FIELD_OBJECT, .required = true, .doc = "What to train, on what, and how."},

    {"spec.model", FIELD_OBJECT, .fixed = true,
     .doc = "The network: a built-in one by name, or layers. With it the built-in "
            "engine trains; without it the templates of spec.replicas say what runs."},
    {"spec.model.name", FIELD_STRING, JOB(model.name),
     .names = NAMES("fashion-cnn", "mnist-cnn", "mlp", "resnet20", "resnet50", "resnet56",
                    "resnet56v2", "densenet40", "resnet34", "resnet34-zerofill", "squeezenet",
                    "googlenet", "vgg16e", "ptb-small", "ptb-medium", "ptb-large"),
     .doc = "A built-in network; `paceline models` lists them."},
    {"spec.model.hidden", FIELD_INTS, JOB_LIST(model.hidden, model.n_hidden), RANGE(1, 1 << 20),
     .max_items = 8, .doc = "Units of each hidden layer of the mlp."},
    {"spec.model.layers", FIELD_LAYERS, .offset = offsetof(struct job, model.layers),
     .size = sizeof(void *), .n_offset = offsetof(struct job, model.n_layers), .max_items = 256,
     .doc = "An inline network: each layer takes what the one before it gives; the last one "
            "gives a score per class."},
    {"spec.model.layers[].type", FIELD_ENUM, LAYER(type), .names = layer_type_names,
     .required = true, .doc = "What the layer computes."},
    {"spec.model.layers[].name", FIELD_STRING, LAYER(name), LAYER_NAME,
     .doc = "Unique; by default the type and its number: conv1, conv2, dense1."},
    {"spec.model.layers[].inputs", FIELD_STRINGS, LAYER(inputs),
     .n_offset = offsetof(struct layer_spec, n_inputs), .max_items = NET_INPUTS_MAX, LAYER_NAME,
     .doc = "Names of the layers before it whose outputs it takes, `" NET_INPUT
            "` being the samples; by default the layer before it. add and concat take several."},
    {"spec.model.layers[].filters", FIELD_INT, LAYER(units), RANGE(1, 1 << 20), .required = true,
     .doc = "Output channels of a convolution; padchannels adds channels of zeros up to so many."},
    {"spec.model.layers[].units", FIELD_INT, LAYER(units), RANGE(1, 1 << 20), .required = true,
     .doc = "Outputs of a dense layer, embedding or lstm."},
    {"spec.model.layers[].kernel", FIELD_PAIR, LAYER(kernel), RANGE(1, 4096), .required = true,
     .doc = "Rows and columns of the window."},
    {"spec.model.layers[].stride", FIELD_PAIR, LAYER(stride), RANGE(1, 4096),
     .doc = "Steps of the window; by default 1 for a convolution, the kernel for a pool."},
    {"spec.model.layers[].padding", FIELD_ENUM, LAYER(padding), .names = NAMES("valid", "same"),
     .doc = "valid: windows lie inside the image; same: stride 1 keeps its size."},
    {"spec.model.layers[].rate", FIELD_FLOAT, LAYER(rate), RANGE(0, 1), .below_max = true,
     .required = true, .doc = "Share of the values that dropout sets to zero in training."},
    {"spec.model.layers[].initializer", FIELD_ENUM, LAYER(initializer),
     .names = NAMES("glorot", "he", "zero", "uniform"),
     .doc = "Distribution of the initial weights."},
    {"spec.model.layers[].range", FIELD_FLOAT, LAYER(range), RANGE(0, 1e6),
     .doc = "uniform: initial weights are from -range to range."},
    {"spec.model.layers[].forgetBias", FIELD_FLOAT, LAYER(forget_bias), RANGE(-100, 100),
     .doc = "What the biases of an lstm's forget gates begin with; the others begin with 0."},
    {"spec.model.layers[].vocabulary", FIELD_INT, LAYER(vocabulary), RANGE(1, 1 << 20),
     .required = true, .doc = "Words that an embedding knows; at least those of the data."},
    {"spec.model.layers[].bias", FIELD_BOOL, LAYER(bias), .doc = "Adds a trained bias per output."},
    {"spec.model.layers[].frozen", FIELD_BOOL, LAYER(frozen),
     .doc = "Keeps the layer's parameters as they are."},
    {"spec.model.layers[].epsilon", FIELD_FLOAT, LAYER(epsilon), RANGE(0, 1), .above_min = true,
     .doc = "batchnorm: added to the variance."},
    {"spec.model.layers[].momentum", FIELD_FLOAT, LAYER(momentum), RANGE(0, 1),
     .doc = "batchnorm: the share of a step's statistics in the running ones (Keras: 1 minus its "
            "momentum)."},
    {"spec.model.layers[].unbiased", FIELD_BOOL, LAYER(unbiased),
     .doc = "batchnorm: running variances divide by n-1 (PyTorch), else by n (Keras)."},
    {"spec.model.layers[].group", FIELD_INT, LAYER(group), RANGE(1, 1 << 20),
     .doc = "batchnorm: so many samples of a lane at least are normalised together; by default "
            "lanes have "
            "as many."},
    {"spec.model.layers[].size", FIELD_INT, LAYER(size), RANGE(1, LRN_MAX),
     .doc = "lrn: so many neighbouring channels are summed, an odd number."},
    {"spec.model.layers[].alpha", FIELD_FLOAT, LAYER(alpha), RANGE(0, 1e6),
     .doc = "lrn: the weight of the sum of squares (PyTorch, Caffe: theirs divided by size)."},
    {"spec.model.layers[].beta", FIELD_FLOAT, LAYER(beta), RANGE(0, 16), .doc = "lrn: the power."},
    {"spec.model.layers[].k", FIELD_FLOAT, LAYER(k), RANGE(0, 1e6), .above_min = true,
     .doc = "lrn: added to the weighted sum."},
    {"spec.model.layers[].lossWeight", FIELD_FLOAT, LAYER(loss_weight), RANGE(0, 1e6),
     .default_ = "0",
     .doc = "Above 0 an output that no layer takes is scored: so many times its loss is added in "
            "training."},
    {"spec.model.loss", FIELD_ENUM, JOB(model.loss),
     .names = NAMES("softmaxCrossEntropy", "squaredError"), .default_ = "softmaxCrossEntropy",
     .doc = "What training minimises; softmax is part of the loss, not a layer."},
    {"spec.model.initialWeights", FIELD_STRING, JOB(model.initial_weights),
     .doc = "A safetensors file to start from instead of random weights."},

    {"spec.dataset", FIELD_OBJECT, .fixed = true, .doc = "The samples and how they are prepared."},
    {"spec.dataset.name", FIELD_STRING, JOB(dataset.name),
     .names = NAMES("fashion-mnist", "mnist", "cifar10", "cifar100", "idx", "images", "text",
                    "patterns", "spectra", "scenes"),
     .default_ = "fashion-mnist",
     .doc = "A built-in set; idx: any folder of IDX files; images: folders of JPEG and PNG files; "
            "text: words in train.txt, valid.txt and test.txt; synthetic: made by the engine "
            "(docs/data.md)."},
    {"spec.dataset.path", FIELD_STRING, JOB(dataset.path),
     .doc = "Folder of the files; by default where the built-in set is installed."},
    {"spec.dataset.volume", FIELD_OPAQUE, JOB(dataset.volume),
     .names = NAMES(STORAGE, "image", "configMap"),
     .doc = "On a cluster: the volume that has the files, as a pod's volume but without a name. It "
            "is mounted read-only at path. One machine reads path as it is."},
    {"spec.dataset.validationSplit", FIELD_FLOAT, JOB(dataset.validation_split), RANGE(0, 1),
     .below_max = true, .doc = "Share of the training samples kept back to validate with."},
    {"spec.dataset.normalizeBy", FIELD_ENUM, JOB(dataset.normalize_by),
     .names = NAMES("given", "channel", "pixel"), .default_ = "given",
     .doc = "given: by normalize. Else by the training set, exactly, and kept in checkpoints: "
            "channel: mean and deviation of each channel; pixel: the mean of each pixel."},
    {"spec.dataset.imageSize", FIELD_INT, JOB(dataset.image_size), RANGE(0, 4096),
     .doc = "images: height and width that all are brought to; 0: all have those of the first."},
    {"spec.dataset.draft", FIELD_BOOL, JOB(dataset.draft),
     .doc = "images: decodes JPEGs at 1/2, 1/4 or 1/8 where that is at least imageSize: faster, "
            "other pixels."},
    {"spec.dataset.color", FIELD_ENUM, JOB(dataset.color), .names = NAMES("auto", "gray", "rgb"),
     .doc = "images: what all become; auto: what the first one is."},
    {"spec.dataset.maxDamaged", FIELD_FLOAT, JOB(dataset.max_damaged), RANGE(0, 1),
     .doc = "images: share that may be damaged and is left out; with more the job fails."},
    {"spec.dataset.cachePath", FIELD_STRING, JOB(dataset.cache_path),
     .doc = "images: folder for a packed copy, which later starts map instead of decoding."},
    {"spec.dataset.testSplit", FIELD_FLOAT, JOB(dataset.test_split), RANGE(0, 1), .below_max = true,
     .doc = "images without a test folder: share of each class kept back to test with."},
    {"spec.dataset.made", FIELD_OBJECT, .doc = "What the engine makes (docs/data.md)."},
    {"spec.dataset.made.samples", FIELD_INT, JOB(dataset.samples), RANGE(1, 1 << 24),
     .default_ = "10000", .doc = "To train with; a fifth as many are made to test with."},
    {"spec.dataset.made.classes", FIELD_INT, JOB(dataset.classes), RANGE(2, 1024), .default_ = "10",
     .doc = "Classes."},
    {"spec.dataset.made.size", FIELD_INT, JOB(dataset.size), RANGE(0, 4096), .default_ = "0",
     .doc = "Bins of a spectrum, height and width of the others; 0: 1800, 28, 16."},
    {"spec.dataset.made.noise", FIELD_FLOAT, JOB(dataset.noise), RANGE(0, 1), .default_ = "0.1",
     .doc = "Its deviation, where the largest pixel is 1."},
    {"spec.dataset.normalize", FIELD_OBJECT, .doc = "A pixel x in 0..1 becomes (x - mean) / std."},
    {"spec.dataset.normalize.mean", FIELD_FLOAT, JOB(dataset.mean), RANGE(-1e6, 1e6),
     .doc = "Subtracted from each pixel."},
    {"spec.dataset.normalize.std", FIELD_FLOAT, JOB(dataset.std), RANGE(0, 1e6), .above_min = true,
     .doc = "Divides each pixel."},
    {"spec.dataset.augment", FIELD_OBJECT,
     .doc = "Training samples differ from epoch to epoch, by the seed."},
    {"spec.dataset.augment.flip", FIELD_BOOL, JOB(dataset.flip), .default_ = "false",
     .doc = "Mirrors half of them left to right."},
    {"spec.dataset.augment.pad", FIELD_INT, JOB(dataset.pad), RANGE(0, 64), .default_ = "0",
     .doc = "Cuts each at a random place from itself with a black border of so many pixels."},
    {"spec.dataset.distribution", FIELD_OBJECT,
     .doc = "Which samples a worker has, where workers train on batches of their own."},
    {"spec.dataset.distribution.kind", FIELD_ENUM, JOB(dataset.distribution.kind),
     .names = NAMES("dealt", "iid", "contiguous", "byLabel", "dirichlet", "replicated"),
     .default_ = "dealt",
     .doc = "dealt: each epoch's batches go round. Else each worker has a share: drawn, a piece of "
            "the set, of the set sorted by label, or with a mix of labels of its own; or "
            "everything."},
    {"spec.dataset.distribution.alpha", FIELD_FLOAT, JOB(dataset.distribution.alpha), RANGE(0, 1e6),
     .above_min = true,
     .doc = "The smaller, the fewer labels a worker has most of its samples from."},
    {"spec.dataset.distribution.sizes", FIELD_INTS,
     JOB_LIST(dataset.distribution.sizes, dataset.distribution.n_sizes), RANGE(1, 1000000),
     .max_items = 64,
     .doc = "Sizes of the shares of workers 0, 1, ..., relative to each other, and again from the "
            "first; absent: equal."},
    {"spec.dataset.distribution.reshuffleEveryEpochs", FIELD_INT, JOB(dataset.distribution.every),
     RANGE(0, 1000000), .doc = "Draws the shares anew every so many epochs; 0: never."},
    {"spec.dataset.staging", FIELD_ENUM, JOB(dataset.staging),
     .names = NAMES("materialize", "stream"), .default_ = "materialize",
     .doc = "materialize: all samples are read and decoded before the first step; stream: an image "
            "when a batch has it."},
    {"spec.dataset.cache", FIELD_BOOL, JOB(dataset.cache),
     .doc = "Keeps what was decoded; false: each image is decoded for each batch that has it."},
    {"spec.dataset.prefetch", FIELD_INT, JOB(dataset.prefetch), RANGE(0, 64), .default_ = "2",
     .doc = "Batches that a thread prepares ahead; 0: each is prepared in its step."},
    {"spec.dataset.shuffle", FIELD_BOOL, JOB(dataset.shuffle),
     .doc = "A new order each epoch, from the seed and the epoch alone."},
    {"spec.dataset.limit", FIELD_INT, JOB(dataset.limit), RANGE(0, EXACT_INTEGERS), .default_ = "0",
     .doc = "Uses only the first training samples; 0: all."},

    {"spec.dataset.steps", FIELD_INT, JOB(dataset.steps), RANGE(1, 4096),
     .doc = "Words of a sample: one of batchSize rows that each go on in the next batch."},
    {"spec.dataset.vocabulary", FIELD_INT, JOB(dataset.vocabulary), RANGE(2, 1 << 20),
     .doc = "The most words that are told apart; rarer ones become <unk>."},

    {"spec.training", FIELD_OBJECT, .fixed = true, .doc = "How the weights are trained."},
    {"spec.training.epochs", FIELD_INT, JOB(training.epochs), RANGE(1, 1000000), .default_ = "5",
     .doc = "Passes over the training samples."},
    {"spec.training.steps", FIELD_INT, JOB(training.steps), RANGE(0, EXACT_INTEGERS),
     .default_ = "0",
     .doc = "Stops after so many updates, whatever epochs says; 0: epochs decide."},
    {"spec.training.batchSize", FIELD_INT, JOB(training.batch_size), RANGE(1, 1 << 20),
     .default_ = "128", .doc = "Samples of a batch; one update sees training.accumulate batches."},
    {"spec.training.accumulate", FIELD_INT, JOB(training.accumulate), RANGE(1, 1024),
     .default_ = "1",
     .doc = "Batches of one update, whose mean gradient it is made of. strategy.batch says how "
            "workers share them; the weights do not depend on it."},
    {"spec.training.lanes", FIELD_INT, JOB(training.lanes), RANGE(0, 1024), .default_ = "0",
     .doc = "Parts that a batch's sums are made of, a power of two; 0: the largest one that is at "
            "most batchSize/4 and 64. More workers than lanes are not allowed."},
    {"spec.training.lastBatch", FIELD_ENUM, JOB(training.last_batch),
     .names = NAMES("keep", "drop"), .default_ = "keep",
     .doc = "What becomes of an epoch's last, smaller batch."},
    {"spec.training.seed", FIELD_INT, JOB(training.seed), RANGE(0, EXACT_INTEGERS), .default_ = "1",
     .doc = "Fixes initial weights, order of samples and dropout."},
    {"spec.training.threads", FIELD_INT, JOB(training.threads), RANGE(0, 1024), .default_ = "0",
     .doc = "Threads per worker; 0: what the CPU quota allows."},
    {"spec.training.pinThreads", FIELD_BOOL, JOB(training.pin_threads), .default_ = "false",
     .doc =
         "Keeps each computing thread on a CPU of its own, where the job has its CPUs to itself."},
    {"spec.training.profile", FIELD_INTS, JOB_LIST(training.profile, training.n_profile),
     RANGE(1, 1000000), .max_items = 16,
     .doc = "Epochs, from 1, of which an event says what each layer took."},
    {"spec.training.l2", FIELD_FLOAT, JOB(training.l2), RANGE(0, 1e6), .default_ = "0",
     .doc = "Adds l2/2 times the sum of squared weights (not biases) to the loss; reported apart."},
    {"spec.training.clipNorm", FIELD_FLOAT, JOB(training.clip_norm), RANGE(0, MOST),
     .default_ = "0", .doc = "Scales a gradient with a larger norm down to it; 0: off."},
    {"spec.training.optimizer", FIELD_OBJECT, .doc = "How a gradient becomes an update."},
    {"spec.training.optimizer.name", FIELD_ENUM, JOB(training.optimizer.type),
     .names = NAMES("sgd", "adam", "adamw", "adagrad", "adadelta", "rmsprop"), .default_ = "sgd",
     .doc = "The optimiser."},
    {"spec.training.optimizer.learningRate", FIELD_FLOAT, JOB(training.optimizer.learning_rate),
     RANGE(0, 1e6), .doc = "Size of an update; the schedule multiplies it."},
    {"spec.training.optimizer.momentum", FIELD_FLOAT, JOB(training.optimizer.momentum), RANGE(0, 1),
     .below_max = true, .doc = "Share of the last update that the next one keeps."},
    {"spec.training.optimizer.dampening", FIELD_FLOAT, JOB(training.optimizer.dampening),
     RANGE(0, 1), .doc = "Share of the gradient that momentum leaves out."},
    {"spec.training.optimizer.nesterov", FIELD_BOOL, JOB(training.optimizer.nesterov),
     .doc = "Nesterov's form of momentum."},
    {"spec.training.optimizer.beta1", FIELD_FLOAT, JOB(training.optimizer.beta1), RANGE(0, 1),
     .below_max = true, .doc = "Decay of the mean gradient."},
    {"spec.training.optimizer.beta2", FIELD_FLOAT, JOB(training.optimizer.beta2), RANGE(0, 1),
     .below_max = true, .doc = "Decay of the mean squared gradient."},
    {"spec.training.optimizer.rho", FIELD_FLOAT, JOB(training.optimizer.rho), RANGE(0, 1),
     .below_max = true, .doc = "Decay of the mean squares."},
    {"spec.training.optimizer.epsilon", FIELD_FLOAT, JOB(training.optimizer.epsilon), RANGE(0, 1),
     .above_min = true, .doc = "Keeps divisions away from zero."},
    {"spec.training.optimizer.epsilonInside", FIELD_BOOL, JOB(training.optimizer.epsilon_inside),
     .doc = "Adds epsilon under the root instead of beside it."},
    {"spec.training.optimizer.epsilonHat", FIELD_BOOL, JOB(training.optimizer.epsilon_hat),
     .doc = "Adds epsilon before the bias correction, as Keras does."},
    {"spec.training.optimizer.rateInVelocity", FIELD_BOOL, JOB(training.optimizer.rate_in_velocity),
     .doc = "Momentum remembers updates, learning rate included, as in Keras."},
    {"spec.training.optimizer.centered", FIELD_BOOL, JOB(training.optimizer.centered),
     .doc = "Divides by the variance of the gradient instead of its mean square."},
    {"spec.training.optimizer.initialAccumulator", FIELD_FLOAT,
     JOB(training.optimizer.initial_accumulator), RANGE(0, 1e6),
     .doc = "Where the sum of squared gradients starts (PyTorch 0, Keras 0.1)."},
    {"spec.training.optimizer.weightDecay", FIELD_FLOAT, JOB(training.optimizer.weight_decay),
     RANGE(0, 1e6), .doc = "Decoupled decay of the weights; other optimisers use training.l2."},
    {"spec.training.optimizer.sharded", FIELD_BOOL, JOB(training.optimizer.sharded),
     .doc = "Each worker updates a share of the weights, and has the optimiser's state of that "
            "share alone. Absent: where it can be."},
    {"spec.training.learningRateSchedule", FIELD_OBJECT,
     .doc = "How the learning rate changes, counted in epochs of the whole job."},
    {"spec.training.learningRateSchedule.type", FIELD_ENUM, JOB(training.schedule.type),
     .names = NAMES("constant", "piecewise", "cosine", "exponential"), .default_ = "constant",
     .doc = "The shape of the curve."},
    {"spec.training.learningRateSchedule.boundaries", FIELD_FLOATS,
     JOB_LIST(training.schedule.boundaries, training.schedule.n_boundaries), RANGE(0, 1e6),
     .max_items = 64, .required = true, .doc = "Epochs at which the next value begins."},
    {"spec.training.learningRateSchedule.values", FIELD_FLOATS,
     JOB_LIST(training.schedule.values, training.schedule.n_values), RANGE(0, 1e6), .max_items = 65,
     .required = true, .doc = "Multiples of learningRate, one more than there are boundaries."},
    {"spec.training.learningRateSchedule.decayRate", FIELD_FLOAT, JOB(training.schedule.decay_rate),
     RANGE(0, 1), .above_min = true, .doc = "Factor per decayEpochs."},
    {"spec.training.learningRateSchedule.decayEpochs", FIELD_FLOAT,
     JOB(training.schedule.decay_epochs), RANGE(0, 1e6), .above_min = true,
     .doc = "Epochs after which decayRate has been applied once."},
    {"spec.training.learningRateSchedule.minFactor", FIELD_FLOAT, JOB(training.schedule.min_factor),
     RANGE(0, 1), .doc = "The last multiple of learningRate."},
    {"spec.training.learningRateSchedule.warmupEpochs", FIELD_FLOAT,
     JOB(training.schedule.warmup_epochs), RANGE(0, 1e6), .default_ = "0",
     .doc = "Epochs of linear growth before the curve; 0: none."},
    {"spec.training.learningRateSchedule.warmupFrom", FIELD_FLOAT,
     JOB(training.schedule.warmup_from), RANGE(0, 1), .default_ = "0",
     .doc = "The multiple of learningRate that warm-up begins with."},

    {"spec.checkpoint", FIELD_OBJECT, .fixed = true, .doc = "When the training's state is saved."},
    {"spec.checkpoint.everyEpochs", FIELD_INT, JOB(checkpoint.every_epochs), RANGE(0, 1000000),
     .default_ = "1", .doc = "Saves after every so many epochs; 0: off."},
    {"spec.checkpoint.everySteps", FIELD_INT, JOB(checkpoint.every_steps), RANGE(0, EXACT_INTEGERS),
     .default_ = "0", .doc = "Saves after every so many updates; 0: off."},
    {"spec.checkpoint.everySeconds", FIELD_INT, JOB(checkpoint.every_seconds), RANGE(0, 31536000),
     .default_ = "0", .doc = "Saves after every so many seconds; 0: off."},
    {"spec.checkpoint.keep", FIELD_INT, JOB(checkpoint.keep), RANGE(0, 10000), .default_ = "1",
     .doc = "How many checkpoints stay besides the best and the last."},
    {"spec.checkpoint.best", FIELD_BOOL, JOB(checkpoint.best), .default_ = "true",
     .doc = "Keeps the one with the best accuracy on the validation (else the test) samples."},

    {"spec.output", FIELD_OBJECT, .fixed = true,
     .doc = "Where checkpoints and the model go on a cluster; one machine has its run folder."},
    {"spec.output.volume", FIELD_OPAQUE, JOB(output.volume), .names = NAMES(STORAGE),
     .doc =
         "A volume that outlives the pods, as a pod's volume but without a name. Worker 0 writes "
         "the checkpoints that spec.checkpoint asks for into the folder named after the job, "
         "resumes from there, and leaves job.json and the model. Absent: they are in the pods' "
         "memory only."},
    {"spec.output.subPath", FIELD_STRING, JOB(output.sub_path), RANGE(1, 1024),
     .doc = "The folder of the volume to mount; absent: its root."},
    {"spec.output.keepSeconds", FIELD_INT, JOB(output.keep_seconds), RANGE(0, 31536000),
     .doc = "How long worker 0's pod stays after the training, for who fetches the model from its "
            "memory; absent: 86400 without a volume, 0 with one."},

    {"spec.strategy", FIELD_OBJECT, .fixed = true, .doc = "How the workers share the work."},
    {"spec.strategy.type", FIELD_ENUM, JOB(strategy.type),
     .names = NAMES("AllReduce", "ParameterServer", "LocalSGD", "ElasticAveraging", "ModelParallel",
                    "StrategySwitch"),
     .default_ = "AllReduce",
     .doc =
         "AllReduce: gradients are summed, and every worker makes the same update. "
         "ParameterServer: servers keep the weights and update them; they are the processes of "
         "replicas.ps, or, where there are none, the workers, each with a share. LocalSGD: each "
         "worker makes updates of its own, by whole batches in turn; now and then all take the "
         "mean of their weights. ElasticAveraging: the same, but then they and a centre, which is "
         "the model, pull at each other. With both a step is one update of one worker. "
         "ModelParallel: each worker has some of the layers. "
         "StrategySwitch: AllReduce, and from some epoch on asynchronous servers, or the reverse."},
    {"spec.strategy.batch", FIELD_ENUM, JOB(strategy.batch), .names = NAMES("split", "join"),
     .default_ = "split",
     .doc = "split: the workers share each batch; join: they share the training.accumulate batches "
            "of an update, each computing whole ones."},
    {"spec.strategy.placement", FIELD_ENUM, JOB(strategy.placement),
     .names = NAMES("balanced", "greedy"),
     .doc =
         "Which server keeps what. balanced: stripes of each tensor on all of them; greedy: whole "
         "tensors, each to the server that has the least so far."},
    {"spec.strategy.mode", FIELD_ENUM, JOB(strategy.mode),
     .names = NAMES("sync", "async", "bounded"),
     .doc =
         "sync: an update has the gradients of all workers, and the bytes of one worker's run. "
         "async (Downpour): each gradient is an update when it arrives, of weights that others may "
         "have changed since. bounded (SSP): async, but no worker begins a batch while it is more "
         "than staleness batches ahead of the slowest."},
    {"spec.strategy.backupWorkers", FIELD_INT, JOB(strategy.backup_workers), RANGE(0, 1023),
     .doc =
         "With sync, servers and batch join: so many more gradients of an update than accumulate "
         "are begun, and the last ones dropped, so slow workers hold up nobody; 0: none."},
    {"spec.strategy.staleness", FIELD_INT, JOB(strategy.staleness), RANGE(0, 1000000),
     .doc = "How many batches a worker may be ahead of the slowest."},
    {"spec.strategy.maxStaleness", FIELD_INT, JOB(strategy.max_staleness), RANGE(0, 1000000),
     .doc = "How many the fastest may, where waiting later is predicted to cost less (DSSP); 0: no "
            "more than staleness."},
    {"spec.strategy.groups", FIELD_INT, JOB(strategy.groups), RANGE(0, 1023),
     .doc = "Groups of as many workers each, in their order, that share each batch and push one "
            "gradient: synchronous inside, asynchronous outside; 0: each worker for itself."},
    {"spec.strategy.divideLearningRate", FIELD_BOOL, JOB(strategy.divide_rate),
     .doc = "Divides the learning rate by the number of workers, or of groups."},
    {"spec.strategy.waitSeconds", FIELD_INT, JOB(strategy.wait_seconds), RANGE(1, 86400),
     .doc = "How long a worker or a server waits for a message of another before the run fails."},
    {"spec.strategy.averageEvery", FIELD_INT, JOB(strategy.average_every), RANGE(1, 1000000),
     .doc = "Updates of each worker between two meetings; they also meet at an epoch's end and at "
            "checkpoint.everySteps."},
    {"spec.strategy.elasticForce", FIELD_FLOAT, JOB(strategy.elastic_force), RANGE(0, 1),
     .doc = "Share of a worker's distance from the centre that it gives up at a meeting, and that "
            "the centre comes nearer; at most 1 / workers; 0: 0.9 / workers."},
    {"spec.strategy.localFrom", FIELD_INT, JOB(strategy.local_from), RANGE(0, 1000000),
     .doc = "The epoch, from 0, that averageEvery begins with; before it workers meet after each "
            "update (post-local SGD)."},
    {"spec.strategy.microBatches", FIELD_INT, JOB(strategy.micro_batches), RANGE(1, 1024),
     .doc = "Parts of a batch that follow each other through the workers, a power of two."},
    {"spec.strategy.layerPlacement", FIELD_INTS,
     JOB_LIST(strategy.layer_placement, strategy.n_layer_placement), RANGE(0, 1023),
     .max_items = 256,
     .doc = "The worker of each layer of the network; absent: as `paceline split` prints it."},
    {"spec.strategy.switch", FIELD_OBJECT, .required = true,
     .doc = "When and how one strategy follows the other, behind an epoch."},
    {"spec.strategy.switch.order", FIELD_ENUM, CHANGE(order),
     .names = NAMES("AllReduceFirst", "ServersFirst"), .default_ = "AllReduceFirst",
     .doc = "Which strategy begins."},
    {"spec.strategy.switch.when", FIELD_ENUM, CHANGE(when),
     .names = NAMES("fraction", "epoch", "plateau"), .required = true,
     .doc = "fraction, epoch: then. plateau: when the mean losses of the last window epochs differ "
            "by at most threshold from one to the next, on average, relatively; at the latest at "
            "fraction."},
    {"spec.strategy.switch.fraction", FIELD_FLOAT, CHANGE(fraction), RANGE(0, 1), .above_min = true,
     .below_max = true, .required = true,
     .doc = "Share of the epochs before the switch, rounded to a whole one."},
    {"spec.strategy.switch.epoch", FIELD_INT, CHANGE(epoch), RANGE(1, 1000000), .required = true,
     .doc = "Epochs before the switch."},
    {"spec.strategy.switch.window", FIELD_INT, CHANGE(window), RANGE(2, 16),
     .doc = "Losses that are looked at."},
    {"spec.strategy.switch.threshold", FIELD_FLOAT, CHANGE(threshold), RANGE(0, 1),
     .doc = "The change of the loss that counts as none."},
    {"spec.strategy.switch.momentum", FIELD_ENUM, CHANGE(momentum),
     .names = NAMES("keep", "reset", "scale", "ramp"), .default_ = "keep",
     .doc =
         "What becomes of the optimiser's momentum. reset, scale: its buffer becomes zero, or is "
         "multiplied by factor; ramp: optimizer.momentum begins with factor times its value and "
         "grows by the epoch."},
    {"spec.strategy.switch.factor", FIELD_FLOAT, CHANGE(factor), RANGE(0, 1), .required = true,
     .doc = "Of scale and ramp."},
    {"spec.strategy.switch.rampEpochs", FIELD_INT, CHANGE(ramp_epochs), RANGE(1, 1000000),
     .doc = "Epochs until the momentum has its value again."},
    {"spec.strategy.switch.how", FIELD_ENUM, CHANGE(how), .names = NAMES("inPlace", "relaunch"),
     .default_ = "inPlace",
     .doc =
         "inPlace: the running processes change roles; relaunch: the run ends with a checkpoint, "
         "and the next one goes on from it in the other strategy."},
    {"spec.strategy.transferSemaphore", FIELD_BOOL, JOB(strategy.transfer_semaphore),
     .doc = "Each server sends weights to one worker and takes a gradient from one worker at a "
            "time, in the order that they ask."},
    {"spec.strategy.algorithm", FIELD_ENUM, JOB(strategy.algorithm),
     .names = NAMES("tree", "ring", "mpi", "recursiveDoubling", "naive"),
     .doc = "tree, recursiveDoubling (few, whole messages: for small models), naive (everybody to "
            "everybody): same bytes on any number of workers; ring: same bytes on every run at "
            "one number of workers; mpi: MPI_Allreduce, all replicas equal."},
    {"spec.strategy.schedule", FIELD_ENUM, JOB(strategy.schedule),
     .names = NAMES("overlap", "end", "oneAtATime", "allAtOnce"), .default_ = "overlap",
     .doc = "overlap: gradients are sent while earlier layers still compute; end: after them. "
            "With sync, servers and batch join, for studies: whole gradients and weights, "
            "oneAtATime: of one worker after another; allAtOnce: of all together."},
    {"spec.strategy.wire", FIELD_ENUM, JOB(strategy.wire), .names = NAMES("fp32", "bf16"),
     .doc = "Number format of gradients between workers; bf16 halves the bytes and is outside the "
            "promise across numbers of workers."},
    {"spec.strategy.fusionBytes", FIELD_QUANTITY, JOB(strategy.fusion_bytes), RANGE(4096, 1 << 30),
     .default_ = "4194304", .doc = "Gradients of small layers are sent together up to this size."},
    {"spec.strategy.communicationThread", FIELD_BOOL, JOB(strategy.communication_thread),
     .default_ = "false", .doc = "A thread of its own sends; for hosts with a spare core."},

    {"spec.mpi", FIELD_OBJECT, JOB(mpi.present), .fixed = true,
     .doc = "Another MPI program, of an image with Open MPI 4 or 5: the command of the workers' "
            "first container is started once, over all workers, by mpirun. `mpi: {}` is enough."},
    {"spec.mpi.ranksPerWorker", FIELD_INT, JOB(mpi.ranks_per_worker), RANGE(1, 65536),
     .doc = "Ranks in each worker's pod; absent: its first container's CPU limit rounded down, at "
            "least 1."},

    {"spec.replicas", FIELD_OBJECT, .present = true, .doc = "How many processes of each role."},
    {"spec.replicas.worker", FIELD_OBJECT, .present = true,
     .doc = "The processes that compute gradients."},
    {"spec.replicas.worker.replicas", FIELD_INT, JOB(replicas[ROLE_WORKER].replicas),
     RANGE(0, CLUSTER_MAX_HOSTS), .default_ = "1",
     .doc = "Number of workers; `kubectl scale` changes it. 0 only beside a chief."},
    {"spec.replicas.worker.minReplicas", FIELD_INT, JOB(min_workers), RANGE(1, CLUSTER_MAX_HOSTS),
     .doc = "The fewest workers that the job may be scaled to, or go on with; absent: 1."},
    {"spec.replicas.worker.maxReplicas", FIELD_INT, JOB(max_workers), RANGE(1, CLUSTER_MAX_HOSTS),
     .doc = "The most workers that the job may be scaled to; absent: no bound."},
    ROLE_RESTART("worker", ROLE_WORKER),
    ROLE_TEMPLATE("worker", ROLE_WORKER),
    {"spec.replicas.chief", FIELD_OBJECT,
     .doc = "A process that leads the workers and decides success; for any image."},
    {"spec.replicas.chief.replicas", FIELD_INT, .fixed = true, JOB(replicas[ROLE_CHIEF].replicas),
     RANGE(0, 1), .default_ = "0", .doc = "1: there is a chief."},
    ROLE_RESTART("chief", ROLE_CHIEF),
    ROLE_TEMPLATE("chief", ROLE_CHIEF),
    {"spec.replicas.ps", FIELD_OBJECT, .doc = "Parameter servers."},
    {"spec.replicas.ps.replicas", FIELD_INT, JOB(replicas[ROLE_PS].replicas), RANGE(0, 1024),
     .default_ = "0", .doc = "Number of parameter servers; 0 with AllReduce."},
    ROLE_RESTART("ps", ROLE_PS),
    ROLE_TEMPLATE("ps", ROLE_PS),
    {"spec.replicas.evaluator", FIELD_OBJECT,
     .doc = "A process that evaluates checkpoints beside the training; for any image."},
    {"spec.replicas.evaluator.replicas", FIELD_INT, .fixed = true,
     JOB(replicas[ROLE_EVALUATOR].replicas), RANGE(0, 1), .default_ = "0",
     .doc = "1: there is an evaluator."},
    ROLE_RESTART("evaluator", ROLE_EVALUATOR),
    ROLE_TEMPLATE("evaluator", ROLE_EVALUATOR),

    {"spec.runPolicy", FIELD_OBJECT, .doc = "Life of the job on a cluster; used by the operator."},
    {"spec.runPolicy.cleanPodPolicy", FIELD_ENUM, JOB(run_policy.clean_pods),
     .names = NAMES("Running", "None", "All"), .default_ = "Running",
     .doc = "Which pods are deleted when the job ends."},
    {"spec.runPolicy.backoffLimit", FIELD_INT, JOB(run_policy.backoff_limit), RANGE(0, 1000000),
     .default_ = "6", .doc = "Restarts before the job fails."},
    {"spec.runPolicy.ttlSecondsAfterFinished", FIELD_INT, JOB(run_policy.ttl_seconds),
     RANGE(0, 2147483647), .doc = "Deletes the job so long after its end; absent: never."},
    {"spec.runPolicy.activeDeadlineSeconds", FIELD_INT, JOB(run_policy.deadline_seconds),
     RANGE(1, 2147483647), .doc = "The job fails when it runs longer; absent: no limit."},
    {"spec.runPolicy.suspend", FIELD_BOOL, JOB(run_policy.suspend), .default_ = "false",
     .doc = "Stops the pods and keeps the job."},
    {"spec.runPolicy.successPolicy", FIELD_ENUM, JOB(run_policy.success),
     .names = NAMES("Default", "AllWorkers"), .default_ = "Default",
     .doc = "Default: the job succeeds with its chief, else with worker 0; AllWorkers: when "
            "all workers have succeeded, and the chief if there is one. Jobs with spec.model or "
            "spec.mpi ignore it."},
    {"spec.runPolicy.scalePolicy", FIELD_ENUM, .fixed = true, JOB(run_policy.scale),
     .names = NAMES("Recreate", "Dynamic"), .default_ = "Recreate",
     .doc = "Recreate: a change of replicas restarts all pods with the new cluster spec; Dynamic: "
            "only the difference is created or deleted, each worker knows itself and the servers."},
    {"spec.runPolicy.nodeLossSeconds", FIELD_INT, JOB(run_policy.node_loss_seconds),
     RANGE(0, 86400), .default_ = "30",
     .doc = "How long pods stay on a node that is not ready before they are replaced."},
    {"spec.runPolicy.fenceSeconds", FIELD_INT, JOB(run_policy.fence_seconds), RANGE(0, 86400),
     .default_ = "30",
     .doc = "How long after its grace period a silent pod is waited for before it is given up."},
    {"spec.runPolicy.progressDeadlineSeconds", FIELD_INT, JOB(run_policy.progress_deadline_seconds),
     RANGE(0, 2147483647), .default_ = "600",
     .doc = "A job with spec.model that tells of no new step for so long is Stalled: its run is "
            "killed and launched again, which counts as a failure. Each stage of a launch counts "
            "anew, so reading the data has to fit, and the first step. 0: never."},
    {"spec.runPolicy.replaceTimeoutSeconds", FIELD_INT, JOB(run_policy.replace_timeout_seconds),
     RANGE(0, 2147483647), .default_ = "60",
     .doc = "How long a job with spec.model or spec.mpi waits for a pod that does not run; then it "
            "goes on with the others, if these are minReplicas, and takes the pod in when it "
            "runs."},
    {"spec.runPolicy.managedBy", FIELD_STRING, .fixed = true, JOB(run_policy.managed_by),
     RANGE(1, 63),
     .doc = "Who runs the job: absent or paceline.dev/operator: this operator; anything else: it "
            "keeps its hands off."},
    {"spec.runPolicy.schedulingPolicy", FIELD_OBJECT, .doc = "How the pods find their nodes."},
    {"spec.runPolicy.schedulingPolicy.gang", FIELD_ENUM, .fixed = true, JOB(scheduling.gang),
     .names = NAMES("None", "Volcano", "SchedulerPlugins", "Kueue"), .default_ = "None",
     .doc = "Who starts all pods together or none: a PodGroup of Volcano or of scheduler-plugins, "
            "or Kueue's plain pod groups."},
    {"spec.runPolicy.schedulingPolicy.schedulerName", FIELD_STRING, JOB(scheduling.scheduler),
     RANGE(1, 253),
     .doc = "The scheduler of the pods; absent: the gang's own, else the cluster's default."},
    {"spec.runPolicy.schedulingPolicy.queue", FIELD_STRING, JOB(scheduling.queue), LABEL_VALUE,
     .doc = "The queue of Volcano or Kueue that the job waits in."},
    {"spec.runPolicy.schedulingPolicy.priorityClass", FIELD_STRING, JOB(scheduling.priority_class),
     RANGE(1, 253), .doc = "The priorityClassName of the pods and their group."},
    {"spec.runPolicy.schedulingPolicy.minAvailable", FIELD_INT, JOB(scheduling.min_available),
     RANGE(1, 2 * CLUSTER_MAX_HOSTS),
     .doc = "How many pods the gang needs to start; absent: all of them."},

    {"spec.clusterSpec", FIELD_OBJECT, .fixed = true,
     .doc = "What the processes are told about each other."},
    {"spec.clusterSpec.listEvaluator", FIELD_BOOL, JOB(cluster_spec.list_evaluator),
     .default_ = "true", .doc = "TF_CONFIG lists the evaluator, as TFJob's does."},

    {"spec.networkPolicy", FIELD_OBJECT, .fixed = true, .doc = "Who may connect to the pods."},
    {"spec.networkPolicy.type", FIELD_ENUM, JOB(network.type), .names = NAMES("Job", "None"),
     .default_ = "Job",
     .doc = "Job: the job's own pods and the operator; None: no NetworkPolicy is made."},
    {"spec.networkPolicy.extraIngress", FIELD_OPAQUES, JOB(network.extra_ingress), .max_items = 64,
     .doc = "More rules of who may connect, as a NetworkPolicy's ingress has them."},

    {"spec.debug", FIELD_OBJECT, .fixed = true, .doc = "For finding faults."},
    {"spec.debug.checkReplicas", FIELD_INT, JOB(debug.check_replicas), RANGE(0, EXACT_INTEGERS),
     .default_ = "0", .doc = "Compares the workers' weights every so many updates; 0: each epoch."},
    {"spec.debug.failNan", FIELD_BOOL, JOB(debug.fail_nan), .default_ = "false",
     .doc = "Makes the loss NaN from step 3 on, to try what happens."},
    {"spec.debug.pushOrder", FIELD_INTS, JOB_LIST(debug.push_order, debug.n_push_order),
     RANGE(0, 1023), .max_items = 64,
     .doc = "Workers by number, again from the first after the last: asynchronous servers take "
            "gradients in this order, and those of other workers when these have no more. So a run "
            "can be repeated."},
    {"spec.debug.slowdown", FIELD_FLOATS, JOB_LIST(debug.slowdown, debug.n_slowdown),
     RANGE(1, 1000), .max_items = 64,
     .doc = "How many times longer workers 0, 1, ... compute: each sleeps for the rest."},
    {"spec.debug.gradientSeconds", FIELD_FLOAT, JOB(debug.gradient_seconds), RANGE(0, 3600),
     .default_ = "0",
     .doc = "How long one worker computes a batch's gradient at least, and a part of it its part: "
            "it sleeps for the rest. So timing does not depend on the machine."},
    {"spec.debug.jitter", FIELD_FLOAT, JOB(debug.jitter), RANGE(0, 1000), .default_ = "0",
     .doc = "Makes a worker's computing in each step longer by a random share from 0 to this, the "
            "same in every run of the seed."},
    {"spec.debug.bandwidth", FIELD_QUANTITY, JOB(debug.bandwidth), RANGE(1000, EXACT_INTEGERS),
     .doc = "Simulates a network of so many bytes per second for gradients and weights, per rank "
            "and direction; absent: as it is."},
    {"spec.debug.latencySeconds", FIELD_FLOAT, JOB(debug.latency_seconds), RANGE(0, 60),
     .default_ = "0", .doc = "Simulated seconds more that each of these messages takes."},
};
const size_t n_spec_fields = ARRAY_LEN(spec_fields);
