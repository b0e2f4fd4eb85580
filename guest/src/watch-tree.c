/*
 * Looks through a workspace, and follows what the kernel says about it. The tree belongs to an attacker who changes it
 * while we look: every way leads from one open directory to the next without following links.
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

#define MASK (IN_ACCESS | IN_OPEN | IN_CLOSE | IN_CREATE | IN_MOVED_FROM | IN_MOVED_TO | IN_MOVE_SELF | IN_ONLYDIR)
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

/* More was asked of us than one workspace may: nothing more is seen of it until the next answer. */
static void give_up(struct tree *tree) {
  tree->truncated = true;
  tree->shrinking = true;
  tree->scanning = false;
  while (!TAILQ_EMPTY(&tree->to_scan)) node_unqueue(TAILQ_FIRST(&tree->to_scan));
}

void tree_spend(struct tree *tree, uint32_t work) {
  tree->work += work;
  if (tree->work > MOST_WORK && !tree->shrinking) give_up(tree);
}

static int add_watch(int fd) {
  char path[32];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return inotify_add_watch(inotify, path, MASK);
}

static void adopt_open(struct node *parent, const char *name, int fd) {
  struct tree *tree = parent->tree;
  if (node_depth(parent) >= tree->limits.depth) return tree_incomplete(tree);
  int wd = add_watch(fd);
  /* After that: a directory that is made in it from now on is told, one that was made before is a link more. */
  struct stat about;
  if (wd < 0 || fstat(fd, &about) < 0) return tree_incomplete(tree);
  struct node *node = node_in(tree, wd);
  bool is_new = node == NULL;
  if (is_new && tree->directories >= tree->limits.directories) {
    tree_incomplete(tree);
    if (!node_watched(wd)) inotify_rm_watch(inotify, wd);
    return;
  }
  if (is_new) node = node_add(tree, parent, name, wd, &about);
  else node_move(node, parent, name);
  node = node_in(tree, wd);
  if (node == NULL) return;
  bool is_missed = tree->scanning && node->scan != tree->scan;
  node->scan = tree->scan;
  if (is_missed || is_new)
    if (!tree->counts_links || about.st_nlink != 2) node_queue(node);
}

/* Watches an entry of an open directory, if it is a directory. */
static void adopt(struct node *parent, int directory, const char *name) {
  tree_spend(parent->tree, WALK_WORK);
  if (parent->tree->shrinking) return;
  if (strlen(name) > LONGEST_NAME) return tree_incomplete(parent->tree);
  int fd = openat(directory, name, PLACE);
  if (fd >= 0) {
    adopt_open(parent, name, fd);
    close(fd);
  } else if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP) {
    tree_incomplete(parent->tree);
  }
}

static void adopt_entries(struct node *node, DIR *entries) {
  struct tree *tree = node->tree;
  uint32_t count = 0;
  for (struct dirent *entry; !tree->shrinking && (entry = readdir(entries)) != NULL;) {
    if (++count > MOST_ENTRIES) return tree_incomplete(tree);
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
  int place = node_open(node);
  if (place < 0) {
    /* It has moved: what the kernel says next tells where to. Or it is gone, and that comes next. */
    if (++node->failures < MOST_FAILURES) node_queue(node);
    else tree_doubt(tree);
    return;
  }
  node->failures = 0;
  int fd = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int error = errno;
  close(place);
  DIR *entries = fd < 0 ? NULL : fdopendir(fd);
  if (entries == NULL) {
    if (fd >= 0 || error != ENOENT) tree_incomplete(tree);
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
    if (at->scan != tree->scan) node_remove(at, UINT32_MAX);
    at = next;
  }
}

void tree_scan_next(struct tree *tree) {
  struct node *node = TAILQ_FIRST(&tree->to_scan);
  if (node != NULL) {
    node_unqueue(node);
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
  node_queue(tree->root);
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
    if (wd >= 0) tree->root = node_add(tree, NULL, "", wd, &about);
  }
  close(fd);
  if (tree->root != NULL) scan_all(tree);
}

void tree_settle(struct tree *tree) {
  bool is_less = tree->directories <= SMALL_TREE || tree->directories <= tree->incomplete_at / 2;
  if (tree->root == NULL) tree_begin(tree);
  else if (tree->stale || (tree->incomplete && is_less)) scan_all(tree);
}

static void note_read(struct node *node, const char *name) {
  struct tree *tree = node->tree;
  uint32_t length;
  const char *path = node_path(node, name, &length);
  if (path != NULL && reads_has(&tree->reads, path, length)) return;
  if (path == NULL || !reads_add(&tree->reads, path, length, &tree->limits)) tree->truncated = true;
}

void tree_read_open(struct tree *tree) { opens_tell(&tree->opens, note_read); }

static void file_event(struct node *node, uint32_t mask, const char *name) {
  struct tree *tree = node->tree;
  if (mask & IN_ACCESS) note_read(node, name);
  if (mask & IN_OPEN && !opens_add(&tree->opens, node, name)) tree->truncated = true;
  /* What is renamed will be closed under another name. */
  bool was_told = mask & (IN_CLOSE | IN_MOVED_FROM) && opens_close(&tree->opens, node, name);
  if (mask & IN_CLOSE_NOWRITE && !was_told) note_read(node, name);
}

static void directory_arrived(struct node *parent, const char *name) {
  int directory = node_open(parent);
  if (directory < 0) return node_queue(parent);
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
  if (to != NULL) node_move(node, to, tree->to_name);
  else node_remove(node, UINT32_MAX);
}

void node_event(struct node *node, const struct inotify_event *event) {
  struct tree *tree = node->tree;
  uint32_t mask = event->mask;
  if (mask & (IN_IGNORED | IN_UNMOUNT)) {
    node_remove(node, UINT32_MAX);
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
  if (!(mask & IN_ISDIR)) return file_event(node, mask, event->name);
  if (mask & IN_MOVED_FROM) begin_move(tree, event->cookie, NULL, "");
  if (mask & IN_MOVED_TO) begin_move(tree, event->cookie, node, event->name);
  if (mask & (IN_CREATE | IN_MOVED_TO)) directory_arrived(node, event->name);
}
