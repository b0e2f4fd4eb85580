/* Files, and connections on the sandbox's loopback, as streams. */
#define _GNU_SOURCE
#include "guest.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define ACCEPT_REST_MS 100

static void tell_started(struct channel *c) {
  uint8_t payload[5] = {0};
  wire_send(F_STARTED, c->id, payload, sizeof payload);
}

static void fail(struct channel *c, int error, const char *what) {
  wire_failed(c->id, error, what);
  channel_close(c);
}

static char *path_field(struct fields fields, uint32_t *mode) {
  char *path = NULL;
  struct field field;
  while (next_field(&fields, &field)) {
    if (field.tag == T_PATH && path == NULL) path = copy_string(&field);
    else if (field.tag == T_MODE && field.length == 4 && mode != NULL) *mode = get_u32(field.data) & 0777;
  }
  return path;
}

void file_read(uint32_t id, struct fields fields) {
  struct channel *c = channel_add(id, CH_READ);
  if (c == NULL) return;
  c->path = path_field(fields, NULL);
  struct stat about;
  if (c->path == NULL) return fail(c, EINVAL, "no path");
  c->output[0] = open(c->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (c->output[0] < 0 || fstat(c->output[0], &about) < 0) return fail(c, errno, "open");
  if (!S_ISREG(about.st_mode)) return fail(c, S_ISDIR(about.st_mode) ? EISDIR : ENXIO, "not a regular file");
  tell_started(c);
}

static void make_parents(char *path) {
  for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    mkdir(path, 0755);
    *slash = '/';
  }
}

/* Bytes go to a new file beside the target, which takes the target's name when they are all there. */
void file_write(uint32_t id, struct fields fields) {
  struct channel *c = channel_add(id, CH_WRITE);
  if (c == NULL) return;
  uint32_t mode = 0644;
  c->path = path_field(fields, &mode);
  if (c->path == NULL || c->path[0] != '/') return fail(c, EINVAL, "no absolute path");
  make_parents(c->path);
  if (asprintf(&c->temporary, "%s.skerry-%u", c->path, id) < 0) die("out of memory");
  c->input = open(c->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  if (c->input < 0) {
    int error = errno;
    free(c->temporary);
    c->temporary = NULL;
    return fail(c, error, "create");
  }
  fchmod(c->input, mode);
  tell_started(c);
}

void file_write_finish(struct channel *c) {
  int fd = c->input;
  c->input = -1;
  if (close(fd) < 0 || rename(c->temporary, c->path) < 0) return fail(c, errno, "rename");
  free(c->temporary);
  c->temporary = NULL;
  wire_send(F_END, c->id, NULL, 0);
  channel_close(c);
}

static struct sockaddr_in loopback(uint16_t port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

static bool set_socket(struct channel *c, int fd) {
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  c->input = fd;
  c->output[0] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
  return c->output[0] >= 0;
}

void socket_connect(uint32_t id, uint16_t port) {
  struct channel *c = channel_add(id, CH_SOCKET);
  if (c == NULL) return;
  struct sockaddr_in address = loopback(port);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return fail(c, errno, "socket");
  if (!set_socket(c, fd)) return fail(c, errno, "socket");
  c->connecting = true;
  if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0 && errno != EINPROGRESS)
    return fail(c, errno, "connect");
}

void socket_connected(struct channel *c) {
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(c->input, SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) return fail(c, error, "connect");
  c->connecting = false;
  tell_started(c);
  channel_write_input(c);
}

void socket_listen(uint32_t id, uint16_t port) {
  struct channel *c = channel_add(id, CH_LISTENER);
  if (c == NULL) return;
  struct sockaddr_in address = loopback(port);
  int on = 1;
  c->control = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (c->control >= 0) setsockopt(c->control, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (c->control < 0 || bind(c->control, (struct sockaddr *)&address, sizeof address) < 0 ||
      listen(c->control, 128) < 0)
    return fail(c, errno, "listen");
  tell_started(c);
}

/* A command's control socket: a connection of the host's whose other end, which is returned, is the command's. */
int control_open(uint32_t id) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) return -1;
  struct channel *c = channel_add(id, CH_SOCKET);
  if (c == NULL) {
    close(ends[0]);
    close(ends[1]);
    errno = EMFILE;
    return -1;
  }
  fcntl(ends[0], F_SETFL, O_RDWR | O_NONBLOCK);
  c->is_control = true;
  c->input = ends[0];
  c->output[0] = fcntl(ends[0], F_DUPFD_CLOEXEC, 3);
  if (c->output[0] >= 0) return ends[1];
  int error = errno;
  close(ends[1]);
  fail(c, error, "socket");
  errno = error;
  return -1;
}

/* Without a descriptor to accept with, a connection that waits would wake us again at once, forever. */
static uint64_t accept_again_at;

int accept_rest_ms(void) {
  if (accept_again_at == 0) return 0;
  uint64_t now = now_ms();
  if (now < accept_again_at) return (int)(accept_again_at - now);
  accept_again_at = 0;
  return 0;
}

/* Our own channel ids have the top bit set; the host's never do. */
void socket_accept(struct channel *listener) {
  static uint32_t next = ACCEPTED_BIT;
  int fd = accept4(listener->control, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
      accept_again_at = now_ms() + ACCEPT_REST_MS;
    return;
  }
  uint32_t id = next;
  next = ACCEPTED_BIT | (next + 1);
  if (channel_find(id) != NULL) {
    close(fd);
    return;
  }
  struct channel *c = channel_add(id, CH_SOCKET);
  if (c == NULL) {
    close(fd);
    return;
  }
  if (!set_socket(c, fd)) {
    accept_again_at = now_ms() + ACCEPT_REST_MS;
    return channel_close(c);
  }
  uint8_t payload[4];
  put_u32(payload, listener->id);
  wire_send(F_ACCEPTED, id, payload, sizeof payload);
}
