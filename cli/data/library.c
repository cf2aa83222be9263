#include "cli/data/library.h"

#include <dlfcn.h>

int library_load(const char *name, const char *package, const struct library_function *functions,
                 size_t n, struct err *err)
{
    void *library = dlopen(name, RTLD_NOW);

    if (!library)
        return err_set(err, ERR_NOT_FOUND,
                       "%s is not on this machine (%s); Debian has it in the package %s", name,
                       dlerror(), package);
    for (size_t i = 0; i < n; i++) {
        void *function = dlsym(library, functions[i].name);

        if (!function)
            return err_set(err, ERR_NOT_FOUND, "%s has no %s", name, functions[i].name);
        *(void **)functions[i].at = function;
    }
    return 0;
}
