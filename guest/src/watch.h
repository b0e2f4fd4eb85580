/* Shared by the parts of --watch. src/runtime/workspace/access-watcher.ts is the other end. */
#ifndef SKERRY_WATCH_H
#define SKERRY_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/inotify.h>
#include <sys/queue.h>
#include <sys/stat.h>

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

struct open_bucket;
struct opens {
  struct open_bucket *buckets;
  uint32_t count;
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
  uint32_t opens; /* files in it that are open */
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
  struct opens opens;
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

/* watch-opens.c */
typedef void opens_visit(struct node *node, const char *name);
/* False: too many. */
bool opens_add(struct opens *opens, struct node *node, const char *name);
/* True: that it was open has been told. */
bool opens_close(struct opens *opens, const struct node *node, const char *name);
/* Visits those that it has not visited yet. */
void opens_tell(struct opens *opens, opens_visit *visit);
/* Forgets them all, or those of one directory. */
void opens_clear(struct opens *opens, const struct node *node);

/* watch-nodes.c */
extern int inotify;
/* A directory by its path only: no link at its end, and opening it causes no event. */
#define PLACE (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
/* A directory of this number that has not seen this event yet. */
struct node *node_find(int wd, uint32_t event);
struct node *node_in(const struct tree *tree, int wd);
bool node_watched(int wd);
struct node *node_add(struct tree *tree, struct node *parent, const char *name, int wd, const struct stat *about);
/* Removes up to count directories at and below this one, the deepest first; true when none is left. */
bool node_remove(struct node *top, uint32_t count);
/* Believes the directory to be there from now on, with everything below it. May remove it. */
void node_move(struct node *node, struct node *parent, const char *name);
/* How many directories above it are of this tree; more than the limit: some number above the limit. */
uint32_t node_depth(const struct node *node);
/* Opens the directory where we believe it to be; -1 where it is not. */
int node_open(const struct node *node);
/* The path of an entry, valid until the next call; NULL: deeper than we look. */
const char *node_path(const struct node *node, const char *name, uint32_t *length);
void node_queue(struct node *node);
void node_unqueue(struct node *node);
/* There is a directory that is not watched. */
void tree_incomplete(struct tree *tree);
/* What we believe is wrong somewhere. */
void tree_doubt(struct tree *tree);

/* watch-tree.c */
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
/* Counts files that are still open as read, once each. */
void tree_read_open(struct tree *tree);
/* What the kernel said about a watched directory. May remove it. */
void node_event(struct node *node, const struct inotify_event *event);

#endif
