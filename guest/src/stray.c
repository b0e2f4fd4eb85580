/* Finds processes that outlived their command. */
#include "guest.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool owned(pid_t pid) {
  for (struct channel *c = channels; c != NULL; c = c->next) {
    if (c->closed || c->pid != pid) continue;
    if (c->kind == CH_WARM) return true;
    if (c->kind == CH_EXEC && c->state == X_RUNNING) return true;
  }
  return false;
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
 * A command's descendants stay below it while it lives (it is a subreaper). So whatever is a child of ours
 * without being a known command or warm interpreter has outlived its command or fled from it. Nothing can become
 * a child of a warm interpreter that it did not fork itself: the filter refuses CLONE_PARENT.
 */
int kill_strays(void) {
  int found = kill_unowned_children(getpid());
  /* A frozen command adopts what its forks leave behind. */
  for (struct channel *c = channels; c != NULL; c = c->next)
    if (!c->closed && c->kind == CH_WARM && c->frozen && c->pid > 1) found += kill_unowned_children(c->pid);
  /* Looked at now, and killed if they were still there: a program may have put another process in a keeper's place. */
  for (size_t i = 0; i < sizeof keepers / sizeof *keepers; i++)
    if (now_ms() >= keepers[i].until_ms) keepers[i].pid = 0;
  return found;
}
