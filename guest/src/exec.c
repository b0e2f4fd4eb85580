/* Commands: starting them, signalling them, and seeing them end. */
#define _GNU_SOURCE
#include "guest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How long processes left behind may resist SIGKILL before the host is told to destroy the sandbox. */
#define STRAY_BUDGET_MS 3000
/* How long a new process may take until it is the program. */
#define START_BUDGET_MS 2000
/* How long the parent of a process that is gone may take to say how it ended. */
#define UNSEEN_BUDGET_MS 100

/* One by one where the kernel cannot do it at once: a call is dear there, so only those that exist. */
void close_from(int first) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, ~0u, 0) == 0) return;
#endif
  DIR *open_ones = opendir("/proc/self/fd");
  if (open_ones == NULL) {
    for (int fd = first; fd < 65536; fd++) close(fd);
    return;
  }
  /* What is removed from a list while it is read may hide what follows it: until there is nothing more. */
  for (bool found = true; found; rewinddir(open_ones)) {
    found = false;
    for (struct dirent *entry; (entry = readdir(open_ones)) != NULL;) {
      int fd = atoi(entry->d_name);
      if (entry->d_name[0] != '.' && fd >= first && fd != dirfd(open_ones) && close(fd) == 0) found = true;
    }
  }
  closedir(open_ones);
}

/* The kernel kills a command before it kills us. */
static void prefer_as_memory_victim(void) {
  prctl(PR_SET_DUMPABLE, 1);
  int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  ssize_t ignored = write(fd, "1000", 4);
  (void)ignored;
  close(fd);
}

static struct rlimit own_limits[RLIM_NLIMITS];

/* What every command is to have. */
void exec_keep_limits(void) {
  for (int i = 0; i < RLIM_NLIMITS; i++)
    if (getrlimit((__rlimit_resource_t)i, &own_limits[i]) < 0) die("limits: %s", strerror(errno));
}

/* Where a program may set another one's limits, ours included, the next command has its own all the same. */
static void restore_limits(void) {
  struct rlimit now;
  for (int i = 0; i < RLIM_NLIMITS; i++) {
    __rlimit_resource_t what = (__rlimit_resource_t)i;
    if (getrlimit(what, &now) == 0 && memcmp(&now, &own_limits[i], sizeof now) != 0) setrlimit(what, &own_limits[i]);
  }
}

/*
 * A Landlock domain of its own: a command can neither trace, read nor signal a warm interpreter, another command,
 * or a process that is still becoming one. Kernels before 6.12 do not know the scope; there it is left out, and so
 * it is where no walls were asked for.
 */
static void keep_to_itself(void) {
  if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) return;
  struct {
    uint64_t files, network, scoped;
  } rules = {.scoped = 1u << 1 /* LANDLOCK_SCOPE_SIGNAL */};
  int fd = (int)syscall(444 /* landlock_create_ruleset */, &rules, sizeof rules, 0);
  if (fd < 0) return;
  syscall(446 /* landlock_restrict_self */, fd, 0);
  close(fd);
}

