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
#include <sys/syscall.h>
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

/*
 * Has a command fork itself: it gets the order, and with it the socket on which its fork takes jobs from now on. The fork
 * says which process it is, and the kernel vouches for that.
 */
static bool freeze(struct channel *warm, uint32_t control_id, const struct field *order) {
  struct channel *command = channel_find(control_id);
  int ends[2], on = 1;
  /* Its orders come in the order of the host's, so what was sent before has to be through. */
  if (command == NULL || !command->is_control || command->input < 0 || command->queue_end != command->queue_start) return false;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) return false;
  fcntl(ends[0], F_SETFL, O_RDWR | O_NONBLOCK);
  setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
  warm->frozen = true;
  warm->control = ends[0];
  bool sent = send_with_descriptors(command->input, order->data, order->length, &ends[1], 1);
  close(ends[1]);
  return sent;
}

void warm_start(uint32_t id, struct fields fields) {
  struct channel *warm = channel_add(id, CH_WARM);
  if (warm == NULL) return;
  char *argv[64] = {0}, *env[512] = {0}, *cwd = NULL;
  size_t arguments = 0, variables = 0;
  struct field field, order = {0};
  uint32_t command = 0;
  while (next_field(&fields, &field)) {
    if (field.tag == T_ARG && arguments < 63) argv[arguments++] = copy_string(&field);
    else if (field.tag == T_ENV && variables < 511) env[variables++] = copy_string(&field);
    else if (field.tag == T_CWD && cwd == NULL) cwd = copy_string(&field);
    else if (field.tag == T_FLAGS && field.length == 1) warm->flags = field.data[0];
    else if (field.tag == T_CONTROL && field.length == 4) command = get_u32(field.data);
    else if (field.tag == T_JOB) order = field;
  }
  warm->single = (warm->flags & X_SINGLE) != 0;
  if (command != 0) {
    if (!freeze(warm, command, &order)) tell_gone(warm, "it does not take orders");
    goto done;
  }
  int control[2] = {-1, -1}, null = open("/dev/null", O_RDWR | O_CLOEXEC), error = 0;
  struct spawn spawn = {.argv = argv, .env = env, .cwd = cwd, .fds = {null, null, null, -1}, .forks = !warm->single};
  spawn.makes_cells = !warm->single && (warm->flags & X_CELLS) != 0;
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
  if (warm->pid <= 0) tell_gone(warm, strerror(error < 0 ? -error : error));
done:
  for (size_t i = 0; i < arguments; i++) free(argv[i]);
  for (size_t i = 0; i < variables; i++) free(env[i]);
  free(cwd);
}

/* All of it at once, or nothing counts. */
bool send_with_descriptors(int socket, const void *data, size_t length, const int *fds, size_t count) {
  struct iovec part = {.iov_base = (void *)data, .iov_len = length};
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE(4 * sizeof(int))];
  } rights = {0};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (count > 0) {
    message.msg_control = rights.space;
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(header), fds, count * sizeof(int));
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)length;
}

static bool send_job(struct channel *warm, const struct field *job, const int *fds) {
  size_t count = fds == NULL ? 0 : fds[3] >= 0 ? 4 : 3;
  return send_with_descriptors(warm->control, job->data, job->length, fds, count);
}

/* Tries to hand a command to a warm interpreter. False: the caller starts it cold. */
bool warm_take(struct channel *exec, uint32_t warm_id, const struct field *job) {
  struct channel *warm = channel_find(warm_id);
  if (warm == NULL || warm->kind != CH_WARM || !warm->ready || job->length == 0) return false;
  if (warm->single) {
    /* It has its descriptors already. */
    if (exec->child_end[3] >= 0 || !send_job(warm, job, NULL)) return false;
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

/* One message, and who sent it where that is told; as recv answers. */
static ssize_t receive(struct channel *warm, char *text, size_t length, pid_t *sender) {
  struct iovec part = {.iov_base = text, .iov_len = length};
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(4 * sizeof(int))];
  } about;
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = about.space, .msg_controllen = sizeof about.space};
  *sender = 0;
  ssize_t n = recvmsg(warm->control, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (n < 0) return n;
  for (struct cmsghdr *each = CMSG_FIRSTHDR(&message); each != NULL; each = CMSG_NXTHDR(&message, each)) {
    if (each->cmsg_level != SOL_SOCKET) continue;
    if (each->cmsg_type == SCM_CREDENTIALS) {
      struct ucred credentials;
      memcpy(&credentials, CMSG_DATA(each), sizeof credentials);
      *sender = credentials.pid;
    } else if (each->cmsg_type == SCM_RIGHTS) {
      /* They were not requested. */
      for (size_t at = 0; CMSG_LEN((at + 1) * sizeof(int)) <= each->cmsg_len; at++) {
        int fd;
        memcpy(&fd, CMSG_DATA(each) + at * sizeof fd, sizeof fd);
        close(fd);
      }
    }
  }
  return n;
}

/* Its parent may be a command, which cannot be asked: the kernel tells when it is gone. */
static void watch_process(struct channel *exec) {
#ifdef SYS_pidfd_open
  exec->control = (int)syscall(SYS_pidfd_open, exec->pid, 0);
#endif
}

/* Reads what the interpreter says. It is on the hostile side: nothing here trusts it beyond its own jobs. */
void warm_read(struct channel *warm) {
  char text[1025];
  ssize_t n;
  pid_t sender;
  while ((n = receive(warm, text, sizeof text - 1, &sender)) > 0) {
    text[n] = 0;
    struct channel *pending;
    if (text[0] == 'R') {
      if (warm->frozen) warm->pid = sender;
      warm->ready = true;
      tell_state(warm, 1, "", 0);
    } else if (text[0] == 'W') {
      tell_state(warm, 3, text + 1, (size_t)n - 1);
    } else if (text[0] == 'P' && (pending = oldest_pending(warm)) != NULL) {
      int pid = 0, keeper = 0;
      sscanf(text + 1, "%d %d", &pid, &keeper);
      if (warm->frozen) pid = sender, keeper = 0;
      pending->keeper = keeper;
      if (pid <= 1) continue;
      exec_adopted(pending, pid);
      if (warm->frozen) watch_process(pending);
    } else if (text[0] == 'E' && (pending = oldest_pending(warm)) != NULL) {
      pending->warm = NULL;
      exec_run_cold(pending);
    } else if (text[0] == 'X') {
      job_ended(warm, text + 1);
    }
  }
  if (n != 0) return;
  if (warm->pid > 1) kill(warm->pid, SIGKILL);
  close_fd(&warm->control);
  /* One that a command forked is that command's child, and not for us to collect. */
  if (warm->frozen) warm_died(warm, SIGKILL);
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
