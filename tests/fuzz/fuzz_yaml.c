// LINK: common
/* YAML of any bytes: no crash, no unbounded expansion, and the JSON form reads back the same. */
#include <stdint.h>

#include "paceline/json.h"
#include "paceline/mem.h"
#include "paceline/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(yaml_release) struct yaml_doc doc;
    AUTO(auto_json) cJSON *again = NULL;
    AUTO(buf_release) struct buf first, second;
    struct err err;

    buf_init(&first, 0);
    buf_init(&second, 0);
    if (yaml_parse(&doc, (const char *)data, size, "fuzz", &err) || !doc.root)
        return 0;
    json_print(doc.root, 0, &first);
    if (json_parse(&again, first.data, first.len, "fuzz", &err)) {
        fprintf(stderr, "%s\n", err.msg);
        abort();
    }
    json_print(again, 0, &second);
    if (strcmp(first.data, second.data) != 0)
        abort();
    return 0;
}
