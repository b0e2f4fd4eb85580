/*
 * A launch: runs on the host, before the walls, as a child of the launcher (slots.c). It takes its orders from
 * descriptor 0 (so that nothing is in the process list), enters the sandbox's cgroups, gives up every privilege, and
 * becomes bubblewrap. What follows the orders on descriptor 0 is the wire, and belongs to the guest.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_ORDERS (1024u * 1024)
#define ARGUMENTS_FD 3
#define SECCOMP_FD 4

enum order_tag {
  ORDER_ARGUMENT = 1,
  ORDER_PROGRAM = 2,
  ORDER_CGROUP = 3,   /* path of a cgroup.procs file */
  ORDER_IDENTITY = 4, /* u32 uid, u32 gid */
  ORDER_LIMIT = 5,    /* u32 resource, u64 value */
  ORDER_SECCOMP = 6,
  ORDER_OOM_SCORE = 7,
  ORDER_IMAGE = 8,       /* file system image for the workspace */
  ORDER_MOUNT_POINT = 9, /* where to mount it, in a mount namespace of our own */
  ORDER_COMMAND = 10,    /* what bubblewrap runs */
  ORDER_HOLDER = 11,     /* file with the pid of the process that mounted the image */
  ORDER_MEMORY = 12,     /* limits of a workspace in memory, instead of an image */
  ORDER_CELLS = 13,      /* where the guest finds the filter of programs, if it is to make cells */
  ORDER_COVER = 14,      /* a directory that every sandbox reads */
  ORDER_NOTHING = 15,    /* an empty directory, for what covers those */
};

static void read_fully(uint8_t *to, size_t length) {
  while (length > 0) {
    ssize_t n = read(0, to, length);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) die("the orders ended early");
    to += n;
    length -= (size_t)n;
  }
}

static void write_text(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, text, strlen(text)) < 0) die("cannot write %s: %s", path, strerror(errno));
  close(fd);
}

/* Above the host's own processes, below the commands. Not every host lets us. */
static void set_oom_score(const char *score) {
  int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  ssize_t ignored = fd < 0 ? 0 : write(fd, score, strlen(score));
  (void)ignored;
  if (fd >= 0) close(fd);
}

/* Never above what we may have: the smaller of the two is the stricter. */
static void set_limit(int resource, uint64_t value) {
  struct rlimit limit;
  if (getrlimit((__rlimit_resource_t)resource, &limit) < 0) die("limit %d: %s", resource, strerror(errno));
  if (limit.rlim_max > value) limit.rlim_max = value;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit((__rlimit_resource_t)resource, &limit) < 0) die("limit %d: %s", resource, strerror(errno));
}

static int memory_file(const char *name, int wanted) {
  int fd = memfd_create(name, 0);
  if (fd < 0) die("memfd_create: %s", strerror(errno));
  if (fd != wanted) {
    if (dup2(fd, wanted) < 0) die("dup2: %s", strerror(errno));
    close(fd);
  }
  return wanted;
}

static void append(int fd, const void *data, size_t length) {
  const uint8_t *at = data;
  while (length > 0) {
    ssize_t n = write(fd, at, length);
    if (n < 0) die("memory file: %s", strerror(errno));
    at += n;
    length -= (size_t)n;
  }
}

/* What we mount exists in a namespace of our own only: it goes when the sandbox goes, however that happens. */
static bool try_namespace(void) {
  return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == 0;
}

static void enter_namespace(void) {
  if (!try_namespace()) die("mount namespace: %s", strerror(errno));
}

static bool is_mounted(const char *mount_point) {
  char above[4096];
  struct stat here, parent;
  snprintf(above, sizeof above, "%s/..", mount_point);
  return stat(mount_point, &here) == 0 && stat(above, &parent) == 0 && here.st_dev != parent.st_dev;
}

static unsigned long own_namespace(void) {
  struct stat about;
  if (stat("/proc/self/ns/mnt", &about) < 0) die("mount namespace: %s", strerror(errno));
  return (unsigned long)about.st_ino;
}

