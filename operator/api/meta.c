#include "operator/api/meta.h"

#include <ctype.h>
#include <string.h>

#include "operator/api/field.h"

#define MAX_NAME 253
#define MAX_NAMESPACE 63
#define MAX_UID 128
#define MAX_TIME_MS 253402300799999 /* the end of year 9999 */
#define MAX_SECONDS ((int64_t)1 << 40)

/* A string of 1 to max bytes, or NULL. */
static const char *short_string(const cJSON *object, const char *key, size_t max)
{
    const char *text = field_string(object, key);

    return text && *text && strlen(text) <= max ? text : NULL;
}

/* Of any version of our API. */
static bool owner_is_job(const cJSON *reference)
{
    const char *version = field_string(reference, "apiVersion");
    const char *kind = field_string(reference, "kind");

    return version && strncmp(version, GROUP "/", sizeof GROUP) == 0 && kind &&
           strcmp(kind, "TrainingJob") == 0;
}

static void decode_owner(struct meta *m, const cJSON *references, struct arena *a)
{
    const cJSON *reference;

    cJSON_ArrayForEach(reference, references)
    {
        const char *uid = short_string(reference, "uid", MAX_UID);
        const char *name = short_string(reference, "name", MAX_NAME);

        if (!field_is_true(reference, "controller"))
            continue;
        if (!uid || !name || !owner_is_job(reference))
            return; /* at most one controls it */
        m->owner_uid = arena_strdup(a, uid);
        m->owner_name = arena_strdup(a, name);
        return;
    }
}

bool meta_controls(const struct meta *job, const struct meta *object)
{
    return object->owner_uid && strcmp(object->owner_uid, job->uid) == 0 &&
           strcmp(object->owner_name, job->name) == 0 &&
           strcmp(object->namespace_, job->namespace_) == 0;
}

int meta_decode(struct meta *m, const cJSON *object, struct arena *a, struct err *err)
{
    const cJSON *meta = field_get(object, "metadata");
    const char *name = short_string(meta, "name", MAX_NAME);
    const char *uid = short_string(meta, "uid", MAX_UID);
    const char *rv = short_string(meta, "resourceVersion", RV_SIZE - 1);
    const char *ns = field_string(meta, "namespace");

    if (!name)
        return err_set(err, ERR_INVALID, "metadata.name is missing or too long");
    if (!uid)
        return err_set(err, ERR_INVALID, "%s: metadata.uid is missing or too long", name);
    if (!rv)
        return err_set(err, ERR_INVALID, "%s: metadata.resourceVersion is missing or too long",
                       name);
    if (ns && strlen(ns) > MAX_NAMESPACE)
        return err_set(err, ERR_INVALID, "%s: metadata.namespace is too long", name);
    *m = (struct meta){
        .namespace_ = arena_strdup(a, ns ? ns : ""),
        .name = arena_strdup(a, name),
        .uid = arena_strdup(a, uid),
        .created_ms = field_time(meta, "creationTimestamp"),
        .deletion_ms = field_time(meta, "deletionTimestamp"),
        .deletion_grace_ms = field_int(meta, "deletionGracePeriodSeconds", 0, MAX_SECONDS) * 1000,
        .generation = field_int(meta, "generation", 0, INT64_MAX / 2),
    };
    memcpy(m->resource_version, rv, strlen(rv) + 1);
    decode_owner(m, field_get(meta, "ownerReferences"), a);
    return 0;
}

int rv_compare(const char *a, const char *b)
{
    size_t n, m;
    int order;

    if (!*a || !*b)
        return (*a != '\0') - (*b != '\0');
    a += strspn(a, "0");
    b += strspn(b, "0");
    n = strlen(a);
    m = strlen(b);
    order = n == m ? strcmp(a, b) : (n > m) - (n < m);
    return (order > 0) - (order < 0);
}

/* Days since 1970-01-01 of the proleptic Gregorian calendar (Howard Hinnant's formula). */
static int64_t days_from_civil(int64_t y, int64_t m, int64_t d)
{
    int64_t era, year_of_era, day_of_year;

    y -= m <= 2;
    era = y / 400;
    year_of_era = y - era * 400;
    day_of_year = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year -
           719468;
}

