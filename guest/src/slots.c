/*
 * The launcher: one small process that forks for the host, whose own fork would cost it milliseconds. It serves so
 * many slots, one sandbox each. A slot's wire stays silent until its orders arrive; then a child takes the wire over
 * and follows them (launch.c). The control socket is the launcher's and the host's alone: no child keeps it, so
 * nothing behind the walls can speak in the launcher's name. When the host goes away, every child is killed.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONTROL_FD 3
#define FIRST_WIRE_FD 4
#define MAX_SLOTS 64
#define MAX_COMPLAINTS 4096
#define REPORT_HEADER 16

/* A report to the host: u32 kind, u32 slot, i32 value, u32 length, and so many bytes. */
enum report_kind {
  REPORT_STARTED = 1, /* value: the child's pid */
  REPORT_ENDED = 2,   /* value: its exit status, or minus the signal; the bytes: what it complained about */
};

struct slot {
  int wire;       /* -1 once it is a child's, or given up */
  pid_t pid;      /* 0 unless there is a child that was not collected yet */
  int complaints; /* where the child's standard error arrives */
};

static struct slot slots[MAX_SLOTS];
static uint32_t slot_count;

/* Waits while the host is slow to read: there is no one else to serve. A host that is gone is seen elsewhere. */
static void report(enum report_kind kind, uint32_t slot, int value, uint8_t *message, size_t length) {
  put_u32(message, kind);
  put_u32(message + 4, slot);
  put_u32(message + 8, (uint32_t)value);
  put_u32(message + 12, (uint32_t)length);
  length += REPORT_HEADER;
  while (length > 0) {
    ssize_t n = write(CONTROL_FD, message, length);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return;
    message += n;
    length -= (size_t)n;
  }
}

static void report_ended(uint32_t slot, int value, const char *why) {
  uint8_t message[REPORT_HEADER + MAX_COMPLAINTS];
  size_t length = strnlen(why, MAX_COMPLAINTS);
  memcpy(message + REPORT_HEADER, why, length);
  report(REPORT_ENDED, slot, value, message, length);
}

/* In the child. Nothing of the launcher may reach what comes next, the control socket least of all. */
__attribute__((noreturn)) static void become_sandbox(int wire, int complaints, pid_t launcher) {
  if (dup2(wire, 0) < 0 || dup2(wire, 1) < 0 || dup2(complaints, 2) < 0) _exit(70);
  close_from(3);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  signal(SIGPIPE, SIG_DFL);
  /* A group of its own: a signal to the launcher's must not reach it. */
  setsid();
  /* Until bubblewrap sees to that itself. The launcher may have died just before. */
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher) die("the launcher is gone");
  launch();
}

static void start(uint32_t index) {
  struct slot *slot = &slots[index];
  uint8_t first;
  ssize_t n = recv(slot->wire, &first, 1, MSG_PEEK | MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return close_fd(&slot->wire); /* the host does not need it any more */
  int complaints[2] = {-1, -1};
  pid_t launcher = getpid();
  if (pipe2(complaints, O_CLOEXEC) == 0 && fcntl(complaints[0], F_SETFL, O_NONBLOCK) == 0) slot->pid = fork();
  else slot->pid = -1;
  if (slot->pid == 0) become_sandbox(slot->wire, complaints[1], launcher);
  int error = errno;
  close_fd(&slot->wire);
  close_fd(&complaints[1]);
  if (slot->pid < 0) {
    slot->pid = 0;
    close_fd(&complaints[0]);
    return report_ended(index, 70, strerror(error));
  }
  slot->complaints = complaints[0];
  uint8_t message[REPORT_HEADER];
  report(REPORT_STARTED, index, slot->pid, message, 0);
}

/* No pid is used again before it was collected, and that happens here only. */
static void collect(void) {
  int status;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    for (uint32_t i = 0; i < slot_count; i++) {
      if (slots[i].pid != pid) continue;
      uint8_t message[REPORT_HEADER + MAX_COMPLAINTS];
      /* Its output is in the pipe by now; anything later is dropped. */
      ssize_t n = read(slots[i].complaints, message + REPORT_HEADER, MAX_COMPLAINTS);
      close_fd(&slots[i].complaints);
      slots[i].pid = 0;
      int value = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
      report(REPORT_ENDED, i, value, message, n > 0 ? (size_t)n : 0);
    }
  }
}

static void kill_slot(uint32_t index) {
  struct slot *slot = &slots[index];
  if (slot->pid > 0) {
    kill(slot->pid, SIGKILL);
  } else if (slot->wire >= 0) {
    close_fd(&slot->wire);
    report_ended(index, -SIGKILL, "");
  }
}

/* Every byte from the host is the number of a slot to kill. False: the host is gone. */
static bool read_control(void) {
  uint8_t doomed[MAX_SLOTS];
  ssize_t n = recv(CONTROL_FD, doomed, sizeof doomed, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  for (ssize_t i = 0; i < n; i++)
    if (doomed[i] < slot_count) kill_slot(doomed[i]);
  return n > 0;
}

static bool is_needed(void) {
  for (uint32_t i = 0; i < slot_count; i++)
    if (slots[i].wire >= 0 || slots[i].pid > 0) return true;
  return false;
}

int serve_slots(const char *count) {
  slot_count = (uint32_t)strtoul(count, NULL, 10);
  if (slot_count < 1 || slot_count > MAX_SLOTS) die("from 1 to %d slots, not %s", MAX_SLOTS, count);
  for (uint32_t i = 0; i < slot_count; i++) slots[i] = (struct slot){.wire = FIRST_WIRE_FD + (int)i, .complaints = -1};
  signal(SIGPIPE, SIG_IGN);
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  sigprocmask(SIG_BLOCK, &children, NULL);
  int ended = signalfd(-1, &children, SFD_NONBLOCK | SFD_CLOEXEC);
  if (ended < 0) die("signalfd: %s", strerror(errno));
  struct pollfd polled[2 + MAX_SLOTS] = {{.fd = CONTROL_FD, .events = POLLIN}, {.fd = ended, .events = POLLIN}};
  while (is_needed()) {
    for (uint32_t i = 0; i < slot_count; i++) polled[2 + i] = (struct pollfd){.fd = slots[i].wire, .events = POLLIN};
    if (poll(polled, 2 + slot_count, -1) < 0) {
      if (errno == EINTR) continue;
      die("poll: %s", strerror(errno));
    }
    if (polled[1].revents != 0) {
      struct signalfd_siginfo info[16];
      while (read(ended, info, sizeof info) > 0) continue;
      collect();
    }
    for (uint32_t i = 0; i < slot_count; i++)
      if (polled[2 + i].revents != 0) start(i);
    if (polled[0].revents != 0 && !read_control()) {
      for (uint32_t i = 0; i < slot_count; i++) kill_slot(i);
      polled[0].fd = -1;
    }
  }
  return 0;
}
