/*
 * What makes a cell. No libc: the zygote loads this into an interpreter with whatever libc that has. Every step that fails
 * ends it with an error; there is no half of a cell.
 */
#define _GNU_SOURCE
#include "cell.h"
#include "hidden-proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/if.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static long call(long number, long a, long b, long c, long d, long e) {
#if defined(__x86_64__)
  long result;
  register long r10 __asm__("r10") = d, r8 __asm__("r8") = e;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c,
                x3 __asm__("x3") = d, x4 __asm__("x4") = e;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
  return x0;
#endif
}

/* Remembers the step in which something failed. */
#define STEP(number, action)                                    \
  do {                                                          \
    long result = (action);                                     \
    if (result < 0) return -((number) * 1000L) + result;        \
  } while (0)

static char *append(char *at, const char *text) {
  while (*text != 0) *at++ = *text++;
  *at = 0;
  return at;
}

static char *append_number(char *at, uint64_t number) {
  char digits[24];
  int count = 0;
  do digits[count++] = (char)('0' + number % 10);
  while ((number /= 10) > 0);
  while (count > 0) *at++ = digits[--count];
  *at = 0;
  return at;
}

static long length_of(const char *text) {
  long length = 0;
  while (text[length] != 0) length++;
  return length;
}

static long put(const char *path, const char *text) {
  long fd = call(SYS_openat, AT_FDCWD, (long)path, O_WRONLY | O_CLOEXEC, 0, 0);
  if (fd < 0) return fd;
  long written = call(SYS_write, fd, (long)text, length_of(text), 0, 0);
  call(SYS_close, fd, 0, 0, 0, 0);
  return written < 0 ? written : 0;
}

/* The same user inside as outside: one line, which is all that an ordinary user may map. */
static long map_identity(const char *path, uint64_t id) {
  char line[64];
  append(append_number(append(append_number(line, id), " "), id), " 1");
  return put(path, line);
}

static long mount_memory(const char *point, const char *mode, uint64_t bytes, uint64_t files) {
  char options[128];
  char *at = append(append(options, "mode="), mode);
  if (bytes > 0) at = append_number(append(at, ",size="), bytes);
  if (files > 0) append_number(append(at, ",nr_inodes="), files);
  return call(SYS_mount, (long)"tmpfs", (long)point, (long)"tmpfs", MS_NOSUID | MS_NODEV, (long)options);
}

/* A network of its own has a loopback that is down. */
static long raise_loopback(void) {
  struct ifreq request = {.ifr_name = "lo"};
  request.ifr_flags = IFF_UP;
  long fd = call(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0, 0, 0);
  if (fd < 0) return fd;
  long result = call(SYS_ioctl, fd, SIOCSIFFLAGS, (long)&request, 0, 0);
  call(SYS_close, fd, 0, 0, 0, 0);
  return result;
}

long skerry_cell_open(const struct skerry_cell *cell) {
  uint64_t user = (uint64_t)call(SYS_getuid, 0, 0, 0, 0, 0), group = (uint64_t)call(SYS_getgid, 0, 0, 0, 0, 0);
  /* /proc/self is this process's own: not to be opened by others is not to be mapped by itself. */
  STEP(1, call(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0));
  STEP(2, call(SYS_unshare, SKERRY_CELL_NAMESPACES, 0, 0, 0, 0));
  STEP(3, put("/proc/self/setgroups", "deny"));
  STEP(4, map_identity("/proc/self/uid_map", user));
  STEP(5, map_identity("/proc/self/gid_map", group));
  STEP(6, call(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0));
  STEP(7, mount_memory("/workspace", "700", cell->workspace_bytes, cell->workspace_files));
  STEP(8, mount_memory("/tmp", "1777", cell->temporary_bytes, cell->workspace_files));
  STEP(9, mount_memory("/dev/shm", "1777", cell->temporary_bytes, cell->workspace_files));
  STEP(10, call(SYS_mount, (long)"devpts", (long)"/dev/pts", (long)"devpts", MS_NOSUID | MS_NOEXEC,
                (long)"newinstance,ptmxmode=0666,mode=620"));
  STEP(11, raise_loopback());
  return 0;
}

/* One that this kernel does not have, or that only root can open, needs not be hidden. */
static long hide_proc(void) {
  for (unsigned i = 0; i < sizeof hidden_proc / sizeof *hidden_proc; i++) {
    const char *path = hidden_proc[i];
    if (call(SYS_faccessat, AT_FDCWD, (long)path, R_OK, 0, 0) < 0) continue;
    long result = call(SYS_mount, (long)"/dev/null", (long)path, 0, MS_BIND, 0);
    if (result == -ENOTDIR) result = call(SYS_mount, (long)"/opt/skerry/empty", (long)path, 0, MS_BIND, 0);
    if (result < 0) return result;
  }
  return 0;
}

/* Never more than the sandbox has itself, which cannot be raised in here. */
static long limit(int what, uint64_t most) {
  if (most == 0) return 0;
  struct rlimit limit;
  long result = call(SYS_prlimit64, 0, what, 0, (long)&limit, 0);
  if (result < 0) return result;
  if (limit.rlim_max > most) limit.rlim_max = most;
  limit.rlim_cur = limit.rlim_max;
  return call(SYS_prlimit64, 0, what, (long)&limit, 0, 0);
}

static long drop_capabilities(void) {
  for (long capability = 0; call(SYS_prctl, PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++) {
    long dropped = call(SYS_prctl, PR_CAPBSET_DROP, capability, 0, 0, 0);
    if (dropped < 0) return dropped;
  }
  struct __user_cap_header_struct self = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct none[2] = {{0}, {0}};
  return call(SYS_capset, (long)&self, (long)none, 0, 0, 0);
}

long skerry_cell_lock(const struct skerry_cell *cell) {
  STEP(21, call(SYS_mount, (long)"proc", (long)"/proc", (long)"proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, 0));
  /* No cell makes namespaces of its own, whatever the filter would say. */
  STEP(22, put("/proc/sys/user/max_user_namespaces", "0"));
  STEP(23, hide_proc());
  STEP(27, limit(RLIMIT_DATA, cell->memory_bytes));
  STEP(28, limit(RLIMIT_NPROC, cell->processes));
  STEP(29, limit(RLIMIT_FSIZE, cell->file_bytes));
  return skerry_cell_give_up(cell);
}

long skerry_cell_give_up(const struct skerry_cell *cell) {
  STEP(30, call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
  STEP(31, drop_capabilities());
  struct sock_fprog filter = {.len = (unsigned short)cell->filter_instructions, .filter = (struct sock_filter *)cell->filter};
  STEP(32, call(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (long)&filter, 0, 0));
  return 0;
}
