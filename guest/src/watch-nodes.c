/*
 * The watched directories of a workspace, and where each of them is. A directory is known by what inotify calls it,
 * never by its name. No descriptor stays open, since that would keep a sandbox's mount alive after its end; a watch
 * does not.
 */
#define _GNU_SOURCE
#include "watch.h"

#include "guest.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUCKETS 65536u

int inotify = -1;

static LIST_HEAD(, node) buckets[BUCKETS];

struct node *node_find(int wd, uint32_t event) {
  struct node *node;
  LIST_FOREACH(node, &buckets[(uint32_t)wd % BUCKETS], same_bucket)
    if (node->wd == wd && node->event != event) return node;
  return NULL;
}

bool node_watched(int wd) {
  struct node *node;
  LIST_FOREACH(node, &buckets[(uint32_t)wd % BUCKETS], same_bucket)
    if (node->wd == wd) return true;
  return false;
}

struct node *node_in(const struct tree *tree, int wd) {
  struct node *node;
  LIST_FOREACH(node, &buckets[(uint32_t)wd % BUCKETS], same_bucket)
    if (node->wd == wd && node->tree == tree) return node;
  return NULL;
}

void tree_incomplete(struct tree *tree) {
  tree->incomplete = true;
  tree->incomplete_at = tree->directories;
}

void tree_doubt(struct tree *tree) { tree->stale = tree->truncated = true; }

void node_queue(struct node *node) {
  if (node->is_queued) return;
  TAILQ_INSERT_TAIL(&node->tree->to_scan, node, queued);
  node->is_queued = true;
}

void node_unqueue(struct node *node) {
  if (!node->is_queued) return;
  TAILQ_REMOVE(&node->tree->to_scan, node, queued);
  node->is_queued = false;
}

struct node *node_add(struct tree *tree, struct node *parent, const char *name, int wd, const struct stat *about) {
  struct node *node = calloc(1, sizeof *node);
  char *copy = strdup(name);
  if (node == NULL || copy == NULL) die("out of memory");
  node->tree = tree;
  node->parent = parent;
  node->name = copy;
  node->device = about->st_dev;
  node->inode = about->st_ino;
  node->wd = wd;
  node->scan = tree->scan;
  LIST_INIT(&node->children);
  if (parent != NULL) LIST_INSERT_HEAD(&parent->children, node, siblings);
  LIST_INSERT_HEAD(&buckets[(uint32_t)wd % BUCKETS], node, same_bucket);
  tree->directories++;
  return node;
}

static void remove_leaf(struct node *node) {
  struct tree *tree = node->tree;
  node_unqueue(node);
  if (node->opens > 0) opens_clear(&tree->opens, node);
  if (tree->to == node) tree->to = NULL;
  if (tree->root == node) {
    tree->root = NULL;
    tree->scanning = false;
  }
  if (node->parent != NULL) LIST_REMOVE(node, siblings);
  LIST_REMOVE(node, same_bucket);
  /* Another tree may share the directory, and with it the watch. */
  if (!node_watched(node->wd)) inotify_rm_watch(inotify, node->wd);
  tree->directories--;
  free(node->name);
  free(node);
}

bool node_remove(struct node *top, uint32_t count) {
  for (struct node *at = top; count > 0; count--) {
    while (!LIST_EMPTY(&at->children)) at = LIST_FIRST(&at->children);
    struct node *parent = at->parent;
    bool was_top = at == top;
    remove_leaf(at);
    if (was_top) return true;
    at = parent;
  }
  return false;
}

bool tree_shrink(struct tree *tree, uint32_t count) {
  return tree->root == NULL || node_remove(tree->root, count);
}

uint32_t node_depth(const struct node *node) {
  uint32_t depth = 0;
  for (; node->parent != NULL && depth <= DEEPEST; node = node->parent) depth++;
  return depth;
}

static bool is_at(int fd, uint64_t device, uint64_t inode) {
  struct stat about;
  return fstat(fd, &about) == 0 && about.st_dev == device && about.st_ino == inode;
}

int node_open(const struct node *node) {
  const struct node *way[DEEPEST];
  uint32_t steps = 0;
  for (const struct node *at = node; at->parent != NULL; at = at->parent) {
    if (steps == DEEPEST) return -1;
    way[steps++] = at;
  }
  const struct tree *tree = node->tree;
  int fd = open(tree->path, PLACE);
  /* A path through /proc leads elsewhere when the process is gone and its number is used again. */
  if (fd >= 0 && !is_at(fd, tree->device, tree->inode)) close_fd(&fd);
  while (fd >= 0 && steps > 0) {
    int next = openat(fd, way[--steps]->name, PLACE);
    close(fd);
    fd = next;
  }
  if (fd >= 0 && !is_at(fd, node->device, node->inode)) close_fd(&fd);
  return fd;
}

void node_move(struct node *node, struct node *parent, const char *name) {
  struct tree *tree = node->tree;
  if (node->parent == NULL) return;
  for (const struct node *at = parent; at != NULL; at = at->parent)
    if (at == node) return tree_doubt(tree);
  if (node_depth(parent) >= tree->limits.depth) {
    tree_incomplete(tree);
    node_remove(node, UINT32_MAX);
    return;
  }
  if (node->parent != parent) {
    LIST_REMOVE(node, siblings);
    LIST_INSERT_HEAD(&parent->children, node, siblings);
    node->parent = parent;
  }
  if (strcmp(node->name, name) == 0) return;
  char *copy = strdup(name);
  if (copy == NULL) die("out of memory");
  free(node->name);
  node->name = copy;
}

const char *node_path(const struct node *node, const char *name, uint32_t *length) {
  static char buffer[LONGEST_PATH + 1];
  char *at = buffer + LONGEST_PATH;
  size_t part = strlen(name);
  memcpy(at -= part, name, part);
  for (uint32_t depth = 0; node->parent != NULL; node = node->parent) {
    if (++depth > DEEPEST) return NULL;
    *--at = '/';
    part = strlen(node->name);
    memcpy(at -= part, node->name, part);
  }
  *length = (uint32_t)(buffer + LONGEST_PATH - at);
  return at;
}
