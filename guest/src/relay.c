/*
 * Inside gVisor, which shows a process's descriptors to everyone of the same user and applies no filter of the host's.
 * So there are two guests: the outer one, root of gVisor's own kernel and out of sight, only passes bytes on; the inner
 * one is the first process of namespaces of its own, without privileges, behind the filter that the host sent.
 */
#define _GNU_SOURCE
#include "guest.h"
#include "hidden-proc.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_INSTRUCTIONS 4096u
#define READ_WHOLE_LOG 3
#define NO_STATUS 70
#define LAST_WORDS_MS 200

/* Bytes on their way from one descriptor to another: never more than this many. */
struct way {
  int from, to;
  size_t start, end;
  uint8_t bytes[64 * 1024];
};

enum { TO_INNER, FROM_INNER, COMPLAINTS, WAYS };
static struct way ways[WAYS];

/* What its kernel says first. No other's log begins so, and where it may not be read this is not gVisor. */
static bool is_gvisor(void) {
  static const char greeting[] = "] Starting gVisor...";
  char log[4096] = {0};
  if (klogctl(READ_WHOLE_LOG, log, sizeof log - 1) <= 0) return false;
  char *found = strstr(log, greeting), *line = strchr(log, '\n');
  return log[0] == '<' && found != NULL && line != NULL && found < line;
}

static uint32_t parse_id(const char *text) {
  char *end;
  errno = 0;
  unsigned long id = strtoul(text, &end, 10);
  if (errno != 0 || *end != 0 || text[0] < '1' || text[0] > '9' || id >= UINT32_MAX) die("bad user %s", text);
  return (uint32_t)id;
}

static void read_exactly(void *to, size_t length) {
  for (size_t at = 0; at < length;) {
    ssize_t n = read(0, (uint8_t *)to + at, length - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) die("the filter ended early");
    at += (size_t)n;
  }
}

/* It comes before everything else on the wire: its length, and the program as the kernel takes it. */
static struct sock_fprog read_filter(void) {
  static struct sock_filter rules[MAX_INSTRUCTIONS];
  uint8_t head[4];
  read_exactly(head, sizeof head);
  uint32_t length = get_u32(head);
  if (length == 0 || length > sizeof rules || length % sizeof *rules != 0) die("the host sent no filter");
  read_exactly(rules, length);
  return (struct sock_fprog){.len = (unsigned short)(length / sizeof *rules), .filter = rules};
}

static void keep_capabilities(uint32_t kept) {
  struct __user_cap_header_struct self = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct sets[2] = {{.effective = kept, .permitted = kept}};
  if (syscall(SYS_capset, &self, sets) < 0) die("capabilities: %s", strerror(errno));
}

static void mount_empty(const char *point) {
  if (mount("none", point, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=4k,mode=555") < 0)
    die("cannot hide %s: %s", point, strerror(errno));
}

/* One that this kernel does not have needs not be hidden. */
static void hide(const char *path) {
  struct stat about;
  if (stat(path, &about) < 0) return;
  if (S_ISDIR(about.st_mode)) mount_empty(path);
  else if (mount("/dev/null", path, NULL, MS_BIND, NULL) < 0) die("cannot hide %s: %s", path, strerror(errno));
}

/* A view of its own processes only, and nothing that no program needs. What is left of it is gVisor's, not the host's. */
static void arrange_view(void) {
  if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0) die("/proc: %s", strerror(errno));
  mount_empty("/sys");
  for (size_t i = 0; i < sizeof hidden_proc / sizeof *hidden_proc; i++) hide(hidden_proc[i]);
  hide("/proc/sentry-meminfo");
  static const char *const devices[] = {"/dev/fuse", "/dev/net/tun"};
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
    if (unlink(devices[i]) < 0 && errno != ENOENT) die("%s: %s", devices[i], strerror(errno));
}

static void give_up_everything(uint32_t uid, uint32_t gid) {
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0) die("capability %d: %s", capability, strerror(errno));
  if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
    die("cannot become uid %u: %s", uid, strerror(errno));
  keep_capabilities(0);
  if (setuid(0) == 0 || setgid(0) == 0) die("refusing to run as root");
}

