/*
 * Inodes of a sandbox's own for the files that all sandboxes read: an overlay over each directory, and device nodes that
 * nobody else has. A watch on a shared inode tells what the host and other sandboxes open, and a lock on one is
 * a signal to them. Run on the host, by the launcher, in a mount namespace of the sandbox's own.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_LAYERS 64

/* What is mounted at a path before anything covers it. */
struct layer {
  char path[PATH_MAX];
  int fd;
  bool is_directory;
};

void covers_add(struct covers *covers, char *path) {
  struct stat about;
  if (covers->count == MAX_COVERS || stat(path, &about) < 0) die("cannot cover %s", path);
  covers->paths[covers->count] = path;
  covers->devices[covers->count++] = about.st_dev;
}

/* The maker of the namespace that we have joined has done it, for the same session. */
static bool is_covered(const struct covers *covers, size_t index) {
  struct stat about;
  return stat(covers->paths[index], &about) == 0 && about.st_dev != covers->devices[index];
}

/* By its descriptor: a layer without a path says nothing in the mount table. */
static bool add_layer(struct layer *layers, size_t *count, const char *path) {
  for (size_t i = 0; i < *count; i++)
    if (strcmp(layers[i].path, path) == 0) return true;
  if (*count == MAX_LAYERS || strlen(path) >= PATH_MAX) return false;
  struct layer *layer = &layers[*count];
  struct stat about;
  strcpy(layer->path, path);
  layer->fd = open(path, O_PATH | O_CLOEXEC);
  /* A mount that another one hides. */
  if (layer->fd < 0 && errno == ENOENT) return true;
  if (layer->fd < 0 || fstat(layer->fd, &about) < 0) return false;
  layer->is_directory = S_ISDIR(about.st_mode);
  (*count)++;
  return true;
}

/* The mount table writes spaces and the like as three octal digits. */
static void unescape(char *text) {
  char *to = text;
  for (const char *at = text; *at != 0; at++) {
    if (at[0] == '\\' && at[1] >= '0' && at[1] <= '3' && at[2] >= '0' && at[2] <= '7' && at[3] >= '0' && at[3] <= '7') {
      *to++ = (char)((at[1] - '0') * 64 + (at[2] - '0') * 8 + (at[3] - '0'));
      at += 3;
    } else {
      *to++ = *at;
    }
  }
  *to = 0;
}

/* The directories, and what is mounted inside of them, which an overlay does not show by itself. */
static bool find_layers(const struct covers *covers, struct layer *layers, size_t *count) {
  for (size_t i = 0; i < covers->count; i++)
    if (!is_covered(covers, i) && !add_layer(layers, count, covers->paths[i])) return false;
  size_t own = *count;
  FILE *table = fopen("/proc/self/mountinfo", "re");
  if (table == NULL) return false;
  char *line = NULL, point[PATH_MAX];
  size_t room = 0;
  bool found = true;
  while (found && getline(&line, &room, table) > 0) {
    if (sscanf(line, "%*d %*d %*s %*s %4095s", point) != 1) continue;
    unescape(point);
    for (size_t i = 0; i < own && found; i++) {
      size_t length = strlen(layers[i].path);
      if (strncmp(point, layers[i].path, length) == 0 && point[length] == '/') found = add_layer(layers, count, point);
    }
  }
  free(line);
  fclose(table);
  return found;
}

static int mount_overlay(int lower, int nothing, const char *point) {
  char options[64];
  snprintf(options, sizeof options, "lowerdir=/proc/self/fd/%d:/proc/self/fd/%d", lower, nothing);
  return mount("skerry", point, "overlay", MS_RDONLY | MS_NODEV | MS_NOSUID, options);
}

static void mount_layer(const struct layer *layer, int nothing) {
  if (layer->is_directory && mount_overlay(layer->fd, nothing, layer->path) == 0) return;
  char source[32];
  snprintf(source, sizeof source, "/proc/self/fd/%d", layer->fd);
  if (mount(source, layer->path, NULL, MS_BIND | MS_REC, NULL) < 0)
    die("cannot show what is mounted at %s: %s", layer->path, strerror(errno));
}