static void child(const struct spawn *spawn, int report) {
  setsid();
  restore_limits();
  /* What this command orphans comes to us. Where we could not tell whose it is, it stays below the command. */
  if (!spawn->forks && !tag_command(getpid())) prctl(PR_SET_CHILD_SUBREAPER, 1);
  for (int signo = 1; signo < NSIG; signo++) signal(signo, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  /* Move our descriptors out of the way first, so that dup2 cannot overwrite one still needed. */
  int last = spawn->fds[3] >= 0 ? 4 : 3;
  int moved[4];
  for (int i = 0; i < last; i++) moved[i] = fcntl(spawn->fds[i], F_DUPFD_CLOEXEC, 10);
  report = fcntl(report, F_DUPFD_CLOEXEC, 10);
  for (int i = 0; i < last; i++) dup2(moved[i], i);
  if (spawn->terminal) ioctl(0, TIOCSCTTY, 0);
  int error = 0;
  if (report != last && dup2(report, last) == last) report = last;
  fcntl(report, F_SETFD, FD_CLOEXEC);
  close_from(last + 1);
  /* Only now, without the wire's descriptors, may other processes look into this one. */
  prefer_as_memory_victim();
  if (spawn->cell) error = cell_enter(spawn);
  keep_to_itself();
  if (cells_enabled() && !spawn->cell && !spawn->makes_cells) cells_filter_program();
  if (error == 0 && spawn->cwd != NULL && chdir(spawn->cwd) < 0) error = -errno;
  if (error == 0) {
    environ = spawn->env;
    execvp(spawn->argv[0], spawn->argv);
    error = errno;
  }
  ssize_t ignored = write(report, &error, sizeof error);
  (void)ignored;
  _exit(127);
}

/* Forks and executes. On failure -1 and *error: an errno, negative if it was the working directory's. */
pid_t spawn_process(const struct spawn *spawn, int *error) {
  int report[2];
  /* A pipe could be opened through /proc by another command, where the kernel lets it look (gVisor), and kept open. */
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, report) < 0) {
    *error = errno;
    return -1;
  }
  pid_t pid = fork();
  if (pid == 0) child(spawn, report[1]);
  if (pid < 0) *error = errno;
  close(report[1]);
  if (pid > 0) {
    /* A program inside may stop it before its exec, or, in gVisor, us: the wait must end. */
    struct pollfd answer = {.fd = report[0], .events = POLLIN};
    uint64_t until = now_ms() + START_BUDGET_MS;
    int ready;
    do {
      uint64_t now = now_ms();
      ready = poll(&answer, 1, now < until ? (int)(until - now) : 0);
    } while (ready < 0 && errno == EINTR);
    if (ready <= 0) kill(pid, SIGKILL);
    ssize_t n;
    do n = read(report[0], error, sizeof *error);
    while (n < 0 && errno == EINTR);
    if (n == sizeof *error) {
      waitpid(pid, NULL, 0);
      pid = -1;
    }
  }
  close(report[0]);
  return pid;
}

static void widen(int fd) { fcntl(fd, F_SETPIPE_SZ, 256 * 1024); }

/* Three pipes, or a terminal. Our ends do not block; the command's do. */
static int open_ends(struct channel *c, uint16_t rows, uint16_t columns) {
  if (c->flags & X_TERMINAL) {
    struct winsize size = {.ws_row = rows, .ws_col = columns};
    int master, slave;
    if (openpty(&master, &slave, NULL, NULL, &size) < 0) return errno;
    fcntl(master, F_SETFD, FD_CLOEXEC);
    fcntl(master, F_SETFL, O_RDWR | O_NONBLOCK);
    fcntl(slave, F_SETFD, FD_CLOEXEC);
    c->input = master;
    c->output[0] = fcntl(master, F_DUPFD_CLOEXEC, 3);
    c->child_end[0] = slave;
    c->child_end[1] = fcntl(slave, F_DUPFD_CLOEXEC, 3);
    c->child_end[2] = fcntl(slave, F_DUPFD_CLOEXEC, 3);
    return 0;
  }
  int ends[2];
  for (int i = 0; i < 3; i++) {
    if (pipe2(ends, O_CLOEXEC) < 0) return errno;
    int ours = i == 0 ? ends[1] : ends[0];
    c->child_end[i] = i == 0 ? ends[0] : ends[1];
    if (i == 0) c->input = ours;
    else c->output[i - 1] = ours;
    fcntl(ours, F_SETFL, (i == 0 ? O_WRONLY : O_RDONLY) | O_NONBLOCK);
    if (i == 1) widen(ours);
  }
  return 0;
}

static char **add_string(char **strings, size_t *count, char *string) {
  strings = realloc(strings, (*count + 2) * sizeof *strings);
  if (strings == NULL) die("out of memory");
  strings[(*count)++] = string;
  strings[*count] = NULL;
  return strings;
}

static void tell_started(struct channel *c) {
  uint8_t payload[5];
  put_u32(payload, (uint32_t)c->pid);
  payload[4] = c->used_warm;
  wire_send(F_STARTED, c->id, payload, sizeof payload);
}

static void fail(struct channel *c, int error, const char *what) {
  wire_failed(c->id, error, what);
  channel_close(c);
}

/* Starts the command as an ordinary process. */
void exec_run_cold(struct channel *c) {
  struct spawn spawn = {
      .argv = c->argv,
      .env = c->env,
      .cwd = c->cwd,
      .fds = {c->child_end[0], c->child_end[1], c->child_end[2], c->child_end[3]},
      .terminal = (c->flags & X_TERMINAL) != 0,
      .cell = c->cell != NULL,
      .file_path = c->path,
      .file_data = c->file,
      .file_length = c->file_length,
  };
  if (c->cell != NULL) spawn.limits = *c->cell;
  int error = 0;
  c->pid = spawn_process(&spawn, &error);
  if (c->pid < 0) {
    fail(c, error < 0 ? -error : error, error < 0 ? "cwd" : "exec");
    return;
  }
  for (int i = 0; i < 4; i++) close_fd(&c->child_end[i]);
  c->state = X_RUNNING;
  tell_started(c);
  if (c->kill_requested) exec_kill(c);
}

