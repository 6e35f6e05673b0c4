/* Reads or writes of files with a certain name fail: a disk or a server that is going bad.
 *
 * FAULTY_NAME: part of the path.  FAULTY_ERRNO: the failure.  FAULTY_CALLS: "read" or "write".
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int fails(const char *calls, int fd) {
    const char *wanted = getenv("FAULTY_CALLS"), *name = getenv("FAULTY_NAME");
    char link[64], path[4096];
    if (!wanted || !name || strcmp(wanted, calls)) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    if (!strstr(path, name)) return 0;
    errno = atoi(getenv("FAULTY_ERRNO"));
    return 1;
}

#define FAULTY(calls, name, parameters, arguments)                                  \
    ssize_t name parameters {                                                       \
        static ssize_t(*real) parameters;                                           \
        if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name);                       \
        return fails(calls, fd) ? -1 : real arguments;                              \
    }

FAULTY("read", read, (int fd, void *to, size_t size), (fd, to, size))
FAULTY("read", pread, (int fd, void *to, size_t size, off_t at), (fd, to, size, at))
FAULTY("read", pread64, (int fd, void *to, size_t size, off_t at), (fd, to, size, at))
FAULTY("write", write, (int fd, const void *from, size_t size), (fd, from, size))
FAULTY("write", pwrite, (int fd, const void *from, size_t size, off_t at), (fd, from, size, at))
FAULTY("write", pwrite64, (int fd, const void *from, size_t size, off_t at), (fd, from, size, at))
