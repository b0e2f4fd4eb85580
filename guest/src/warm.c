/* Warm interpreters: started ahead, given a job over a socket. guest/runners/ has their side. */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void tell_state(struct channel *warm, uint8_t state, const char *text, size_t length) {
  uint8_t payload[1 + 1024];
  if (length > 1024) length = 1024;
  payload[0] = state;
  memcpy(payload + 1, text, length);
  wire_send(F_WARM_STATE, warm->id, payload, 1 + length);
}

static void tell_gone(struct channel *warm, const char *why) {
  tell_state(warm, 2, why, strlen(why));
  channel_close(warm);
}

void warm_start(uint32_t id, struct fields fields) {
  struct channel *warm = channel_add(id, CH_WARM);
  if (warm == NULL) return;
  char *argv[64] = {0}, *env[512] = {0}, *cwd = NULL;
  size_t arguments = 0, variables = 0;
  struct field field;
  while (next_field(&fields, &field)) {
    if (field.tag == T_ARG && arguments < 63) argv[arguments++] = copy_string(&field);
    else if (field.tag == T_ENV && variables < 511) env[variables++] = copy_string(&field);
    else if (field.tag == T_CWD && cwd == NULL) cwd = copy_string(&field);
    else if (field.tag == T_FLAGS && field.length == 1) warm->single = (field.data[0] & X_SINGLE) != 0;
  }
  int control[2] = {-1, -1}, null = open("/dev/null", O_RDWR | O_CLOEXEC), error = 0;
  struct spawn spawn = {.argv = argv, .env = env, .cwd = cwd, .fds = {null, null, null, -1}, .forks = !warm->single};
  if (arguments == 0 || null < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0) {
    error = errno != 0 ? errno : EINVAL;
  } else if (warm->single && (error = exec_open_pipes(warm)) == 0) {
    for (int i = 0; i < 3; i++) spawn.fds[i] = warm->child_end[i];
  }
  if (error == 0) {
    spawn.fds[3] = control[1];
    warm->pid = spawn_process(&spawn, &error);
  }
  for (int i = 0; i < 3; i++) close_fd(&warm->child_end[i]);
  close_fd(&control[1]);
  close_fd(&null);
  warm->control = control[0];
  if (warm->control >= 0) fcntl(warm->control, F_SETFL, O_RDWR | O_NONBLOCK);
  for (size_t i = 0; i < arguments; i++) free(argv[i]);
  for (size_t i = 0; i < variables; i++) free(env[i]);
  free(cwd);
  if (warm->pid <= 0) tell_gone(warm, strerror(error < 0 ? -error : error));
}

static bool send_job(struct channel *warm, const struct field *job, const int *fds) {
  struct iovec part = {.iov_base = (void *)job->data, .iov_len = job->length};
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE(3 * sizeof(int))];
  } rights = {0};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (fds != NULL) {
    message.msg_control = rights.space;
    message.msg_controllen = sizeof rights.space;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(3 * sizeof(int));
    memcpy(CMSG_DATA(header), fds, 3 * sizeof(int));
  }
  return sendmsg(warm->control, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)job->length;
}

/* Tries to hand a command to a warm interpreter. False: the caller starts it cold. */
bool warm_take(struct channel *exec, uint32_t warm_id, const struct field *job) {
  struct channel *warm = channel_find(warm_id);
  if (warm == NULL || warm->kind != CH_WARM || !warm->ready || job->length == 0) return false;
  if (warm->single) {
    if (!send_job(warm, job, NULL)) return false;
    exec->input = warm->input;
    exec->output[0] = warm->output[0];
    exec->output[1] = warm->output[1];
    warm->input = warm->output[0] = warm->output[1] = -1;
    exec->pid = warm->pid;
    exec->used_warm = true;
    exec->state = X_RUNNING;
    warm->pid = 0;
    tell_gone(warm, "used");
    return true;
  }
  if (exec_open_pipes(exec) == 0 && send_job(warm, job, exec->child_end)) {
    exec->warm = warm;
    return true;
  }
  close_fd(&exec->input);
  for (int i = 0; i < 2; i++) close_fd(&exec->output[i]);
  for (int i = 0; i < 3; i++) close_fd(&exec->child_end[i]);
  return false;
}

/* The oldest job this interpreter has not answered. New channels go in front, so the last one wins. */
static struct channel *oldest_pending(struct channel *warm) {
  struct channel *oldest = NULL;
  for (struct channel *c = channels; c != NULL; c = c->next)
    if (!c->closed && c->kind == CH_EXEC && c->warm == warm && c->state == X_PENDING) oldest = c;
  return oldest;
}

static void job_ended(struct channel *warm, const char *text) {
  int pid, status;
  long long user, system;
  struct rusage usage = {0};
  if (sscanf(text, "%d %d %lld %lld %ld", &pid, &status, &user, &system, &usage.ru_maxrss) != 5) return;
  usage.ru_utime.tv_sec = user / 1000000, usage.ru_utime.tv_usec = user % 1000000;
  usage.ru_stime.tv_sec = system / 1000000, usage.ru_stime.tv_usec = system % 1000000;
  for (struct channel *c = channels; c != NULL; c = c->next)
    if (!c->closed && c->kind == CH_EXEC && c->warm == warm && c->pid == pid && c->state == X_RUNNING)
      exec_exited(c, status, &usage);
}

/* Reads what the interpreter says. It is on the hostile side: nothing here trusts it beyond its own jobs. */
void warm_read(struct channel *warm) {
  char text[1025];
  ssize_t n;
  while ((n = recv(warm->control, text, sizeof text - 1, MSG_DONTWAIT)) > 0) {
    text[n] = 0;
    struct channel *pending;
    if (text[0] == 'R') {
      warm->ready = true;
      tell_state(warm, 1, "", 0);
    } else if (text[0] == 'W') {
      tell_state(warm, 3, text + 1, (size_t)n - 1);
    } else if (text[0] == 'P' && (pending = oldest_pending(warm)) != NULL) {
      int pid = 0, keeper = 0;
      sscanf(text + 1, "%d %d", &pid, &keeper);
      pending->keeper = keeper;
      if (pid > 1) exec_adopted(pending, pid);
    } else if (text[0] == 'E' && (pending = oldest_pending(warm)) != NULL) {
      pending->warm = NULL;
      exec_run_cold(pending);
    } else if (text[0] == 'X') {
      job_ended(warm, text + 1);
    }
  }
  if (n == 0 && warm->pid > 1) {
    close_fd(&warm->control);
    kill(warm->pid, SIGKILL);
  }
}

/* Jobs it had not taken start cold; children it had not collected are ours now. */
void warm_died(struct channel *warm, int status) {
  if (warm->control >= 0) warm_read(warm);
  warm->pid = 0;
  struct channel *pending;
  while ((pending = oldest_pending(warm)) != NULL) {
    pending->warm = NULL;
    exec_run_cold(pending);
  }
  for (struct channel *c = channels; c != NULL; c = c->next) {
    if (c->closed || c->kind != CH_EXEC || c->warm != warm || c->state != X_RUNNING) continue;
    c->warm = NULL;
    struct rusage unknown = {0};
    if (kill(c->pid, 0) < 0 && errno == ESRCH) exec_exited(c, SIGKILL, &unknown);
  }
  char why[64];
  if (WIFSIGNALED(status)) snprintf(why, sizeof why, "killed by signal %d", WTERMSIG(status));
  else snprintf(why, sizeof why, "exited with status %d", WEXITSTATUS(status));
  tell_gone(warm, why);
}
