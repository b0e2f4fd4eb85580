/* The set of paths that were read. Bounded by its limits, whatever happens. */
#include "watch.h"

#include "guest.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS 2048u /* twice the most paths: looking for one always ends */

static uint32_t *find_slot(const struct reads *reads, const char *path, uint32_t length) {
  uint32_t hash = 2166136261u;
  for (uint32_t i = 0; i < length; i++) hash = (hash ^ (uint8_t)path[i]) * 16777619u;
  for (uint32_t at = hash % SLOTS;; at = (at + 1) % SLOTS) {
    uint32_t *slot = &reads->slots[at];
    if (*slot == 0) return slot;
    const char *other = reads->bytes + *slot - 1;
    if (strncmp(other, path, length) == 0 && other[length] == 0) return slot;
  }
}

bool reads_has(const struct reads *reads, const char *path, uint32_t length) {
  return reads->count > 0 && *find_slot(reads, path, length) != 0;
}

static void *resize(void *old, size_t size) {
  void *new = realloc(old, size);
  if (new == NULL) die("out of memory");
  return new;
}

bool reads_add(struct reads *reads, const char *path, uint32_t length, const struct watch_limits *limits) {
  if (reads->count >= limits->paths || length + 1 > limits->bytes - reads->used) return false;
  if (reads->slots == NULL) {
    reads->slots = resize(NULL, SLOTS * sizeof *reads->slots);
    memset(reads->slots, 0, SLOTS * sizeof *reads->slots);
  }
  while (reads->room - reads->used < length + 1) {
    reads->room = reads->room == 0 ? 1024 : reads->room * 2;
    reads->bytes = resize(reads->bytes, reads->room);
  }
  *find_slot(reads, path, length) = reads->used + 1;
  memcpy(reads->bytes + reads->used, path, length);
  reads->bytes[reads->used + length] = 0;
  reads->used += length + 1;
  reads->count++;
  return true;
}

static int by_bytes(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

uint32_t reads_write(const struct reads *reads, uint8_t *to) {
  if (reads->count == 0) return 0;
  const char **paths = resize(NULL, reads->count * sizeof *paths);
  const char *at = reads->bytes;
  for (uint32_t i = 0; i < reads->count; i++, at += strlen(at) + 1) paths[i] = at;
  qsort(paths, reads->count, sizeof *paths, by_bytes);
  uint32_t written = 0;
  for (uint32_t i = 0; i < reads->count; i++) {
    uint32_t length = (uint32_t)strlen(paths[i]) + 1;
    memcpy(to + written, paths[i], length);
    written += length;
  }
  free(paths);
  return written;
}

void reads_free(struct reads *reads) {
  free(reads->bytes);
  free(reads->slots);
  *reads = (struct reads){0};
}

void reads_clear(struct reads *reads) {
  if (reads->count > 0) reads_free(reads);
}