/* Adds us to those in whose namespace the image is mounted; the first of them starts the list. */
static void note_holder(const char *holder, int flags) {
  char line[64];
  int length = snprintf(line, sizeof line, "%d %lu\n", getpid(), own_namespace());
  int fd = open(holder, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
  if (fd < 0 || write(fd, line, (size_t)length) != length) die("workspace holder: %s", strerror(errno));
  close(fd);
}

/*
 * Enters the namespace in which other sandboxes of the same session have the image mounted, through any of them
 * that is still alive. A pid that has been used again leads into another namespace, whose number differs.
 */
static bool join_holder(const char *holder, const char *mount_point) {
  char text[8192] = {0}, path[64];
  int fd = open(holder, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  char *rest = text;
  for (char *line; n > 0 && (line = strsep(&rest, "\n")) != NULL;) {
    int pid;
    unsigned long namespace;
    struct stat about;
    if (sscanf(line, "%d %lu", &pid, &namespace) != 2 || pid <= 1) continue;
    snprintf(path, sizeof path, "/proc/%d/ns/mnt", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    bool same = fstat(fd, &about) == 0 && (unsigned long)about.st_ino == namespace;
    bool joined = same && setns(fd, CLONE_NEWNS) == 0;
    close(fd);
    if (joined && !is_mounted(mount_point)) die("the workspace is not mounted where it should be");
    if (joined) {
      note_holder(holder, O_APPEND);
      return true;
    }
  }
  return false;
}

/*
 * The process that gets the image's lock mounts it; another one shares that process's namespace, or, where it may not
 * enter that, such as a container's, its device.
 */
static void open_workspace(const char *image, const char *mount_point, const char *holder, uint32_t uid, uint32_t gid) {
  int backing = open_image(image);
  for (int attempt = 0; flock(backing, LOCK_EX | LOCK_NB) < 0; attempt++) {
    if (join_holder(holder, mount_point)) {
      close(backing);
      return;
    }
    char device[32];
    int loop = find_loop(backing, device);
    if (loop >= 0) {
      enter_namespace();
      mount_device(device, mount_point, uid, gid);
      close(loop);
      close(backing);
      note_holder(holder, O_APPEND);
      return;
    }
    if (attempt == 2500) die("the workspace is in use and cannot be shared");
    usleep(2000);
  }
  enter_namespace();
  mount_image(backing, mount_point, uid, gid);
  close(backing);
  note_holder(holder, O_TRUNC);
}

static void give_up_privileges(bool have_identity, uint32_t uid, uint32_t gid) {
  if (have_identity) {
    if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
      die("cannot become uid %u: %s", uid, strerror(errno));
  }
  /* Started by root, bubblewrap is no boundary: /proc/sys stays writable for kernel uid 0. */
  if (getuid() == 0 || geteuid() == 0 || getegid() == 0 || setuid(0) == 0) die("refusing to run as root");
}

void launch(void) {
  uint8_t head[4];
  read_fully(head, sizeof head);
  uint32_t length = get_u32(head);
  if (length > MAX_ORDERS) die("the orders are too long");
  uint8_t *orders = malloc(length + 1u);
  if (orders == NULL) die("out of memory");
  read_fully(orders, length);

  memory_file("arguments", ARGUMENTS_FD);
  memory_file("seccomp", SECCOMP_FD);

  struct fields fields = {.at = orders, .end = orders + length};
  struct field field;
  char *program = NULL, *command = NULL, *image = NULL, *mount_point = NULL, *holder = NULL, *memory = NULL, *cells = NULL;
  char pids[16] = "";
  uint32_t uid = 0, gid = 0;
  bool have_identity = false, have_seccomp = false, covered = false;
  struct covers covers = {0};
  while (next_field(&fields, &field)) {
    char *text = copy_string(&field);
    switch (field.tag) {
      case ORDER_ARGUMENT: append(ARGUMENTS_FD, text, field.length + 1u); break;
      case ORDER_PROGRAM: program = text; break;
      case ORDER_COMMAND: command = text; break;
      case ORDER_CGROUP: write_text(text, "0"); break;
      case ORDER_OOM_SCORE: set_oom_score(text); break;
      case ORDER_IMAGE: image = text; break;
      case ORDER_MOUNT_POINT: mount_point = text; break;
      case ORDER_HOLDER: holder = text; break;
      case ORDER_MEMORY: memory = text; break;
      case ORDER_CELLS: cells = text; break;
      case ORDER_COVER: covers_add(&covers, text); break;
      case ORDER_NOTHING: covers.nothing = text; break;
      case ORDER_SECCOMP:
        append(SECCOMP_FD, field.data, field.length);
        have_seccomp = true;
        break;
      case ORDER_IDENTITY:
        if (field.length != 8) die("bad identity");
        uid = get_u32(field.data), gid = get_u32(field.data + 4);
        have_identity = true;
        break;
      case ORDER_LIMIT: {
        if (field.length != 12) die("bad limit");
        /* Processes are counted per user: set out here, one sandbox's would count for all of this user. */
        if (get_u32(field.data) == RLIMIT_NPROC) snprintf(pids, sizeof pids, "%u", get_u32(field.data + 4));
        else set_limit((int)get_u32(field.data), get_u32(field.data + 4) | (uint64_t)get_u32(field.data + 8) << 32);
        break;
      }
      default: die("unknown order %u", field.tag);
    }
  }
  if (program == NULL || command == NULL) die("no program");
  if (!have_seccomp) die("no seccomp filter");
  bool has_mount = mount_point != NULL && ((image != NULL && holder != NULL) || memory != NULL);
  if (image != NULL && mount_point != NULL && holder != NULL) open_workspace(image, mount_point, holder, uid, gid);
  if (memory != NULL && mount_point != NULL) {
    enter_namespace();
    mount_memory(mount_point, memory, uid, gid);
  }
  bool covers_any = covers.count > 0 && covers.nothing != NULL;
  if (covers_any && geteuid() == 0) covered = (has_mount || try_namespace()) && cover_as_root(&covers);
  give_up_privileges(have_identity, uid, gid);
  if (covers_any && !covered) cover_as_user(&covers);
  /* The kernel forgets it when the user changes. */
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (lseek(ARGUMENTS_FD, 0, SEEK_SET) < 0 || lseek(SECCOMP_FD, 0, SEEK_SET) < 0) die("lseek: %s", strerror(errno));
  char arguments_fd[4], *env[] = {NULL};
  char *argv[10] = {program, "--args", arguments_fd, "--", command};
  size_t count = 5;
  if (cells != NULL) argv[count++] = "--cells", argv[count++] = cells;
  if (pids[0] != 0) argv[count++] = "--pids", argv[count++] = pids;
  snprintf(arguments_fd, sizeof arguments_fd, "%d", ARGUMENTS_FD);
  execve(program, argv, env);
  die("cannot run %s: %s", program, strerror(errno));
}
