#include "paceline/data_home.h"

#include "paceline/mem.h"

char *data_home(const char *name)
{
    static const struct {
        const char *variable, *below;
    } places[] = {
        {"PACELINE_DATA", ""},
        {"XDG_DATA_HOME", "/paceline"},
        {"HOME", "/.local/share/paceline"},
    };

    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        const char *value = getenv(places[i].variable);

        if (value && *value)
            return xasprintf("%s%s/%s", value, places[i].below, name);
    }
    return NULL;
}
