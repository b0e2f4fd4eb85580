/* Shared by the parts of --watch. src/workspace/access-watcher.ts is the other end. */
#ifndef SKERRY_WATCH_H
#define SKERRY_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/inotify.h>
#include <sys/queue.h>

#define DEEPEST 64
#define LONGEST_NAME 255
#define LONGEST_PATH ((DEEPEST + 1) * (LONGEST_NAME + 1))

/* In about a tenth of a microsecond: one tenth of what a tree may cost between two answers. */
#define OVERFLOW_WORK 1000000

/* Never above what watch.c has as defaults. */
struct watch_limits {
  uint32_t directories, depth, paths, bytes;
};

/* A set of paths, each ended by a NUL. */
struct reads {
  char *bytes;
  uint32_t used, room, count;
  uint32_t *slots; /* where in bytes, plus one */
};

/* A watched directory. What inotify calls it, and where we believe it to be. */
struct node {
  LIST_ENTRY(node) same_bucket;
  LIST_ENTRY(node) siblings;
  TAILQ_ENTRY(node) queued;
  LIST_HEAD(, node) children;
  struct tree *tree;
  struct node *parent;
  char *name;
  uint64_t device, inode;
  int wd;
  uint32_t event; /* the last one it has seen */
  uint32_t scan;  /* the last whole scan that found it */
  bool is_queued;
  uint8_t failures;
};

/* A workspace of the host's, by the id it gave. */
struct tree {
  struct tree *next;
  uint32_t id;
  char *path;
  struct watch_limits limits;
  uint64_t device, inode; /* of path, the first time */
  bool known;
  struct node *root; /* NULL: nothing is watched */
  uint32_t directories;
  bool counts_links; /* a directory with two links has no directories in it */
  TAILQ_HEAD(, node) to_scan;
  uint32_t scan;
  bool scanning; /* the whole tree */

  /* Since the last answer. */
  struct reads reads;
  bool watched;   /* from the beginning */
  bool truncated; /* something was missed */
  uint64_t work;

  bool incomplete; /* there are directories that are not watched */
  uint32_t incomplete_at;
  bool stale; /* what we believe may be wrong: scan it all after the next answer */
  bool shrinking;
  bool forgotten;
  bool asked;
  uint32_t sequence;

  /* A rename under way: the kernel says from, to, and then that the directory itself has moved. */
  uint32_t cookie;
  struct node *to;
  char to_name[LONGEST_NAME + 1];
};

/* watch-reads.c */
bool reads_has(const struct reads *reads, const char *path, uint32_t length);
/* False: there is no room within the limits. */
bool reads_add(struct reads *reads, const char *path, uint32_t length, const struct watch_limits *limits);
/* Writes the paths one after the other, sorted, each ended by a NUL. Returns how many bytes. */
uint32_t reads_write(const struct reads *reads, uint8_t *to);
void reads_clear(struct reads *reads);
void reads_free(struct reads *reads);

/* watch-tree.c */
extern int inotify;
/* Begins to watch the directory at tree->path; where it cannot, root stays NULL. */
void tree_begin(struct tree *tree);
/* After an answer: what was missed is looked for again. */
void tree_settle(struct tree *tree);
/* Looks into one directory that waits for it. */
void tree_scan_next(struct tree *tree);
/* Lets go of up to this many directories; true when none is left. */
bool tree_shrink(struct tree *tree, uint32_t count);
/* What a tree costs us is bounded: beyond it, nothing more is seen of it until the next answer. */
void tree_spend(struct tree *tree, uint32_t work);
/* What the kernel said about a watched directory. May remove it. */
void node_event(struct node *node, const struct inotify_event *event);
/* A directory of this number that has not seen this event yet. */
struct node *node_find(int wd, uint32_t event);

#endif