void exec_start(uint32_t id, struct fields fields) {
  struct channel *c = channel_add(id, CH_EXEC);
  if (c == NULL) return;
  c->state = X_PENDING;
  size_t arguments = 0, variables = 0;
  uint16_t rows = 24, columns = 80;
  uint32_t warm = 0, control = 0;
  struct field field, job = {0};
  c->env = calloc(1, sizeof *c->env);
  while (next_field(&fields, &field)) {
    if (field.tag == T_ARG) c->argv = add_string(c->argv, &arguments, copy_string(&field));
    else if (field.tag == T_ENV) c->env = add_string(c->env, &variables, copy_string(&field));
    else if (field.tag == T_CWD && c->cwd == NULL) c->cwd = copy_string(&field);
    else if (field.tag == T_FLAGS && field.length == 1) c->flags = field.data[0];
    else if (field.tag == T_SIZE && field.length == 4) rows = get_u16(field.data), columns = get_u16(field.data + 2);
    else if (field.tag == T_WARM && field.length == 4) warm = get_u32(field.data);
    else if (field.tag == T_JOB) job = field;
    else if (field.tag == T_CONTROL && field.length == 4) control = get_u32(field.data);
    else if (field.tag == T_PATH && c->path == NULL) c->path = copy_string(&field);
    else if (field.tag == T_FILE && c->file == NULL) {
      c->file = (uint8_t *)copy_string(&field);
      c->file_length = field.length;
    }
    else if (field.tag == T_CELL && c->cell == NULL) {
      if ((c->cell = calloc(1, sizeof *c->cell)) == NULL) die("out of memory");
      cell_limits_parse(&field, c->cell);
    }
  }
  if (c->cell != NULL && !cells_enabled()) {
    fail(c, ENOTSUP, "cells");
    return;
  }
  if (arguments == 0) {
    fail(c, EINVAL, "no command");
    return;
  }
  if (control != 0 && (c->child_end[3] = control_open(control)) < 0) {
    fail(c, errno, "control");
    return;
  }
  /* A warm interpreter brings pipes of its own or takes ours. */
  if (warm != 0 && (c->flags & X_TERMINAL) == 0 && warm_take(c, warm, &job)) {
    if (c->state == X_RUNNING) tell_started(c);
    return;
  }
  int error = open_ends(c, rows, columns);
  if (error != 0) fail(c, error, "pipe");
  else exec_run_cold(c);
}

/* Pipes for a job that a warm interpreter is asked to take. */
int exec_open_pipes(struct channel *c) { return open_ends(c, 0, 0); }

/* A warm interpreter said which process runs the job. */
void exec_adopted(struct channel *c, pid_t pid) {
  for (int i = 0; i < 4; i++) close_fd(&c->child_end[i]);
  c->pid = pid;
  c->used_warm = true;
  c->state = X_RUNNING;
  tell_started(c);
  if (c->kill_requested) exec_kill(c);
}

/* Every command is the leader of its own process group. */
void exec_signal(struct channel *c, int signo) {
  if (c->state == X_RUNNING && c->pid > 1) kill(-c->pid, signo);
}

void exec_kill(struct channel *c) {
  c->kill_requested = true;
  /* A warm interpreter that does not answer may have been stopped; without it the job starts cold, and dies. */
  if (c->state == X_PENDING && c->warm != NULL && c->warm->pid > 1) kill(c->warm->pid, SIGKILL);
  if (c->state != X_RUNNING || c->pid <= 1) return;
  kill(-c->pid, SIGKILL);
  kill(c->pid, SIGKILL);
}

void exec_resize(struct channel *c, uint16_t rows, uint16_t columns) {
  if ((c->flags & X_TERMINAL) == 0 || c->input < 0) return;
  struct winsize size = {.ws_row = rows, .ws_col = columns};
  ioctl(c->input, TIOCSWINSZ, &size);
}

/*
 * Of a command that a frozen one forked: its process has ended. Its parent tells how, unless that is gone as well; the one
 * that has it now may be another command, which we cannot ask.
 */
void exec_unseen(struct channel *c) {
  close_fd(&c->control);
  c->unseen_since = now_ms();
}

