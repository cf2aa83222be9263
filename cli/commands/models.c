/* paceline models: the built-in networks and their layers. */
#include "cli/base/format.h"
#include "cli/base/options.h"
#include "cli/report/table.h"
#include "paceline/json.h"
#include "paceline/mem.h"
#include "paceline/nearest.h"

static const struct option_row option_rows[] = {
    JSON_OPTION("print the networks, or the layers, as one JSON object"),
};

static const struct command_line command = {
    COMMAND_OPTIONS(option_rows),
    COMMAND_OPERANDS(1, NULL),
    .before = "usage: paceline models [NAME] [--json]\n"
              "Lists the built-in networks, or the layers of one with shapes, parameters and the "
              "FLOPs of\n"
              "the forward pass per sample (multiply and add apart, taps inside the image only), "
              "and the inputs\n"
              "where they are not the layer before.\n",
    .after = "examples:\n"
             "  paceline models\n"
             "  paceline models resnet20\n",
};

static struct format_text mega(double flops)
{
    struct format_text t;

    snprintf(t.s, sizeof t.s, flops < 1e5 ? "%.3f" : "%.1f", flops / 1e6);
    return t;
}

static struct format_text models_shape_text(struct shape s)
{
    struct format_text t;

    snprintf(t.s, sizeof t.s, s.h == 1 && s.w == 1 ? "%d" : "%dx%dx%d", s.c, s.h, s.w);
    return t;
}

static cJSON *shape_json(struct shape s)
{
    return cJSON_CreateIntArray((const int[]){s.c, s.h, s.w}, 3);
}

static const char *models_input_name(const struct net *net, int layer)
{
    return layer < 0 ? NET_INPUT : net->layers[layer].spec.name;
}

static cJSON *inputs_json(const struct net *net, const struct net_layer *l)
{
    cJSON *names = cJSON_CreateArray();

    for (int i = 0; i < l->n_inputs; i++)
        cJSON_AddItemToArray(names, cJSON_CreateString(models_input_name(net, l->inputs[i])));
    return names;
}

/* The names of layer i's inputs, nothing where it takes what the layer before it gives. */
static void inputs_text(const struct net *net, size_t i, struct buf *out)
{
    const struct net_layer *l = &net->layers[i];

    out->len = 0;
    buf_puts(out, "");
    for (int k = 0; (l->n_inputs > 1 || l->inputs[0] != (int)i - 1) && k < l->n_inputs; k++)
        buf_printf(out, "%s%s", k ? ", " : "", models_input_name(net, l->inputs[k]));
}

static cJSON *net_json(const struct net_def *def, const struct net *net)
{
    cJSON *root = cJSON_CreateObject(), *layers;

    cJSON_AddStringToObject(root, "name", def->name);
    cJSON_AddStringToObject(root, "description", def->description);
    cJSON_AddItemToObject(root, "input", shape_json(net->in));
    cJSON_AddNumberToObject(root, "parameters", (double)net->params);
    cJSON_AddNumberToObject(root, "flopsPerSample", net->flops_train);
    layers = cJSON_AddArrayToObject(root, "layers");
    for (size_t i = 0; i < net->n_layers; i++) {
        const struct net_layer *l = &net->layers[i];
        cJSON *layer = cJSON_CreateObject();

        cJSON_AddStringToObject(layer, "name", l->spec.name);
        cJSON_AddStringToObject(layer, "type", layer_type_names[l->spec.type]);
        if (l->spec.loss_weight > 0)
            cJSON_AddNumberToObject(layer, "lossWeight", l->spec.loss_weight);
        cJSON_AddItemToObject(layer, "inputs", inputs_json(net, l));
        cJSON_AddItemToObject(layer, "output", shape_json(l->out));
        cJSON_AddNumberToObject(layer, "parameters", (double)(l->weights + l->biases));
        cJSON_AddNumberToObject(layer, "flopsForward", l->flops_forward);
        cJSON_AddItemToArray(layers, layer);
    }
    return root;
}

