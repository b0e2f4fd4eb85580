/* Sandboxes with cells: the filter that every program gets from us, and commands in cells of their own. */
#define _GNU_SOURCE
#include "cell.h"
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_INSTRUCTIONS 4096u

static struct sock_filter instructions[MAX_INSTRUCTIONS];
static size_t instruction_count;

/* Bubblewrap leaves us what cells take. Whatever we start gets the rest taken away here. */
void cells_enable(const char *filter_path) {
  int fd = open(filter_path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, instructions, sizeof instructions);
  if (n <= 0 || n % (ssize_t)sizeof *instructions != 0 || (size_t)n == sizeof instructions)
    die("no filter for programs in %s", filter_path);
  close(fd);
  instruction_count = (size_t)n / sizeof *instructions;
}

bool cells_enabled(void) { return instruction_count > 0; }

/* What every command of such a sandbox runs behind, in a cell or not. */
void cells_filter_program(void) {
  struct sock_fprog filter = {.len = (unsigned short)instruction_count, .filter = instructions};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0) _exit(126);
}

void cell_limits_parse(const struct field *field, struct cell_limits *limits) {
  uint64_t *values[] = {&limits->workspace_bytes, &limits->workspace_files, &limits->temporary_bytes,
                        &limits->memory_bytes,    &limits->processes,       &limits->file_bytes};
  if (field->length != sizeof values / sizeof *values * 8) die("the host sent bad limits");
  for (size_t i = 0; i < sizeof values / sizeof *values; i++)
    *values[i] = (uint64_t)get_u32(field->data + 8 * i) | (uint64_t)get_u32(field->data + 8 * i + 4) << 32;
}

/* The first process of a cell: ignores the ends of its children, and ends when the outside is gone. */
__attribute__((noreturn)) static void first_process(const struct skerry_cell *cell, int alive) {
  for (int fd = 0; fd < 3; fd++) close(fd);
  if (dup2(alive, 0) < 0) _exit(1);
  close_from(1);
  signal(SIGCHLD, SIG_IGN);
  char byte;
  if (skerry_cell_give_up(cell) < 0) _exit(1);
  while (read(0, &byte, 1) < 0 && errno == EINTR) continue;
  _exit(0);
}

/* Waits for the program, ends everything else in the cell, and ends as the program did. */
__attribute__((noreturn)) static void outlive(pid_t program, pid_t first, int alive) {
  for (int fd = 0; fd < alive; fd++) close(fd);
  close_from(alive + 1);
  int status = 0;
  while (waitpid(program, &status, 0) < 0 && errno == EINTR) continue;
  close(alive);
  while (waitpid(first, NULL, 0) < 0 && errno == EINTR) continue;
  if (WIFSIGNALED(status)) {
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
  }
  _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128);
}

static int put_file(const struct spawn *spawn) {
  int fd = open(spawn->file_path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (fd < 0) return -1;
  for (size_t at = 0; at < spawn->file_length;) {
    ssize_t n = write(fd, spawn->file_data + at, spawn->file_length - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return -1;
    at += (size_t)n;
  }
  return close(fd);
}

/* In a command that is about to become its program: returns only in the process that is in the cell. An errno, or 0. */
int cell_enter(const struct spawn *spawn) {
  struct skerry_cell cell = {
      .workspace_bytes = spawn->limits.workspace_bytes,
      .workspace_files = spawn->limits.workspace_files,
      .temporary_bytes = spawn->limits.temporary_bytes,
      .memory_bytes = spawn->limits.memory_bytes,
      .processes = spawn->limits.processes,
      .file_bytes = spawn->limits.file_bytes,
      .filter = instructions,
      .filter_instructions = (uint32_t)instruction_count,
  };
  long failure = skerry_cell_open(&cell);
  int alive[2];
  if (failure < 0) return (int)(-failure % 1000);
  if (pipe2(alive, O_CLOEXEC) < 0) return errno;
  pid_t first = fork();
  if (first < 0) return errno;
  if (first == 0) {
    close(alive[1]);
    first_process(&cell, alive[0]);
  }
  pid_t program = fork();
  if (program < 0) return errno;
  if (program > 0) outlive(program, first, alive[1]);
  close(alive[0]);
  close(alive[1]);
  if (spawn->file_path != NULL && put_file(spawn) < 0) return errno;
  failure = skerry_cell_lock(&cell);
  return failure < 0 ? (int)(-failure % 1000) : 0;
}
