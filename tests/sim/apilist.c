/* Lists in pages, and watches. */
#include "tests/sim/apilist.h"
#include "paceline/mem.h"
#include "tests/sim/value.h"

static bool wanted(const struct target *t, const struct store_object *o)
{
    return (!t->ns[0] || strcmp(t->ns, o->ns) == 0) && selector_matches(t->selector, o->v->json) &&
           fields_match(t->fields, o->v->json);
}

/* All that match now, kept so that later pages show the same moment. */
static size_t listing_make(struct api *api, const struct target *t)
{
    const struct store *s = &api->store;
    struct listing l = {.rv = s->rv};

    l.items = xcalloc(s->n[t->kind] + 1, sizeof(struct version *));
    for (size_t i = 0; i < s->n[t->kind]; i++) {
        if (wanted(t, s->objects[t->kind][i]))
            l.items[l.n++] = version_ref(s->objects[t->kind][i]->v);
    }
    api->listings = xrealloc(api->listings, (api->n_listings + 1) * sizeof *api->listings);
    api->listings[api->n_listings] = l;
    return api->n_listings++;
}

static void write_page(struct buf *out, const struct target *t, size_t id, const struct listing *l,
                       size_t from)
{
    size_t to = t->limit > 0 && from + (size_t)t->limit < l->n ? from + (size_t)t->limit : l->n;
    bool partial = t->metadata_only, prefix = partial || kinds[t->kind].custom;

    buf_printf(out, "{\"kind\":\"%s%s\",\"apiVersion\":\"%s\",\"metadata\":{",
               partial ? "PartialObjectMetadata" : kinds[t->kind].name, "List",
               partial ? "meta.k8s.io/v1" : strchr(kinds[t->kind].base + 1, '/') + 1);
    buf_printf(out, "\"resourceVersion\":\"%lld\"", (long long)l->rv);
    if (to < l->n)
        buf_printf(out, ",\"continue\":\"%zu.%zu\"", id, to);
    if (to < l->n && !t->selector[0])
        buf_printf(out, ",\"remainingItemCount\":%zu", l->n - to);
    buf_puts(out, "},\"items\":[");
    for (size_t i = from; i < to; i++) {
        if (i > from)
            buf_puts(out, ",");
        if (prefix)
            object_write(out, t->kind, l->items[i], partial);
        else
            buf_puts(out, version_text(l->items[i]));
    }
    buf_puts(out, "]}");
}

void api_list(struct api *api, const struct target *t, struct api_answer *a)
{
    size_t id, from = 0;

    if (t->more[0]) {
        char *rest;

        id = strtoul(t->more, &rest, 10);
        from = *rest == '.' ? strtoul(rest + 1, NULL, 10) : 0;
        if (id >= api->n_listings || api->listings[id].expired) {
            api_fail(a, 410, "Expired", t->kind, NULL,
                     "The provided continue parameter is too old to display a consistent list "
                     "result.");
            return;
        }
    } else {
        id = listing_make(api, t);
    }
    a->status = 200;
    write_page(&a->body, t, id, &api->listings[id], from);
}

void api_compact(struct api *api)
{
    api->store.oldest_rv = api->store.rv;
    for (size_t i = 0; i < api->n_listings; i++)
        api->listings[i].expired = true;
}

struct api_watch *watch_new(struct api *api, const struct kube_request *request,
                            struct api_answer *answer)
{
    struct target t;
    struct api_watch *w;

    if (!target_parse(&t, request) || !t.watch) {
        api_fail(answer, 404, "NotFound", KIND_POD, NULL,
                 "the server could not find the requested resource");
        return NULL;
    }
    w = xcalloc(1, sizeof *w);
    w->api = api;
    w->kind = t.kind;
    w->ns = t.ns[0] ? xstrdup(t.ns) : NULL;
    w->selector = xstrdup(t.selector);
    w->metadata_only = t.metadata_only;
    w->bookmarks = t.bookmarks;
    w->rv = t.rv;
    w->timeout_ms = t.timeout_s * 1000;
    while (w->at < api->store.n_history[t.kind] && api->store.history[t.kind][w->at].rv <= t.rv)
        w->at++;
    return w;
}

void watch_free(struct api_watch *w)
{
    if (!w)
        return;
    free(w->ns);
    free(w->selector);
    free(w);
}

static bool sees(const struct api_watch *w, const struct version *v)
{
    const char *ns;

    if (!v)
        return false;
    ns = val_str(v->json, "metadata", "namespace");
    return (!w->ns || strcmp(w->ns, ns) == 0) && selector_matches(w->selector, v->json);
}

static void write_line(const struct api_watch *w, const char *type, struct version *v,
                       struct buf *line)
{
    buf_printf(line, "{\"type\":\"%s\",\"object\":", type);
    object_write(line, w->kind, v, w->metadata_only);
    buf_puts(line, "}");
}

/* The state before, with the version of the change that hid it. */
static void write_hidden(const struct api_watch *w, const struct change *c, struct buf *line)
{
    struct version v = {.rv = c->rv, .json = cJSON_Duplicate(c->old->json, true)};

    val_set_str(val_object(v.json, "metadata"), "resourceVersion",
                val_str(c->new->json, "metadata", "resourceVersion"));
    write_line(w, "DELETED", &v, line);
    cJSON_Delete(v.json);
    free(v.text);
}

/* An object that leaves the selector's sight is DELETED to this watch. */
static bool write_change(const struct api_watch *w, const struct change *c, struct buf *line)
{
    bool before = sees(w, c->old), after = sees(w, c->new);

    if (c->last) {
        if (before)
            write_line(w, "DELETED", c->last, line);
        return before;
    }
    if (after)
        write_line(w, before ? "MODIFIED" : "ADDED", c->new, line);
    else if (before)
        write_hidden(w, c, line);
    return before || after;
}

bool watch_next(struct api_watch *w, int64_t rv, struct buf *line)
{
    const struct store *s = &w->api->store;

    if (w->rv < s->oldest_rv && w->at < s->n_history[w->kind] &&
        s->history[w->kind][w->at].rv <= s->oldest_rv) {
        struct api_answer a = {0};

        api_fail(&a, 410, "Expired", w->kind, NULL, "too old resource version: %lld (%lld)",
                 (long long)w->rv, (long long)s->oldest_rv);
        buf_printf(line, "{\"type\":\"ERROR\",\"object\":%s}", a.body.data);
        answer_release(&a);
        w->at = s->n_history[w->kind];
        w->rv = s->rv;
        return true;
    }
    while (w->at < s->n_history[w->kind] && s->history[w->kind][w->at].rv <= rv) {
        const struct change *c = &s->history[w->kind][w->at++];

        w->rv = c->rv;
        if (write_change(w, c, line))
            return true;
    }
    return false;
}

void watch_bookmark(struct api_watch *w, struct buf *line)
{
    bool partial = w->metadata_only;

    if (w->at == w->api->store.n_history[w->kind])
        w->rv = w->api->store.rv;
    buf_printf(line,
               "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"%s\",\"apiVersion\":\"%s\","
               "\"metadata\":{\"resourceVersion\":\"%lld\",\"creationTimestamp\":null}}}",
               partial ? "PartialObjectMetadata" : kinds[w->kind].name,
               partial ? "meta.k8s.io/v1" : strchr(kinds[w->kind].base + 1, '/') + 1,
               (long long)w->rv);
}
