/*
 * The watched directories of a workspace, and where each of them is. The tree belongs to an attacker who changes it
 * while we look: every way leads from one open directory to the next without following links, and a directory is
 * known by what inotify calls it, never by its name. No descriptor stays open, since that would keep a sandbox's
 * mount alive after its end; a watch does not.
 */
#define _GNU_SOURCE
#include "watch.h"

#include "guest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define BUCKETS 65536u
#define PLACE (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define READ (IN_ACCESS | IN_CLOSE_NOWRITE)
#define MASK (READ | IN_CREATE | IN_MOVED_FROM | IN_MOVED_TO | IN_MOVE_SELF | IN_ONLYDIR)
/* A directory with more entries is not looked through to its end: others wait meanwhile. */
#define MOST_ENTRIES 65536
#define MOST_FAILURES 5
/* What one workspace may cost us between two answers, in about a tenth of a microsecond: a second. */
#define MOST_WORK 10000000
#define EVENT_WORK 1
#define ENTRY_WORK 4
#define WALK_WORK 100
/* Below this it costs little to see whether a tree is still incomplete. */
#define SMALL_TREE 256

int inotify = -1;

static LIST_HEAD(, node) buckets[BUCKETS];

struct node *node_find(int wd, uint32_t event) {
  struct node *node;
  LIST_FOREACH(node, &buckets[(uint32_t)wd % BUCKETS], same_bucket)
    if (node->wd == wd && node->event != event) return node;
  return NULL;
}

static bool is_watched(int wd) {
  struct node *node;
  LIST_FOREACH(node, &buckets[(uint32_t)wd % BUCKETS], same_bucket)
    if (node->wd == wd) return true;
  return false;
}

static struct node *find_in(const struct tree *tree, int wd) {
  struct node *node;
  LIST_FOREACH(node, &buckets[(uint32_t)wd % BUCKETS], same_bucket)
    if (node->wd == wd && node->tree == tree) return node;
  return NULL;
}

static void leave_incomplete(struct tree *tree) {
  tree->incomplete = true;
  tree->incomplete_at = tree->directories;
}

static void doubt(struct tree *tree) { tree->stale = tree->truncated = true; }

static void queue_scan(struct node *node) {
  if (node->is_queued) return;
  TAILQ_INSERT_TAIL(&node->tree->to_scan, node, queued);
  node->is_queued = true;
}

static void unqueue(struct node *node) {
  if (!node->is_queued) return;
  TAILQ_REMOVE(&node->tree->to_scan, node, queued);
  node->is_queued = false;
}

/* More was asked of us than one workspace may: nothing more is seen of it until the next answer. */
static void give_up(struct tree *tree) {
  tree->truncated = true;
  tree->shrinking = true;
  tree->scanning = false;
  while (!TAILQ_EMPTY(&tree->to_scan)) unqueue(TAILQ_FIRST(&tree->to_scan));
}

void tree_spend(struct tree *tree, uint32_t work) {
  tree->work += work;
  if (tree->work > MOST_WORK && !tree->shrinking) give_up(tree);
}

static struct node *add_node(struct tree *tree, struct node *parent, const char *name, int wd, const struct stat *about) {
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
  unqueue(node);
  if (tree->to == node) tree->to = NULL;
  if (tree->root == node) {
    tree->root = NULL;
    tree->scanning = false;
  }
  if (node->parent != NULL) LIST_REMOVE(node, siblings);
  LIST_REMOVE(node, same_bucket);
  /* Another tree may share the directory, and with it the watch. */
  if (!is_watched(node->wd)) inotify_rm_watch(inotify, node->wd);
  tree->directories--;
  free(node->name);
  free(node);
}

/* Removes up to count directories at and below this one, the deepest first; true when none is left. */
static bool remove_below(struct node *top, uint32_t count) {
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
  return tree->root == NULL || remove_below(tree->root, count);
}

/* How many directories above it are of this tree; more than the limit: some number above the limit. */
static uint32_t depth_of(const struct node *node) {
  uint32_t depth = 0;
  for (; node->parent != NULL && depth <= DEEPEST; node = node->parent) depth++;
  return depth;
}

