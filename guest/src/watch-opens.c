/*
 * Files that are open now, not how often: the kernel may tell two openings as one. A file that is still open when the
 * host asks, after every process of a command has ended, is mapped: a warm program's memory is taken down after its
 * end is told (guest/runners/python/zygote/memory-keeper.c), and only then the kernel says that the file was closed.
 */
#include "watch.h"

#include "guest.h"

#include <stdlib.h>
#include <string.h>

#define MOST_OPEN 1000
#define OPEN_BUCKETS 256u

LIST_HEAD(open_bucket, open_file);

struct open_file {
  LIST_ENTRY(open_file) same_bucket;
  struct node *node;
  bool told;
  char name[];
};

static struct open_bucket *bucket_of(const struct opens *opens, const struct node *node, const char *name) {
  uint32_t hash = (uint32_t)((uintptr_t)node >> 4) ^ 2166136261u;
  for (; *name != 0; name++) hash = (hash ^ (uint8_t)*name) * 16777619u;
  return &opens->buckets[hash % OPEN_BUCKETS];
}

static struct open_file *find_open(const struct opens *opens, const struct node *node, const char *name) {
  if (opens->count == 0) return NULL;
  struct open_file *file;
  LIST_FOREACH(file, bucket_of(opens, node, name), same_bucket)
    if (file->node == node && strcmp(file->name, name) == 0) return file;
  return NULL;
}

static void remove_open(struct opens *opens, struct open_file *file) {
  LIST_REMOVE(file, same_bucket);
  file->node->opens--;
  opens->count--;
  free(file);
}

bool opens_add(struct opens *opens, struct node *node, const char *name) {
  struct open_file *file = find_open(opens, node, name);
  if (file != NULL) {
    file->told = false;
    return true;
  }
  if (opens->count == MOST_OPEN) return false;
  if (opens->buckets == NULL) opens->buckets = calloc(OPEN_BUCKETS, sizeof *opens->buckets);
  size_t size = strlen(name) + 1;
  file = malloc(sizeof *file + size);
  if (file == NULL || opens->buckets == NULL) die("out of memory");
  file->node = node;
  file->told = false;
  memcpy(file->name, name, size);
  LIST_INSERT_HEAD(bucket_of(opens, node, name), file, same_bucket);
  node->opens++;
  opens->count++;
  return true;
}

bool opens_close(struct opens *opens, const struct node *node, const char *name) {
  struct open_file *file = find_open(opens, node, name);
  if (file == NULL) return false;
  bool was_told = file->told;
  remove_open(opens, file);
  return was_told;
}

void opens_tell(struct opens *opens, opens_visit *visit) {
  for (uint32_t i = 0; i < OPEN_BUCKETS && opens->count > 0; i++) {
    struct open_file *file;
    LIST_FOREACH(file, &opens->buckets[i], same_bucket) {
      if (!file->told) visit(file->node, file->name);
      file->told = true;
    }
  }
}

void opens_clear(struct opens *opens, const struct node *node) {
  for (uint32_t i = 0; i < OPEN_BUCKETS && opens->count > 0; i++) {
    struct open_file *file = LIST_FIRST(&opens->buckets[i]);
    while (file != NULL) {
      struct open_file *next = LIST_NEXT(file, same_bucket);
      if (node == NULL || file->node == node) remove_open(opens, file);
      file = next;
    }
  }
}