void exec_exited(struct channel *c, int status, const struct rusage *usage) {
  if (c->state == X_EXITED || c->state == X_DRAINING) return;
  close_fd(&c->control);
  c->state = X_EXITED;
  c->status = status;
  c->usage = *usage;
  close_fd(&c->input);
  keeper_leave(c->keeper);
}

/* Collects every child that has ended: commands, warm interpreters, and orphans handed to us. */
void exec_reap(void) {
  for (;;) {
    int status;
    struct rusage usage;
    pid_t pid = wait4(-1, &status, WNOHANG, &usage);
    if (pid <= 0) return;
    for (struct channel *c = channels; c != NULL; c = c->next) {
      if (c->closed || c->pid != pid) continue;
      if (c->kind == CH_EXEC && c->state == X_RUNNING) exec_exited(c, status, &usage);
      else if (c->kind == CH_WARM) warm_died(c, status);
    }
  }
}

static uint64_t microseconds(struct timeval time) { return (uint64_t)time.tv_sec * 1000000u + (uint64_t)time.tv_usec; }

static void tell_exit(struct channel *c) {
  uint8_t payload[24];
  bool signaled = WIFSIGNALED(c->status);
  payload[0] = signaled;
  payload[1] = !c->unclean;
  payload[2] = c->used_warm;
  payload[3] = (uint8_t)(signaled ? WTERMSIG(c->status) : WEXITSTATUS(c->status));
  put_u64(payload + 4, microseconds(c->usage.ru_utime) + microseconds(c->usage.ru_stime));
  put_u64(payload + 12, (uint64_t)c->usage.ru_maxrss);
  put_u32(payload + 20, 0);
  wire_send(F_EXIT, c->id, payload, sizeof payload);
  channel_close(c);
}

uint64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

/* Told when both outputs were found empty: what was printed before the host asked is on the wire then. */
static void drain(struct channel *c) {
  bool empty = true;
  for (int which = 0; which < 2; which++) {
    bool more = c->output[which] >= 0;
    while (more && c->credit[which] > 0 && wire_has_room(CHUNK)) more = channel_read_output(c, which);
    if (more) empty = false;
  }
  if (!empty) return;
  c->drains = false;
  wire_send(F_PONG, c->id, NULL, 0);
}

/* Looks after running commands; how many milliseconds until it wants to again, or -1. */
static int watch_running(void) {
  int again = -1;
  for (struct channel *c = channels; c != NULL; c = c->next) {
    if (c->closed || c->kind != CH_EXEC || c->state != X_RUNNING) continue;
    if (c->drains) drain(c);
    if (c->unseen_since == 0) continue;
    if (now_ms() - c->unseen_since < UNSEEN_BUDGET_MS) {
      again = UNSEEN_BUDGET_MS;
    } else {
      struct rusage unknown = {0};
      exec_exited(c, SIGKILL, &unknown);
    }
  }
  return again;
}

/*
 * A finished command waits until nothing it started is alive; what those processes wrote is in the pipes by
 * then, so reading until there is no more is reading all of it.
 */
int exec_progress(void) {
  static uint64_t strays_since;
  static int passes;
  bool waiting = false;
  int again = watch_running();
  for (struct channel *c = channels; c != NULL; c = c->next)
    if (!c->closed && c->kind == CH_EXEC && c->state == X_EXITED) waiting = true;
  if (waiting || keepers_due()) {
    bool gave_up = false;
    if (kill_strays() > 0) {
      exec_reap();
      if (passes++ == 0) strays_since = now_ms();
      if (now_ms() - strays_since < STRAY_BUDGET_MS) return passes < 20 ? 0 : 1;
      gave_up = true;
    }
    passes = 0;
    for (struct channel *c = channels; c != NULL; c = c->next)
      if (!c->closed && c->kind == CH_EXEC && c->state == X_EXITED) {
        c->unclean = gave_up;
        c->state = X_DRAINING;
      }
  }
  for (struct channel *c = channels; c != NULL; c = c->next) {
    if (c->closed || c->kind != CH_EXEC || c->state != X_DRAINING) continue;
    for (int which = 0; which < 2; which++)
      while (c->output[which] >= 0 && c->credit[which] > 0 && wire_has_room(CHUNK))
        if (!channel_read_output(c, which)) close_fd(&c->output[which]);
    if (c->output[0] < 0 && c->output[1] < 0) tell_exit(c);
  }
  return keepers_on_leave() ? KEEPER_LEAVE_MS : again;
}