/* n digits at *text, which moves on; -1: no number there. */
static int digits(const char **text, int n)
{
    int value = 0;

    for (int i = 0; i < n; i++) {
        if (!isdigit((unsigned char)**text))
            return -1;
        value = value * 10 + (*(*text)++ - '0');
    }
    return value;
}

/* n digits within min..max, followed by `after` (NUL: by anything). */
static bool part(const char **text, int n, int min, int max, char after, int *out)
{
    *out = digits(text, n);
    if (*out < min || *out > max)
        return false;
    if (after && *(*text)++ != after)
        return false;
    return true;
}

/* Milliseconds of ".123456"; *text moves after it. Without a fraction 0. */
static int64_t fraction(const char **text)
{
    int64_t ms = 0, unit = 100;

    if (**text != '.')
        return 0;
    for ((*text)++; isdigit((unsigned char)**text); (*text)++, unit /= 10)
        ms += unit * (**text - '0');
    return ms;
}

/* "Z" or "+01:30", to the end of the text; minutes east of Greenwich. */
static bool zone(const char *text, int *minutes)
{
    int sign = *text == '-' ? -1 : 1, hours, rest;

    *minutes = 0;
    if (*text == 'Z' || *text == 'z')
        return text[1] == '\0';
    if (*text != '+' && *text != '-')
        return false;
    text++;
    if (!part(&text, 2, 0, 23, ':', &hours) || !part(&text, 2, 0, 59, '\0', &rest) || *text)
        return false;
    *minutes = sign * (hours * 60 + rest);
    return true;
}

int64_t time_decode(const char *text)
{
    int year, month, day, hour, minute, second, offset;
    int64_t ms;

    if (!part(&text, 4, 1970, 9999, '-', &year) || !part(&text, 2, 1, 12, '-', &month) ||
        !part(&text, 2, 1, 31, 'T', &day) || !part(&text, 2, 0, 23, ':', &hour) ||
        !part(&text, 2, 0, 59, ':', &minute) || !part(&text, 2, 0, 60, '\0', &second))
        return 0;
    ms = fraction(&text);
    if (!zone(text, &offset))
        return 0;
    ms += (((days_from_civil(year, month, day) * 24 + hour) * 60 + minute - offset) * 60 + second) *
          1000;
    return ms > 0 && ms <= MAX_TIME_MS ? ms : 0;
}

void time_encode(int64_t ms, char out[TIME_SIZE])
{
    int64_t days = ms / 86400000, rest = ms % 86400000, z = days + 719468, era = z / 146097;
    int64_t day_of_era = z - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t mp = (5 * day_of_year + 2) / 153, day = day_of_year - (153 * mp + 2) / 5 + 1;
    int64_t month = mp < 10 ? mp + 3 : mp - 9, year = year_of_era + era * 400 + (month <= 2);
    int64_t second = rest / 1000;
    int n = snprintf(out, TIME_SIZE, "%04lld-%02lld-%02lldT%02lld:%02lld:%02lld", (long long)year,
                     (long long)month, (long long)day, (long long)(second / 3600),
                     (long long)(second / 60 % 60), (long long)(second % 60));

    if (rest % 1000)
        snprintf(out + n, TIME_SIZE - (size_t)n, ".%03lldZ", (long long)(rest % 1000));
    else
        snprintf(out + n, TIME_SIZE - (size_t)n, "Z");
}

void host_name(char out[NAME_SIZE], const char *job, enum cluster_role role, int index)
{
    snprintf(out, NAME_SIZE, "%s-%s-%d", job, cluster_role_names[role], index);
}

void pod_name(char out[NAME_SIZE], const char *job, enum cluster_role role, int index,
              int64_t incarnation)
{
    snprintf(out, NAME_SIZE, "%s-%s-%d-%lld", job, cluster_role_names[role], index,
             (long long)incarnation);
}
