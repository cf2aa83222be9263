#include "operator/kube/credentials.h"

#include <sys/stat.h>
#include <time.h>

#include "operator/kube/exec_plugin.h"
#include "operator/kube/pem.h"
#include "operator/kube/secret.h"
#include "paceline/log.h"
#include "paceline/mem.h"

#define EARLY_MS 60000 /* a plugin runs again this long before what it gave expires */

struct credentials {
    const struct kube_access *access;
    int64_t check_ms, exec_ms;
    struct identity *now;
    uint64_t generations;

    struct stat seen[4]; /* of the files of ca, cert, key, token */
    int64_t checked_ms;
    bool complained; /* about files that cannot be read any more */

    struct exec_run *run;
    struct exec_credential given;
    bool have, stale;              /* given is filled; it was refused */
    int64_t started_ms, failed_ms; /* of the plugin; failed -1: it did not */
    struct err failure;
};

struct identity *identity_ref(struct identity *i)
{
    i->refs++;
    return i;
}

void identity_unref(struct identity *i)
{
    if (!i || --i->refs)
        return;
    free(i->ca);
    free(i->cert);
    secret_free(i->key);
    secret_free(i->authorization);
    free(i);
}

static void auto_identity(struct identity **i) { identity_unref(*i); }

static int64_t credentials_wall_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A header cannot hold line ends, and a token file usually ends with one. */
static int bearer(char **out, char *token, const char *where, struct err *err)
{
    size_t len = strlen(token);

    while (len && strchr(" \t\r\n", token[len - 1]))
        token[--len] = '\0';
    if (!len)
        return err_set(err, ERR_INVALID, "%s: the token is empty", where);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)token[i] <= ' ' || (unsigned char)token[i] >= 0x7f)
            return err_set(err, ERR_INVALID,
                           "%s: the token holds a space, a line end or another character that "
                           "no header can carry",
                           where);
    *out = xasprintf("Bearer %s", token);
    return 0;
}

static char *basic(const char *username, const char *password)
{
    AUTO(auto_secret) char *pair = xasprintf("%s:%s", username, password ? password : "");
    AUTO(auto_secret) char *coded = base64_encode(pair, strlen(pair));

    return xasprintf("Basic %s", coded);
}

static int read_authorization(struct identity *i, const struct credentials *c, struct err *err)
{
    const struct kube_access *a = c->access;
    AUTO(auto_secret) char *token = NULL;

    if (a->username) {
        i->authorization = basic(a->username, a->password);
        return 0;
    }
    if (c->have && c->given.token)
        token = xstrdup(c->given.token);
    else if (material_read(&a->token, &token, err))
        return -1;
    if (!token)
        return 0;
    return bearer(&i->authorization, token, a->exec.command ? a->exec.command : a->token.where,
                  err);
}

static int read_pair(struct identity *i, const struct credentials *c, struct err *err)
{
    const struct kube_access *a = c->access;
    const char *where = a->cert.where;

    if (c->have && c->given.cert) {
        i->cert = xstrdup(c->given.cert);
        i->key = xstrdup(c->given.key);
        where = a->exec.command;
    } else if (material_read(&a->cert, &i->cert, err) || material_read(&a->key, &i->key, err)) {
        return -1;
    }
    return i->cert ? pem_check_pair(i->cert, i->key, where, err) : 0;
}

/* Over plain HTTP nothing is sent that others could use; kubectl does the same. */
static int read_identity(struct identity **out, const struct credentials *c, struct err *err)
{
    AUTO(auto_identity) struct identity *i = xcalloc(1, sizeof *i);

    i->refs = 1;
    if (strncmp(c->access->server, "https://", 8) == 0) {
        if (material_read(&c->access->ca, &i->ca, err) ||
            (i->ca && pem_check_certificates(i->ca, c->access->ca.where, err)) ||
            read_pair(i, c, err) || read_authorization(i, c, err))
            return -1;
    }
    *out = STEAL(i);
    return 0;
}

static bool same_text(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : a == b; }

/* Fails without a change when what is there now is no good. */
static int reload(struct credentials *c, struct err *err)
{
    AUTO(auto_identity) struct identity *fresh = NULL;

    if (read_identity(&fresh, c, err))
        return -1;
    if (c->now && same_text(c->now->ca, fresh->ca) && same_text(c->now->cert, fresh->cert) &&
        same_text(c->now->key, fresh->key) &&
        same_text(c->now->authorization, fresh->authorization))
        return 0;
    fresh->generation = ++c->generations;
    identity_unref(c->now);
    c->now = STEAL(fresh);
    return 0;
}