__attribute__((noreturn)) static void become_inner(int wire, int complaints, uint32_t uid, uint32_t gid,
                                                   const struct sock_fprog *filter) {
  if (getpid() != 1) die("no process namespace");
  char program[256] = {0};
  if (readlink("/proc/self/exe", program, sizeof program - 1) < 0) die("/proc/self/exe: %s", strerror(errno));
  arrange_view();
  if (dup2(wire, 0) < 0 || dup2(wire, 1) < 0 || dup2(complaints, 2) < 0) die("dup2: %s", strerror(errno));
  close_from(3);
  setsid();
  give_up_everything(uid, gid);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter) < 0)
    die("filter: %s", strerror(errno));
  /* Executed again, so that neither memory nor environment of the outer one is left in it. */
  char *argv[] = {"skerry-guest", NULL}, *env[] = {NULL};
  execve(program, argv, env);
  die("cannot run %s: %s", program, strerror(errno));
}

static pid_t inner_guest;

static void resume(int signo) {
  (void)signo;
  int error = errno;
  kill(inner_guest, SIGCONT);
  errno = error;
}

/* gVisor, unlike Linux, lets a program stop the first process of its own namespace: it goes on at once. */
static void keep_going(pid_t inner) {
  inner_guest = inner;
  struct sigaction action = {.sa_handler = resume, .sa_flags = SA_RESTART};
  if (sigaction(SIGCHLD, &action, NULL) < 0) die("sigaction: %s", strerror(errno));
  /* It may have been stopped before. */
  kill(inner, SIGCONT);
}

/* False: one of the two ends is gone. */
static bool advance(struct way *way) {
  bool reads = way->start == way->end;
  ssize_t n = reads ? read(way->from, way->bytes, sizeof way->bytes)
                    : write(way->to, way->bytes + way->start, way->end - way->start);
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  if (!reads) way->start += (size_t)n;
  else way->start = 0, way->end = (size_t)n;
  return n > 0;
}

static struct pollfd interest_of(const struct way *way) {
  bool reads = way->start == way->end;
  return (struct pollfd){.fd = reads ? way->from : way->to, .events = reads ? POLLIN : POLLOUT};
}

/* The inner one's last output says why it ended; it may be dropped. */
static void pass_complaints(struct way *way) {
  for (struct pollfd next = interest_of(way); poll(&next, 1, LAST_WORDS_MS) > 0 && advance(way);) next = interest_of(way);
}

/* Our end is the container's: whatever is still in it goes with us. */
static int relay(pid_t inner) {
  for (;;) {
    struct pollfd polled[WAYS];
    for (int i = 0; i < WAYS; i++) polled[i] = interest_of(&ways[i]);
    if (poll(polled, WAYS, -1) < 0) {
      if (errno == EINTR) continue;
      die("poll: %s", strerror(errno));
    }
    if (polled[TO_INNER].revents != 0 && !advance(&ways[TO_INNER])) {
      if (ways[TO_INNER].start == ways[TO_INNER].end) return 0;
      break;
    }
    if (polled[FROM_INNER].revents != 0 && !advance(&ways[FROM_INNER])) break;
    if (polled[COMPLAINTS].revents != 0 && !advance(&ways[COMPLAINTS])) break;
  }
  pass_complaints(&ways[COMPLAINTS]);
  int status = 0;
  for (int pass = 0; pass < LAST_WORDS_MS; pass++, usleep(1000))
    if (waitpid(inner, &status, WNOHANG) == inner) return WIFEXITED(status) ? WEXITSTATUS(status) : NO_STATUS;
  return NO_STATUS;
}

int serve_in_gvisor(const char *user, const char *group) {
  if (!is_gvisor()) die("this runtime is not gVisor, or it applies a filter to its first process (--oci-seccomp)");
  uint32_t uid = parse_id(user), gid = parse_id(group);
  struct sock_fprog filter = read_filter();
  int wire[2], complaints[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, wire) < 0 ||
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, complaints) < 0)
    die("socketpair: %s", strerror(errno));
  if (unshare(CLONE_NEWPID | CLONE_NEWNS) < 0) die("namespaces: %s", strerror(errno));
  pid_t inner = fork();
  if (inner < 0) die("fork: %s", strerror(errno));
  if (inner == 0) become_inner(wire[1], complaints[1], uid, gid, &filter);
  close(wire[1]);
  close(complaints[1]);
  keep_capabilities(1u << CAP_KILL);
  signal(SIGPIPE, SIG_IGN);
  keep_going(inner);
  ways[TO_INNER] = (struct way){.from = 0, .to = wire[0]};
  ways[FROM_INNER] = (struct way){.from = wire[0], .to = 1};
  ways[COMPLAINTS] = (struct way){.from = complaints[0], .to = 2};
  for (int fd = 0; fd < 3; fd++)
    if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0) die("descriptor %d: %s", fd, strerror(errno));
  return relay(inner);
}
