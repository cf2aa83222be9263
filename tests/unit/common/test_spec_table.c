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

int main(void)
{
    test_table();
    return test_result();
}
