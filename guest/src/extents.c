/* Tells which parts of a file hold data, so that a sparse file can be copied without its holes. */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int print_extents(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) die("%s: %s", path, strerror(errno));
  for (off_t start = 0, end; (start = lseek(fd, start, SEEK_DATA)) >= 0; start = end) {
    end = lseek(fd, start, SEEK_HOLE);
    printf("%lld %lld\n", (long long)start, (long long)(end - start));
  }
  return errno == ENXIO ? 0 : 1;
}