static bool files_changed(struct credentials *c)
{
    const struct kube_access *a = c->access;
    const char *files[] = {a->ca.file, a->cert.file, a->key.file, a->token.file};
    bool changed = false;

    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct stat st = {0}, *seen = &c->seen[i];

        if (files[i] && stat(files[i], &st))
            st = (struct stat){0};
        changed |= st.st_ino != seen->st_ino || st.st_dev != seen->st_dev ||
                   st.st_size != seen->st_size || st.st_mtim.tv_sec != seen->st_mtim.tv_sec ||
                   st.st_mtim.tv_nsec != seen->st_mtim.tv_nsec;
        *seen = st;
    }
    return changed;
}

/* A pair of files is not replaced at one moment: what is no good now is looked at again. */
static void check_files(struct credentials *c, int64_t now_ms, bool force)
{
    struct err err;

    if (!force && now_ms - c->checked_ms < c->check_ms)
        return;
    c->checked_ms = now_ms;
    if (!files_changed(c) && !force && !c->complained)
        return;
    if (reload(c, &err)) {
        if (!c->complained)
            log_warn("credentials not renewed, the old ones stay: %s", err.msg);
        c->complained = true;
        return;
    }
    c->complained = false;
}

int credentials_new(struct credentials **out, const struct kube_access *access, int64_t check_ms,
                    int64_t exec_ms, int64_t now_ms, struct err *err)
{
    struct credentials *c = xcalloc(1, sizeof *c);

    *c = (struct credentials){.access = access,
                              .check_ms = check_ms,
                              .exec_ms = exec_ms,
                              .checked_ms = now_ms,
                              .failed_ms = -1};
    (void)files_changed(c);
    if (reload(c, err)) {
        credentials_free(c);
        return -1;
    }
    *out = c;
    return 0;
}

void credentials_free(struct credentials *c)
{
    if (!c)
        return;
    exec_run_free(c->run);
    exec_credential_release(&c->given);
    identity_unref(c->now);
    free(c);
}

static void credentials_plugin_failed(struct credentials *c, int64_t now_ms)
{
    c->failed_ms = now_ms;
    log_warn("%s", c->failure.msg);
}

static void start_plugin(struct credentials *c, int64_t now_ms)
{
    if (c->run || (c->failed_ms >= 0 && now_ms - c->failed_ms < c->check_ms))
        return;
    c->started_ms = now_ms;
    if (exec_start(&c->run, &c->access->exec, c->now ? c->now->ca : NULL, now_ms, c->exec_ms,
                   &c->failure))
        credentials_plugin_failed(c, now_ms);
}

void credentials_step(struct credentials *c, int64_t now_ms)
{
    struct exec_credential given;
    int rc;

    if (!c->run)
        return;
    rc = exec_run_step(c->run, now_ms, &given, &c->failure);
    if (!rc)
        return;
    exec_run_free(STEAL(c->run));
    if (rc > 0) {
        struct exec_credential old = c->given;
        bool had = c->have;

        c->given = given;
        c->have = true;
        if (reload(c, &c->failure) == 0) {
            exec_credential_release(&old);
            c->stale = false;
            c->failed_ms = -1;
            return;
        }
        exec_credential_release(&c->given);
        c->given = old;
        c->have = had;
    }
    credentials_plugin_failed(c, now_ms);
}

/* Runs the plugin when what it gave has ended or soon will. True: what we have may be used. */
static bool plugin_fresh(struct credentials *c, int64_t now_ms)
{
    int64_t left = c->given.expires_ms - credentials_wall_ms();
    bool good = c->have && !c->stale && (!c->given.expires_ms || left > 0);

    if (!good)
        start_plugin(c, now_ms);
    else if (c->given.expires_ms && left < EARLY_MS &&
             (!c->started_ms || now_ms - c->started_ms > EARLY_MS / 2))
        start_plugin(c, now_ms); /* a short-lived token is not renewed without a pause */
    return good;
}

struct identity *credentials_get(struct credentials *c, int64_t now_ms, struct err *err)
{
    check_files(c, now_ms, false);
    if (c->access->exec.command && !plugin_fresh(c, now_ms)) {
        *err = (struct err){0};
        if (!c->run)
            *err = c->failure;
        return NULL;
    }
    return identity_ref(c->now);
}

bool credentials_refused(struct credentials *c, uint64_t generation, int64_t now_ms)
{
    if (generation != c->now->generation)
        return true; /* they changed while the request was under way */
    if (c->access->exec.command) {
        /* A server that refuses everything must not make us run the plugin without a pause. */
        if (!c->run && !c->stale && now_ms - c->started_ms < c->check_ms)
            return false;
        c->stale = true;
        return true;
    }
    check_files(c, now_ms, true);
    return generation != c->now->generation;
}

void credentials_doubt(struct credentials *c) { c->checked_ms -= c->check_ms; }

int credentials_fds(const struct credentials *c, int fds[2])
{
    return c->run ? exec_run_fds(c->run, fds) : 0;
}

int64_t credentials_next_ms(const struct credentials *c, int64_t now_ms)
{
    return c->run ? exec_run_next_ms(c->run, now_ms) : -1;
}
