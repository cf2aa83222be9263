/* Events on a job. One fact has one name, so telling it twice changes nothing. */
#include <stdio.h>
#include <string.h>

#include <openssl/evp.h>

#include "operator/objects/objects.h"
#include "paceline/json.h"
#include "paceline/mem.h"

#define HASH_BYTES 8
#define HASH_BYTES_WITH_TIME 4

void event_name(char out[NAME_SIZE], const struct tj *tj, const struct job_event *e)
{
    AUTO(auto_free) char *fact = xasprintf("%s\n%s", tj->meta.uid, e->key);
    unsigned char hash[EVP_MAX_MD_SIZE] = {0};
    char hex[2 * HASH_BYTES + 1];

    EVP_Digest(fact, strlen(fact), hash, NULL, EVP_sha256(), NULL);
    for (size_t i = 0; i < (e->at_ms ? HASH_BYTES_WITH_TIME : HASH_BYTES); i++)
        snprintf(hex + 2 * i, 3, "%02x", hash[i]);
    if (e->at_ms) /* kubectl sorts events of one second by name */
        snprintf(out, NAME_SIZE, "%s.%012llx%x%s", tj->meta.name, (unsigned long long)e->at_ms,
                 (unsigned)e->rank & 0xf, hex);
    else
        snprintf(out, NAME_SIZE, "%s.%s", tj->meta.name, hex);
}

static void add_involved(const struct tj *tj, cJSON *event)
{
    cJSON *job = cJSON_AddObjectToObject(event, "involvedObject");

    cJSON_AddStringToObject(job, "apiVersion", API_VERSION);
    cJSON_AddStringToObject(job, "kind", "TrainingJob");
    cJSON_AddStringToObject(job, "name", tj->meta.name);
    cJSON_AddStringToObject(job, "namespace", tj->meta.namespace_);
    cJSON_AddStringToObject(job, "uid", tj->meta.uid);
}

void event_body(const struct tj *tj, const struct job_event *e, const char *component,
                int64_t at_ms, struct buf *out)
{
    AUTO(auto_json) cJSON *event = cJSON_CreateObject();
    char name[NAME_SIZE], time[TIME_SIZE];
    cJSON *meta;

    event_name(name, tj, e);
    at_ms = e->at_ms ? e->at_ms : at_ms;
    time_encode(at_ms - at_ms % 1000, time); /* the API keeps seconds */
    cJSON_AddStringToObject(event, "apiVersion", "v1");
    cJSON_AddStringToObject(event, "kind", "Event");
    meta = cJSON_AddObjectToObject(event, "metadata");
    cJSON_AddStringToObject(meta, "name", name);
    cJSON_AddStringToObject(meta, "namespace", tj->meta.namespace_);
    add_involved(tj, event);
    cJSON_AddStringToObject(event, "type", e->warning ? "Warning" : "Normal");
    cJSON_AddStringToObject(event, "reason", e->reason);
    cJSON_AddStringToObject(event, "message", e->message);
    cJSON_AddStringToObject(cJSON_AddObjectToObject(event, "source"), "component", component);
    cJSON_AddStringToObject(event, "reportingComponent", component);
    cJSON_AddStringToObject(event, "firstTimestamp", time);
    cJSON_AddStringToObject(event, "lastTimestamp", time);
    cJSON_AddNumberToObject(event, "count", 1);
    json_print(event, 0, out);
}
