/*
 * Workspaces that the kernel keeps within their limits: a file system in a file, or memory. Run on the host, as root:
 * by the launcher in a namespace of the sandbox's own, or by itself for a container, which takes it from the host's.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATIENCE 2500 /* times 2 ms */

/*
 * Two devices with one image would destroy it. The lock sits on the open file, which the loop device keeps until it
 * detaches, so the holder of the lock may attach.
 */
int open_image(const char *path) {
  int backing = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (backing < 0) die("workspace image: %s", strerror(errno));
  return backing;
}

/* Attaches the image to a free loop device that detaches itself with its last user. */
static int attach_loop(int backing, char device[32]) {
  int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
  if (control < 0) die("loop control: %s", strerror(errno));
  for (int attempt = 0; attempt < 64; attempt++) {
    int number = ioctl(control, LOOP_CTL_GET_FREE);
    if (number < 0) die("no free loop device: %s", strerror(errno));
    snprintf(device, 32, "/dev/loop%d", number);
    int loop = open(device, O_RDWR | O_CLOEXEC);
    if (loop < 0) continue;
    struct loop_config config = {.fd = (uint32_t)backing, .block_size = 4096, .info.lo_flags = LO_FLAGS_AUTOCLEAR};
    if (ioctl(loop, LOOP_CONFIGURE, &config) == 0) {
      close(control);
      return loop;
    }
    int error = errno;
    close(loop);
    /* Another launcher took the same number. */
    if (error != EBUSY) die("loop device: %s", strerror(error));
  }
  die("no free loop device after 64 attempts");
}

/*
 * The device that has this image already, or -1. While it is open it does not detach: what we see of it then holds
 * until we close it. A second mount of one device is the same file system, not a rival.
 */
int find_loop(int backing, char device[32]) {
  struct stat image;
  if (fstat(backing, &image) < 0) die("workspace image: %s", strerror(errno));
  DIR *devices = opendir("/sys/block");
  if (devices == NULL) return -1;
  int found = -1;
  for (struct dirent *entry; found < 0 && (entry = readdir(devices)) != NULL;) {
    int number;
    char rest, path[64];
    if (sscanf(entry->d_name, "loop%d%c", &number, &rest) != 1) continue;
    snprintf(path, sizeof path, "/sys/block/loop%d/loop", number);
    if (access(path, F_OK) < 0) continue;
    snprintf(device, 32, "/dev/loop%d", number);
    int loop = open(device, O_RDONLY | O_CLOEXEC);
    if (loop < 0) continue;
    struct loop_info64 info;
    bool same = ioctl(loop, LOOP_GET_STATUS64, &info) == 0 && info.lo_inode == image.st_ino &&
                info.lo_device == image.st_dev && info.lo_offset == 0;
    if (same) found = loop;
    else close(loop);
  }
  closedir(devices);
  return found;
}

void mount_device(const char *device, const char *mount_point, uint32_t uid, uint32_t gid) {
  if (mount(device, mount_point, "ext4", MS_NOSUID | MS_NODEV | MS_NOATIME, "noinit_itable") < 0)
    die("mounting the workspace: %s", strerror(errno));
  char leftover[4096];
  snprintf(leftover, sizeof leftover, "%s/lost+found", mount_point);
  rmdir(leftover);
  if (chown(mount_point, uid, gid) < 0 || chmod(mount_point, 0700) < 0) die("workspace owner: %s", strerror(errno));
}

/* The caller has the image's lock. */
void mount_image(int backing, const char *mount_point, uint32_t uid, uint32_t gid) {
  char device[32];
  int loop = attach_loop(backing, device);
  mount_device(device, mount_point, uid, gid);
  close(loop);
}

/* For a workspace that is not kept: quicker than a disk, and within its limits all the same. */
void mount_memory(const char *mount_point, const char *limits, uint32_t uid, uint32_t gid) {
  char options[256];
  snprintf(options, sizeof options, "%s,mode=0700,uid=%u,gid=%u", limits, uid, gid);
  if (mount("tmpfs", mount_point, "tmpfs", MS_NOSUID | MS_NODEV, options) < 0)
    die("mounting the workspace: %s", strerror(errno));
}

static void mount_shared_image(const char *image, const char *mount_point, uint32_t uid, uint32_t gid) {
  int backing = open_image(image);
  for (int attempt = 0; flock(backing, LOCK_EX | LOCK_NB) < 0; attempt++) {
    char device[32];
    int loop = find_loop(backing, device);
    if (loop >= 0) {
      mount_device(device, mount_point, uid, gid);
      close(loop);
      close(backing);
      return;
    }
    if (attempt == PATIENCE) die("the workspace is in use and cannot be shared");
    usleep(2000);
  }
  mount_image(backing, mount_point, uid, gid);
  close(backing);
}

static uint32_t number(const char *text) {
  char *end;
  errno = 0;
  unsigned long value = strtoul(text, &end, 10);
  if (errno != 0 || *text < '0' || *text > '9' || *end != 0 || value > UINT32_MAX) die("not a number: %s", text);
  return (uint32_t)value;
}

int mount_for_container(const char *how, const char *what, const char *mount_point, const char *uid, const char *gid) {
  /* A link in the mount point's place would put the workspace, and its owner, somewhere else. */
  struct stat about;
  if (lstat(mount_point, &about) < 0 || !S_ISDIR(about.st_mode)) die("%s is no directory", mount_point);
  if (strcmp(how, "--mount-image") == 0) mount_shared_image(what, mount_point, number(uid), number(gid));
  else mount_memory(mount_point, what, number(uid), number(gid));
  return 0;
}

/* Everything that is mounted there. Open files keep it alive, out of reach, until they are closed. */
int unmount(const char *mount_point) {
  for (int layers = 0; umount2(mount_point, MNT_DETACH | UMOUNT_NOFOLLOW) == 0; layers++)
    if (layers == 64) die("too many mounts at %s", mount_point);
  if (errno != EINVAL && errno != ENOENT) die("unmounting %s: %s", mount_point, strerror(errno));
  return 0;
}
