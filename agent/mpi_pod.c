#include "agent/mpi_pod.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <string.h>
#include <unistd.h>

#include "paceline/mem.h"

static void auto_addresses(struct ifaddrs **list)
{
    if (*list)
        freeifaddrs(*list);
}

static int find_interface(char *name, const char *address, struct err *err)
{
    AUTO(auto_addresses) struct ifaddrs *list = NULL;
    struct in_addr wanted;

    if (inet_pton(AF_INET, address, &wanted) != 1)
        return err_set(err, ERR_INVALID,
                       "address %.60s: training in several pods needs IPv4 addresses", address);
    if (getifaddrs(&list) < 0)
        return err_set(err, ERR_IO, "cannot list network interfaces: %s", strerror(errno));
    for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
        struct sockaddr_in at;

        if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET)
            continue;
        memcpy(&at, i->ifa_addr, sizeof at);
        if (at.sin_addr.s_addr == wanted.s_addr) {
            snprintf(name, IF_NAMESIZE, "%s", i->ifa_name);
            return 0;
        }
    }
    return err_set(err, ERR_NOT_FOUND, "address %s: no network interface of this pod has it",
                   address);
}

int mpi_pod_init(struct mpi_pod *pod, const char *address, const char *folder, bool foreign,
                 struct err *err)
{
    ssize_t n = readlink("/proc/self/exe", pod->agent, sizeof pod->agent - 1);

    if (n < 0)
        return err_set(err, ERR_IO, "cannot read /proc/self/exe: %s", strerror(errno));
    pod->agent[n] = '\0';
    if (find_interface(pod->interface, address, err) < 0)
        return -1;
    pod->names = (struct mpirun_pod){
        .agent = pod->agent, .interface = pod->interface, .folder = folder, .foreign = foreign};
    return 0;
}
