/*
 * --watch: runs on the host and tells which files of a workspace were read. One process for all workspaces of one
 * host process, with one inotify instance; it ends with its standard input. Frames as on the wire (wire.c).
 *
 * A read is data read from a file, or a file closed that was not open for writing, which covers mappings, or one that
 * is still open. Events do not tell a FIFO from a file, and looking afterwards could be deceived: a FIFO counts too.
 */
#define _GNU_SOURCE
#include "watch.h"

#include "guest.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum watch_frame {
  /* from the host */
  W_WATCH = 0x21,  /* fields: path, limits? */
  W_TAKE = 0x22,   /* u32 sequence; TAKEN */
  W_FORGET = 0x23, /* u32 sequence; FORGOTTEN */
  /* to the host */
  W_TAKEN = 0xa2,     /* u32 sequence, u8 flags, the paths, each ended by a NUL */
  W_FORGOTTEN = 0xa3, /* u32 sequence */
};

enum watch_tag {
  W_PATH = 1,
  W_LIMITS = 2, /* u32 directories, u32 depth, u32 paths, u32 bytes */
};

enum taken_flags { TAKEN_TRUNCATED = 1, TAKEN_UNAVAILABLE = 2 };

#define TAKEN_HEAD 5
#define SLICE_NS 1000000
#define REST_MS 4
#define SHRINK_AT_ONCE 256

static const struct watch_limits most = {
  .directories = 8192,
  .depth = DEEPEST,
  .paths = 1000,
  .bytes = MAX_PAYLOAD - TAKEN_HEAD,
};

static struct tree *trees;

static struct tree *find_tree(uint32_t id) {
  struct tree *tree = trees;
  while (tree != NULL && (tree->id != id || tree->forgotten)) tree = tree->next;
  return tree;
}

/* The queue is everybody's, so everybody may have missed something. Who made it overflow pays for it. */
static void overflowed(void) {
  struct tree *busiest = trees;
  for (struct tree *tree = trees; tree != NULL; tree = tree->next) {
    tree->truncated = tree->stale = true;
    opens_clear(&tree->opens, NULL);
    if (tree->work > busiest->work) busiest = tree;
  }
  if (busiest != NULL) tree_spend(busiest, OVERFLOW_WORK);
}

static void handle_event(const struct inotify_event *event) {
  static uint32_t count;
  if (event->mask & IN_Q_OVERFLOW) return overflowed();
  count++;
  /* inotify has one watch for two trees that share a directory. */
  for (struct node *node; (node = node_find(event->wd, count)) != NULL;) {
    node->event = count;
    node_event(node, event);
  }
}

/* Handles what is there now. What arrives meanwhile waits: it may be without end. */
static void drain(void) {
  static uint8_t buffer[65536] __attribute__((aligned(8)));
  int waiting = 0;
  if (inotify < 0 || ioctl(inotify, FIONREAD, &waiting) < 0) return;
  while (waiting > 0) {
    ssize_t n = read(inotify, buffer, sizeof buffer);
    if (n <= 0) return;
    waiting -= (int)n;
    for (ssize_t at = 0; at < n;) {
      const struct inotify_event *event = (const struct inotify_event *)(buffer + at);
      at += (ssize_t)(sizeof *event + event->len);
      handle_event(event);
    }
  }
}

static void send_taken(uint32_t id, uint32_t sequence, uint8_t flags, const struct reads *reads) {
  uint8_t *payload = wire_reserve(MAX_PAYLOAD);
  put_u32(payload, sequence);
  payload[4] = flags;
  wire_commit(W_TAKEN, id, TAKEN_HEAD + (reads == NULL ? 0 : reads_write(reads, payload + TAKEN_HEAD)));
}

static bool is_busy(const struct tree *tree) {
  return tree->shrinking || tree->scanning || !TAILQ_EMPTY(&tree->to_scan);
}

/* Where something was missed, more is until we have looked for it. */
static void begin_turn(struct tree *tree, bool missed) {
  tree->watched = tree->root != NULL;
  tree->truncated = missed && is_busy(tree);
}

static void answer(struct tree *tree) {
  tree_read_open(tree);
  bool missed = tree->truncated || tree->incomplete || is_busy(tree);
  if (tree->watched) send_taken(tree->id, tree->sequence, missed ? TAKEN_TRUNCATED : 0, &tree->reads);
  else send_taken(tree->id, tree->sequence, TAKEN_UNAVAILABLE, NULL);
  reads_clear(&tree->reads);
  tree->asked = false;
  tree->work = 0;
  bool is_anew = tree->root == NULL;
  tree_settle(tree);
  begin_turn(tree, missed || is_anew);
}

static uint32_t at_most(uint32_t value, uint32_t limit) { return value < limit ? value : limit; }