static bool is_at(int fd, uint64_t device, uint64_t inode) {
  struct stat about;
  return fstat(fd, &about) == 0 && about.st_dev == device && about.st_ino == inode;
}

/* The directory where we believe it to be, or -1 where it is not. */
static int open_node(const struct node *node) {
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

/* Believes the directory to be there from now on, with everything below it. */
static void move_node(struct node *node, struct node *parent, const char *name) {
  struct tree *tree = node->tree;
  if (node->parent == NULL) return;
  for (const struct node *at = parent; at != NULL; at = at->parent)
    if (at == node) return doubt(tree);
  if (depth_of(parent) >= tree->limits.depth) {
    leave_incomplete(tree);
    remove_below(node, UINT32_MAX);
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

static int add_watch(int fd) {
  char path[32];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return inotify_add_watch(inotify, path, MASK);
}

static void adopt_open(struct node *parent, const char *name, int fd) {
  struct tree *tree = parent->tree;
  struct stat about;
  if (depth_of(parent) >= tree->limits.depth || fstat(fd, &about) < 0) return leave_incomplete(tree);
  int wd = add_watch(fd);
  if (wd < 0) return leave_incomplete(tree);
  struct node *node = find_in(tree, wd);
  bool is_new = node == NULL;
  if (is_new && tree->directories >= tree->limits.directories) {
    leave_incomplete(tree);
    if (!is_watched(wd)) inotify_rm_watch(inotify, wd);
    return;
  }
  if (is_new) node = add_node(tree, parent, name, wd, &about);
  else move_node(node, parent, name);
  node = find_in(tree, wd);
  if (node == NULL) return;
  bool is_missed = tree->scanning && node->scan != tree->scan;
  node->scan = tree->scan;
  if (is_missed || is_new)
    if (!tree->counts_links || about.st_nlink != 2) queue_scan(node);
}

/* Watches an entry of an open directory, if it is a directory. */
static void adopt(struct node *parent, int directory, const char *name) {
  tree_spend(parent->tree, WALK_WORK);
  if (parent->tree->shrinking) return;
  if (strlen(name) > LONGEST_NAME) return leave_incomplete(parent->tree);
  int fd = openat(directory, name, PLACE);
  if (fd >= 0) {
    adopt_open(parent, name, fd);
    close(fd);
  } else if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP) {
    leave_incomplete(parent->tree);
  }
}

static void adopt_entries(struct node *node, DIR *entries) {
  struct tree *tree = node->tree;
  uint32_t count = 0;
  for (struct dirent *entry; !tree->shrinking && (entry = readdir(entries)) != NULL;) {
    if (++count > MOST_ENTRIES) return leave_incomplete(tree);
    tree_spend(tree, ENTRY_WORK);
    if (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) continue;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    adopt(node, dirfd(entries), entry->d_name);
  }
}

static void scan_node(struct node *node) {
  struct tree *tree = node->tree;
  tree_spend(tree, WALK_WORK);
  if (tree->shrinking) return;
  int place = open_node(node);
  if (place < 0) {
    /* It has moved: what the kernel says next tells where to. Or it is gone, and that comes next. */
    if (++node->failures < MOST_FAILURES) queue_scan(node);
    else doubt(tree);
    return;
  }
  node->failures = 0;
  int fd = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int error = errno;
  close(place);
  DIR *entries = fd < 0 ? NULL : fdopendir(fd);
  if (entries == NULL) {
    if (fd >= 0 || error != ENOENT) leave_incomplete(tree);
    close_fd(&fd);
    return;
  }
  adopt_entries(node, entries);
  closedir(entries);
}

/* After a whole scan: directories that it did not find are no longer there. */
static void sweep(struct tree *tree) {
  tree->scanning = false;
  struct node *at = tree->root;
  while (at != NULL) {
    struct node *next = at->scan == tree->scan ? LIST_FIRST(&at->children) : NULL;
    for (struct node *up = at; next == NULL && up->parent != NULL; up = up->parent) next = LIST_NEXT(up, siblings);
    if (at->scan != tree->scan) remove_below(at, UINT32_MAX);
    at = next;
  }
}

void tree_scan_next(struct tree *tree) {
  struct node *node = TAILQ_FIRST(&tree->to_scan);
  if (node != NULL) {
    unqueue(node);
    scan_node(node);
  }
  if (tree->scanning && TAILQ_EMPTY(&tree->to_scan)) sweep(tree);
}

/* Looks at every directory again, and lets go of those that are no longer there. */
static void scan_all(struct tree *tree) {
  tree->stale = tree->incomplete = false;
  tree->scanning = true;
  tree->scan++;
  tree->root->scan = tree->scan;
  queue_scan(tree->root);
}

void tree_begin(struct tree *tree) {
  if (inotify < 0) inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (inotify < 0) return;
  int fd = open(tree->path, PLACE);
  struct stat about;
  struct statfs system;
  if (fd < 0) return;
  if (fstat(fd, &about) == 0 && fstatfs(fd, &system) == 0 &&
      (!tree->known || (about.st_dev == tree->device && about.st_ino == tree->inode))) {
    int wd = add_watch(fd);
    tree->known = true;
    tree->device = about.st_dev;
    tree->inode = about.st_ino;
    tree->counts_links = system.f_type == EXT4_SUPER_MAGIC || system.f_type == TMPFS_MAGIC;
    if (wd >= 0) tree->root = add_node(tree, NULL, "", wd, &about);
  }
  close(fd);
  if (tree->root != NULL) scan_all(tree);
}

void tree_settle(struct tree *tree) {
  bool is_less = tree->directories <= SMALL_TREE || tree->directories <= tree->incomplete_at / 2;
  if (tree->root == NULL) tree_begin(tree);
  else if (tree->stale || (tree->incomplete && is_less)) scan_all(tree);
}

/* The path of an entry, built from its end; NULL: deeper than we look. */
static const char *path_of(const struct node *node, const char *name, uint32_t *length) {
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

static void note_read(struct node *node, const char *name) {
  struct tree *tree = node->tree;
  uint32_t length;
  const char *path = path_of(node, name, &length);
  if (path != NULL && reads_has(&tree->reads, path, length)) return;
  if (path == NULL || !reads_add(&tree->reads, path, length, &tree->limits)) tree->truncated = true;
}

static void directory_arrived(struct node *parent, const char *name) {
  int directory = open_node(parent);
  if (directory < 0) return queue_scan(parent);
  adopt(parent, directory, name);
  close(directory);
}

/*
 * A rename that is told completely ends with the directory's own word. One that is not was of a directory we did not
 * watch yet, left the tree, or was told between another's parts.
 */
static void begin_move(struct tree *tree, uint32_t cookie, struct node *to, const char *name) {
  if (tree->cookie != 0 && tree->cookie != cookie) tree->stale = true;
  tree->cookie = cookie;
  tree->to = to;
  snprintf(tree->to_name, sizeof tree->to_name, "%s", name);
}

static void finish_move(struct node *node) {
  struct tree *tree = node->tree;
  if (node->parent == NULL) return;
  struct node *to = tree->to;
  tree->cookie = 0;
  tree->to = NULL;
  if (to != NULL) move_node(node, to, tree->to_name);
  else remove_below(node, UINT32_MAX);
}

void node_event(struct node *node, const struct inotify_event *event) {
  struct tree *tree = node->tree;
  uint32_t mask = event->mask;
  if (mask & (IN_IGNORED | IN_UNMOUNT)) {
    remove_below(node, UINT32_MAX);
    return;
  }
  tree_spend(tree, EVENT_WORK);
  if (tree->shrinking) return;
  if (mask & IN_MOVE_SELF) return finish_move(node);
  if (event->len == 0) return;
  if (strnlen(event->name, event->len) > LONGEST_NAME) {
    tree->truncated = true;
    return;
  }
  if (!(mask & IN_ISDIR)) {
    if (mask & READ) note_read(node, event->name);
    return;
  }
  if (mask & IN_MOVED_FROM) begin_move(tree, event->cookie, NULL, "");
  if (mask & IN_MOVED_TO) begin_move(tree, event->cookie, node, event->name);
  if (mask & (IN_CREATE | IN_MOVED_TO)) directory_arrived(node, event->name);
}
