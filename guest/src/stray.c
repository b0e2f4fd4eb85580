/* Finds processes that outlived their command. */
#define _GNU_SOURCE
#include "guest.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/*
 * A command's tag says which pid it has, in two limits that mean nothing to any kernel of today: the one goes up with the
 * pid, the other one down. What it starts inherits both, and a process without privileges can only lower a limit. So it
 * cannot take another command's tag: one of the two would have to rise. Copies of a context have tags below the
 * context's, by the same rule; guest/runners/python/context/context-copies.py makes those.
 */
#define TAG_BASE (INT64_C(1) << 62)
#define TAG_STEP (INT64_C(1) << 23)
#define TAG_COPY (INT64_C(1) << 22) /* more than any pid */

bool tag_command(pid_t pid) {
  struct rlimit up = {.rlim_cur = (rlim_t)(TAG_BASE + pid * TAG_STEP)}, down = {.rlim_cur = (rlim_t)(TAG_BASE - pid * TAG_STEP)};
  up.rlim_max = up.rlim_cur;
  down.rlim_max = down.rlim_cur;
  return setrlimit(RLIMIT_LOCKS, &up) == 0 && setrlimit(RLIMIT_RTTIME, &down) == 0;
}

/* A hard limit by its line in /proc/PID/limits; -1: there is none. */
static int64_t hard_limit(const char *limits, const char *name) {
  unsigned long long value;
  const char *line = strstr(limits, name);
  bool found = line != NULL && sscanf(line + strlen(name), "%*s %llu", &value) == 1 && value <= INT64_MAX;
  return found ? (int64_t)value : -1;
}

/* The pid in a process's tag; 0: none that could be one. */
static pid_t tag_of(pid_t pid) {
  char path[64], limits[4096];
  snprintf(path, sizeof path, "/proc/%d/limits", pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t n = read(fd, limits, sizeof limits - 1);
  close(fd);
  if (n <= 0) return 0;
  limits[n] = 0;
  int64_t up = hard_limit(limits, "Max file locks"), down = hard_limit(limits, "Max realtime timeout");
  if (up < 0 || down < 0) return 0;
  int64_t rise = up - TAG_BASE, fall = TAG_BASE - down;
  if (rise <= 0 || rise >= TAG_COPY * TAG_STEP) return 0;
  if (fall == rise && rise % TAG_STEP == 0) return (pid_t)(rise / TAG_STEP);
  if (fall == rise + TAG_COPY + 1) return (pid_t)((rise + TAG_COPY) % TAG_STEP);
  return 0;
}

static bool runs(pid_t pid) {
  for (struct channel *c = channels; c != NULL; c = c->next)
    if (!c->closed && c->kind == CH_EXEC && c->state == X_RUNNING && c->pid == pid) return true;
  return false;
}

static bool owned(pid_t pid) {
  for (struct channel *c = channels; c != NULL; c = c->next)
    if (!c->closed && c->kind == CH_WARM && c->pid == pid) return true;
  if (runs(pid)) return true;
  /* An orphan of one that runs. */
  pid_t tag = tag_of(pid);
  return tag > 1 && runs(tag);
}

/* Keepers of commands that have ended, and until when they are left alone. */
static struct keeper {
  pid_t pid;
  uint64_t until_ms;
} keepers[16];

/* A keeper is not waited for. It exits when its interpreter releases it, or is killed later with the strays. */
void keeper_leave(pid_t pid) {
  static size_t next;
  if (pid > 1) keepers[next++ % (sizeof keepers / sizeof *keepers)] = (struct keeper){pid, now_ms() + KEEPER_LEAVE_MS};
}

bool keepers_due(void) {
  for (size_t i = 0; i < sizeof keepers / sizeof *keepers; i++)
    if (keepers[i].pid > 1 && now_ms() >= keepers[i].until_ms) return true;
  return false;
}

bool keepers_on_leave(void) {
  for (size_t i = 0; i < sizeof keepers / sizeof *keepers; i++)
    if (keepers[i].pid > 1) return true;
  return false;
}

static bool is_on_leave(pid_t pid) {
  for (size_t i = 0; i < sizeof keepers / sizeof *keepers; i++)
    if (keepers[i].pid == pid) return now_ms() < keepers[i].until_ms;
  return false;
}

static int kill_unless_owned(pid_t pid) {
  if (pid <= 1 || owned(pid) || is_on_leave(pid)) return 0;
  kill(pid, SIGKILL);
  return 1;
}

static pid_t parent_of(const char *pid) {
  char path[64], text[512];
  snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0) return -1;
  text[n] = 0;
  /* The name in brackets is the program's own choice; what follows the last bracket is the kernel's. */
  char *after = strrchr(text, ')');
  int parent;
  return after != NULL && sscanf(after + 1, " %*c %d", &parent) == 1 ? parent : -1;
}

/* For kernels without the list of children. */
static int kill_by_scan(pid_t parent) {
  DIR *proc = opendir("/proc");
  if (proc == NULL) die("/proc is missing");
  int found = 0;
  for (struct dirent *entry; (entry = readdir(proc)) != NULL;)
    if (isdigit((unsigned char)entry->d_name[0]) && parent_of(entry->d_name) == parent)
      found += kill_unless_owned(atoi(entry->d_name));
  closedir(proc);
  return found;
}

/* Kills one process's children that belong to no command. Their own children come to us and are found next time. */
static int kill_unowned_children(pid_t parent) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task/%d/children", parent, parent);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return kill_by_scan(parent);
  int found = 0;
  pid_t pid = 0;
  char buffer[4096];
  ssize_t n;
  while ((n = read(fd, buffer, sizeof buffer)) > 0) {
    for (ssize_t i = 0; i < n; i++) {
      if (isdigit((unsigned char)buffer[i])) {
        pid = pid * 10 + (buffer[i] - '0');
      } else {
        found += kill_unless_owned(pid);
        pid = 0;
      }
    }
  }
  close(fd);
  return found;
}

/*
 * What a command's descendants leave behind comes to us. So whatever is a child of ours without being a known command or
 * warm interpreter, or tagged by a command that runs, has outlived its command or fled from it. Nothing can become
 * a child of a warm interpreter that it did not fork itself: the filter refuses CLONE_PARENT.
 */
int kill_strays(void) {
  int found = kill_unowned_children(getpid());
  /* A frozen command adopts what its copies leave behind. */
  for (struct channel *c = channels; c != NULL; c = c->next)
    if (!c->closed && c->kind == CH_WARM && c->frozen && c->pid > 1) found += kill_unowned_children(c->pid);
  /* Looked at now, and killed if they were still there: a program may have put another process in a keeper's place. */
  for (size_t i = 0; i < sizeof keepers / sizeof *keepers; i++)
    if (now_ms() >= keepers[i].until_ms) keepers[i].pid = 0;
  return found;
}