static void start_watching(uint32_t id, struct fields fields) {
  if (find_tree(id) != NULL) die("the host used an id twice");
  struct tree *tree = calloc(1, sizeof *tree);
  if (tree == NULL) die("out of memory");
  tree->id = id;
  tree->limits = most;
  TAILQ_INIT(&tree->to_scan);
  for (struct field field; next_field(&fields, &field);) {
    if (field.tag == W_PATH && tree->path == NULL) {
      tree->path = copy_string(&field);
    } else if (field.tag == W_LIMITS && field.length == 16) {
      tree->limits.directories = at_most(get_u32(field.data), most.directories);
      tree->limits.depth = at_most(get_u32(field.data + 4), most.depth);
      tree->limits.paths = at_most(get_u32(field.data + 8), most.paths);
      tree->limits.bytes = at_most(get_u32(field.data + 12), most.bytes);
    } else {
      die("the host sent an unknown field %u", field.tag);
    }
  }
  if (tree->path == NULL) die("the host sent no path");
  tree->next = trees;
  trees = tree;
  tree_begin(tree);
  begin_turn(tree, true);
}

static void take(uint32_t id, uint32_t sequence) {
  /* What was read before we were asked is in the queue. */
  drain();
  struct tree *tree = find_tree(id);
  if (tree == NULL) return send_taken(id, sequence, TAKEN_UNAVAILABLE, NULL);
  if (tree->asked) answer(tree);
  tree->asked = true;
  tree->sequence = sequence;
}

static void forget(uint32_t id, uint32_t sequence) {
  struct tree *tree = find_tree(id);
  if (tree == NULL) die("the host forgot what it did not watch");
  if (tree->asked) answer(tree);
  tree->forgotten = tree->shrinking = true;
  tree->sequence = sequence;
}

static void handle_watch_frame(uint8_t type, uint32_t id, const uint8_t *payload, uint32_t length) {
  if (type == W_WATCH) return start_watching(id, (struct fields){.at = payload, .end = payload + length});
  if (type != W_TAKE && type != W_FORGET) die("the host sent an unknown frame 0x%02x", type);
  if (length != 4) die("the host sent no sequence");
  if (type == W_TAKE) take(id, get_u32(payload));
  else forget(id, get_u32(payload));
}

/* Letting go of a directory puts an event in the queue, looking into one does too: hence a little at a time. */
static void proceed(struct tree *tree) {
  if (!tree->shrinking) tree_scan_next(tree);
  else if (tree_shrink(tree, SHRINK_AT_ONCE)) tree->shrinking = false;
}

static struct tree *most_urgent(void) {
  struct tree *found = NULL;
  for (struct tree *tree = trees; tree != NULL; tree = tree->next) {
    if (is_busy(tree) && tree->asked) return tree;
    if (is_busy(tree)) found = tree;
  }
  return found;
}

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void finish(void) {
  for (struct tree **at = &trees; *at != NULL;) {
    struct tree *tree = *at;
    if (tree->asked && !is_busy(tree)) answer(tree);
    if (!tree->forgotten || tree->shrinking) {
      at = &tree->next;
      continue;
    }
    uint8_t sequence[4];
    put_u32(sequence, tree->sequence);
    wire_send(W_FORGOTTEN, tree->id, sequence, sizeof sequence);
    *at = tree->next;
    reads_free(&tree->reads);
    free(tree->opens.buckets);
    free(tree->path);
    free(tree);
  }
}

/* Returns whether there is more to do. */
static bool work(void) {
  uint64_t end = now_ns() + SLICE_NS;
  for (struct tree *tree; (tree = most_urgent()) != NULL && now_ns() < end;) {
    drain();
    if (is_busy(tree)) proceed(tree);
  }
  finish();
  return most_urgent() != NULL;
}

/* A caller waits for the answer: it is scheduled before longer work of others (kernel 6.12), with a short slice. */
static void prefer_short_turns(void) {
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
  } wanted = {.size = sizeof wanted, .runtime_ns = 100000};
  syscall(SYS_sched_setattr, 0, &wanted, 0);
}

int watch(void) {
  prefer_short_turns();
  signal(SIGPIPE, SIG_IGN);
  close_from(3);
  wire_init();
  for (bool is_waiting = true, is_resting = false;;) {
    wire_flush();
    struct pollfd polled[] = {
      {.fd = 0, .events = POLLIN},
      {.fd = is_resting ? -1 : inotify, .events = POLLIN},
      {.fd = 1, .events = wire_wants_to_write() ? POLLOUT : 0},
    };
    int patience = !is_waiting ? 0 : is_resting ? REST_MS : -1;
    if (poll(polled, 3, patience) < 0 && errno != EINTR) die("poll: %s", strerror(errno));
    if (polled[1].revents != 0) drain();
    if (polled[0].revents != 0 && !wire_read(handle_watch_frame)) return 0;
    is_waiting = !work();
    /* Waking for every event would hold up the program that causes it. Requests are answered at once. */
    is_resting = is_waiting && (polled[0].revents != 0 || polled[1].revents != 0);
  }
}
