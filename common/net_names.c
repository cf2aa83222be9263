#include "common/net_names.h"

#include <stdint.h>
#include <string.h>

#include "paceline/mem.h"

void net_names_init(struct net_names *names, size_t n_layers)
{
    *names = (struct net_names){.n_slots = 16};
    while (names->n_slots < 2 * n_layers)
        names->n_slots *= 2;
    names->slots = xcalloc(names->n_slots, sizeof *names->slots);
}

void net_names_release(struct net_names *names)
{
    free(names->slots);
    *names = (struct net_names){0};
}

char *net_names_new(const struct net *net, const struct layer_spec *s)
{
    int number = 1;

    if (s->name)
        return xstrdup(s->name);
    for (size_t i = 0; i < net->n_layers; i++)
        number += net->layers[i].spec.type == s->type;
    return xasprintf("%s%d", layer_type_names[s->type], number);
}

/* The slot of the name, or the free one where it belongs. */
static int *net_names_slot_of(const struct net_names *names, const struct net *net,
                              const char *name)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    int *slot;

    for (const char *c = name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    for (size_t i = hash ^ hash >> 15;; i++) {
        slot = &names->slots[i & (names->n_slots - 1)];
        if (!*slot || strcmp(net->layers[*slot - 1].spec.name, name) == 0)
            return slot;
    }
}

int net_names_find(const struct net_names *names, const struct net *net, const char *name)
{
    return *net_names_slot_of(names, net, name) - 1;
}

void net_names_add(struct net_names *names, const struct net *net)
{
    *net_names_slot_of(names, net, net->layers[net->n_layers - 1].spec.name) = (int)net->n_layers;
}
