// LINK: common
/* The table of fields agrees with itself, with the rules and with the built-in networks. */
#include <string.h>

#include "common/spec_table.h"
#include "paceline/mem.h"
#include "tests/test.h"

static void test_table(void)
{
    CHECK(n_spec_fields <= SPEC_MAX_FIELDS);
    for (size_t i = 0; i < n_spec_choices; i++) {
        const struct field *f = spec_field_find(spec_choices[i].path);
        const struct field *selector = spec_field_find(spec_choices[i].selector);

        size_t n;
        const struct choice *choices = f ? field_choices(f, &n) : NULL;

        CHECK(f && selector && selector < f);
        CHECK(choices && &spec_choices[i] >= choices &&
              &spec_choices[i] < choices + n); /* together */
    }
    CHECK(field_above(spec_field_find("spec.training.optimizer.beta1")) ==
          spec_field_find("spec.training.optimizer"));
    CHECK(field_above(spec_field_find("spec.model.layers[].kernel")) == NULL);
    for (size_t i = 0; i < n_spec_fields; i++) {
        const struct field *f = &spec_fields[i];

        CHECK(spec_field_find(f->path) == f); /* no path twice */
        CHECK(f->doc && f->doc[strlen(f->doc) - 1] == '.');
        CHECK(f->kind != FIELD_ENUM || f->size == sizeof(int));
    }
    for (size_t i = 0; spec_rule(i); i++)
        for (size_t k = 0; spec_rule(i)->paths[k]; k++)
            CHECK(spec_field_find(spec_rule(i)->paths[k]) != NULL);

    const struct field *name = spec_field_find("spec.model.name");
    size_t n = 0;

    for (; name->names[n]; n++)
        CHECK(net_def_find(name->names[n]) != NULL);
    CHECK_INT(n, n_net_defs);
}

/* What the API server knows of built-in networks: names and numbers of layers, written out in CEL.
 */
static void test_layers_in_cel(void)
{
    AUTO(buf_release) struct buf want;
    const struct rule *rule = NULL;

    buf_init(&want, 0);
    buf_puts(&want, "{{'': 0");
    for (size_t i = 0; i < n_net_defs; i++) {
        AUTO(layer_list_release) struct layer_list list = {0};

        net_def_layers(&list, &net_defs[i], 0);
        buf_printf(&want, ", '%s': %zu", net_defs[i].name, list.n);
    }
    buf_puts(&want, "}}");
    for (size_t i = 0; !rule && spec_rule(i); i++)
        if (strcmp(spec_rule(i)->paths[0], "spec.strategy.layerPlacement") == 0)
            rule = spec_rule(i);
    CHECK_CONTAINS(rule ? rule->cel : NULL, want.data);
}

int main(void)
{
    test_table();
    test_layers_in_cel();
    return test_result();
}