/* An overlay takes two directories. False: this kernel, or this user, cannot have any. */
static bool cover_directories(const struct covers *covers) {
  static struct layer layers[MAX_LAYERS];
  size_t count = 0, own = 0;
  if (!find_layers(covers, layers, &count)) return false;
  for (size_t i = 0; i < covers->count; i++)
    if (!is_covered(covers, i)) own++;
  if (own == 0) return true;
  if (mount("none", covers->nothing, "tmpfs", MS_RDONLY | MS_NODEV | MS_NOSUID | MS_NOEXEC, "size=4k,mode=555") < 0) return false;
  int nothing = open(covers->nothing, O_PATH | O_CLOEXEC);
  if (nothing < 0) return false;
  bool done = true;
  for (size_t i = 0; i < own && done; i++) done = mount_overlay(layers[i].fd, nothing, layers[i].path) == 0;
  for (size_t i = own; i < count && done; i++) mount_layer(&layers[i], nothing);
  for (size_t i = 0; i < count; i++) close(layers[i].fd);
  close(nothing);
  return done;
}

/* Those that bubblewrap takes over from here. Only root of the whole machine can make any. */
static void replace_devices(void) {
  static const struct {
    const char *name;
    unsigned number;
  } nodes[] = {{"null", 3}, {"zero", 5}, {"full", 7}, {"random", 8}, {"urandom", 9}};
  if (mount("none", "/dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "size=64k,mode=755") < 0) return;
  bool made = true;
  char path[32];
  for (size_t i = 0; i < sizeof nodes / sizeof *nodes && made; i++) {
    snprintf(path, sizeof path, "/dev/%s", nodes[i].name);
    made = mknod(path, S_IFCHR | 0666, makedev(1, nodes[i].number)) == 0 && chmod(path, 0666) == 0;
  }
  made = made && mknod("/dev/tty", S_IFCHR | 0666, makedev(5, 0)) == 0 && chmod("/dev/tty", 0666) == 0;
  made = made && symlink("/proc/self/fd", "/dev/fd") == 0;
  if (!made) umount2("/dev", MNT_DETACH);
}

/* In a mount namespace of our own, as root. */
bool cover_as_root(const struct covers *covers) {
  if (!is_covered(covers, 0)) replace_devices();
  return cover_directories(covers);
}

static bool write_line(const char *path, const char *line) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  bool written = fd >= 0 && write(fd, line, strlen(line)) == (ssize_t)strlen(line);
  if (fd >= 0) close(fd);
  return written;
}

static bool map_identity(const char *path, unsigned id) {
  char line[64];
  snprintf(line, sizeof line, "%u %u 1", id, id);
  return write_line(path, line);
}

/* Makes the namespaces, says so, and holds them until it is killed. */
__attribute__((noreturn)) static void hold_namespaces(const struct covers *covers, int ready) {
  unsigned uid = getuid(), gid = getgid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_DUMPABLE, 1);
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 || !write_line("/proc/self/setgroups", "deny") ||
      !map_identity("/proc/self/uid_map", uid) || !map_identity("/proc/self/gid_map", gid) ||
      mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 || !cover_directories(covers) || write(ready, "", 1) != 1)
    _exit(1);
  for (;;) pause();
}

static int open_namespace(pid_t pid, const char *kind) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/ns/%s", pid, kind);
  return open(path, O_RDONLY | O_CLOEXEC);
}

/*
 * An ordinary user may mount an overlay in a user namespace only, and a host may allow that to bubblewrap and not to us
 * (AppArmor). So another process tries, and we enter what it has made. What we then may do in there, the next
 * program loses when it starts.
 */
void cover_as_user(const struct covers *covers) {
  int ready[2];
  char done;
  if (pipe2(ready, O_CLOEXEC) < 0) return;
  pid_t holder = fork();
  if (holder == 0) hold_namespaces(covers, ready[1]);
  close(ready[1]);
  bool made = holder > 0 && read(ready[0], &done, 1) == 1;
  close(ready[0]);
  if (made) {
    int user = open_namespace(holder, "user"), files = open_namespace(holder, "mnt");
    if (user >= 0 && files >= 0 && setns(user, CLONE_NEWUSER) == 0 && setns(files, CLONE_NEWNS) < 0)
      die("cannot enter a mount namespace: %s", strerror(errno));
    close_fd(&user);
    close_fd(&files);
  }
  if (holder > 0) {
    kill(holder, SIGKILL);
    while (waitpid(holder, NULL, 0) < 0 && errno == EINTR) continue;
  }
}

/* For a container, on the host. */
int mount_cover(const char *directory, const char *nothing, const char *point) {
  int lower = open(directory, O_PATH | O_CLOEXEC | O_NOFOLLOW), empty = open(nothing, O_PATH | O_CLOEXEC | O_NOFOLLOW);
  struct stat about;
  if (lower < 0 || empty < 0 || lstat(point, &about) < 0 || !S_ISDIR(about.st_mode)) die("nothing to mount at %s", point);
  if (mount_overlay(lower, empty, point) < 0) die("an overlay at %s: %s", point, strerror(errno));
  return 0;
}
