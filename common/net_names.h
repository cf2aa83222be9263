/* The layers of a network by their names, while it is built: a join names up to 64 of them, and
 * whoever may create a TrainingJob decides how many joins there are. */
#ifndef PACELINE_NET_NAMES_H
#define PACELINE_NET_NAMES_H

#include <stddef.h>

#include "paceline/net.h"

struct net_names {
    size_t n_slots; /* a power of two */
    int *slots;     /* a layer's number + 1; 0: free */
};

void net_names_init(struct net_names *names, size_t n_layers); /* room for so many */
void net_names_release(struct net_names *names);

/* The name of the next layer, which the caller frees: the user's, or the type and its number among
 * the layers of that type: conv1, conv2. */
char *net_names_new(const struct net *net, const struct layer_spec *s);

/* The number of the layer with this name, or -1. */
int net_names_find(const struct net_names *names, const struct net *net, const char *name);
/* Adds the last layer of the network. No other layer may have its name. */
void net_names_add(struct net_names *names, const struct net *net);

#endif