static void print_sides(const struct net *net)
{
    AUTO(buf_release) struct buf names, weights;
    int n = 0;

    buf_init(&names, 0);
    buf_init(&weights, 0);
    for (size_t i = 0; i < net->n_layers; i++) {
        const struct layer_spec *s = &net->layers[i].spec;
        const char *between = !n ? "" : n + 1 < net->n_sides ? ", " : " and ";

        if (s->loss_weight == 0)
            continue;
        buf_printf(&names, "%s%s", between, s->name);
        buf_printf(&weights, "%s%g", between, s->loss_weight);
        n++;
    }
    if (n)
        printf(
            "\n%s ha%s of %s own, which count%s %s times in training; evaluation leaves %s out\n",
            names.data, n > 1 ? "ve losses" : "s a loss", n > 1 ? "their" : "its", n > 1 ? "" : "s",
            weights.data, n > 1 ? "them" : "it");
}

static void print_net(const struct net_def *def, const struct net *net)
{
    const char *const head[] = {
        "layer", "-output", "-parameters", "-MFLOP forward", net_branch(net) ? "inputs" : NULL,
        NULL};
    AUTO(table_release) struct text_table t;
    AUTO(buf_release) struct buf inputs;

    buf_init(&inputs, 0);
    printf("%s: %s; samples of %s\n\n", def->name, def->description, models_shape_text(net->in).s);
    table_init(&t, head);
    for (size_t i = 0; i < net->n_layers; i++) {
        const struct net_layer *l = &net->layers[i];

        table_cell(&t, l->spec.name);
        table_cell(&t, models_shape_text(l->out).s);
        table_cell(&t, l->weights ? format_count((double)(l->weights + l->biases)).s : "");
        table_cell(&t, l->flops_forward > 0 ? mega(l->flops_forward).s : "");
        inputs_text(net, i, &inputs);
        if (head[4])
            table_cell(&t, inputs.data);
    }
    table_print(&t, stdout);
    print_sides(net);
    printf("\n%s parameters; %s MFLOP per sample and update (forward and backward)\n",
           format_count((double)net->params).s, mega(net->flops_train).s);
}

static void models_print_list(void)
{
    static const char *const head[] = {"name", "-parameters", "-MFLOP", "description", NULL};
    AUTO(table_release) struct text_table t;

    table_init(&t, head);
    for (size_t i = 0; i < n_net_defs; i++) {
        AUTO(net_release) struct net net;

        net_def_build(&net, &net_defs[i]);
        table_cell(&t, net_defs[i].name);
        table_cell(&t, format_count((double)net.params).s);
        table_cell(&t, mega(net.flops_train).s);
        table_cell(&t, net_defs[i].description);
    }
    table_print(&t, stdout);
}

static void models_print_list_json(void)
{
    AUTO(auto_json) cJSON *list = cJSON_CreateArray();

    for (size_t i = 0; i < n_net_defs; i++) {
        AUTO(net_release) struct net net;

        net_def_build(&net, &net_defs[i]);
        cJSON_AddItemToArray(list, net_json(&net_defs[i], &net));
    }
    cli_print_json(list);
}

static int models_unknown(const char *name)
{
    AUTO(auto_free) const char **names = xcalloc(n_net_defs, sizeof *names);
    const char *near;

    for (size_t i = 0; i < n_net_defs; i++)
        names[i] = net_defs[i].name;
    near = nearest(name, names, n_net_defs);
    return cli_usage_error("models", "found \"%s\", no built-in network%s%s%s", name,
                           near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

int cmd_models(int argc, char **argv)
{
    const struct net_def *def;
    AUTO(net_release) struct net net = {0};
    AUTO(options_release) struct options o;
    int code;

    if (!options_parse(&o, argc, argv, &command, &code))
        return code;
    if (!o.operand) {
        if (o.json)
            models_print_list_json();
        else
            models_print_list();
        return EXIT_OK;
    }
    def = net_def_find(o.operand);
    if (!def)
        return models_unknown(o.operand);
    net_def_build(&net, def);
    if (o.json) {
        AUTO(auto_json) cJSON *value = net_json(def, &net);

        cli_print_json(value);
    } else {
        print_net(def, &net);
    }
    return EXIT_OK;
}
