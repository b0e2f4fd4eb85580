/*
 * The guest: first process inside a sandbox. It runs what the host asks for over descriptors 0 and 1 and keeps
 * nothing from the programs it runs. When the host goes away it exits, and the sandbox with it.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

static void add_credit(struct channel *c, const uint8_t *payload, uint32_t length) {
  if (length != 5 || payload[0] > 1) die("the host sent bad credit");
  uint32_t *credit = &c->credit[payload[0]];
  uint32_t more = get_u32(payload + 1);
  if (more > OUTPUT_WINDOW - *credit) die("the host granted more than the window");
  *credit += more;
}

static void handle_frame(uint8_t type, uint32_t id, const uint8_t *payload, uint32_t length) {
  struct fields fields = {.at = payload, .end = payload + length};
  if (id & ACCEPTED_BIT && type != F_DATA && type != F_CREDIT && type != F_CLOSE) die("the host used our ids");
  switch (type) {
    case F_EXEC: return exec_start(id, fields);
    case F_WARM: return warm_start(id, fields);
    case F_READ: return file_read(id, fields);
    case F_WRITE: return file_write(id, fields);
    case F_PING: return wire_send(F_PONG, id, NULL, 0);
    case F_CONNECT:
    case F_LISTEN:
      if (length != 2) die("the host sent no port");
      return type == F_CONNECT ? socket_connect(id, get_u16(payload)) : socket_listen(id, get_u16(payload));
    default: break;
  }
  /* The rest speaks of a channel that may have ended while the frame was on its way. */
  struct channel *c = channel_find(id);
  if (c == NULL) return;
  switch (type) {
    case F_DATA: return channel_accept_data(c, payload, length);
    case F_CREDIT: return add_credit(c, payload, length);
    case F_SIGNAL:
      if (c->kind == CH_EXEC && length == 1) exec_signal(c, payload[0]);
      return;
    case F_KILL:
      if (c->kind == CH_EXEC) exec_kill(c);
      return;
    case F_RESIZE:
      if (c->kind == CH_EXEC && length == 4) exec_resize(c, get_u16(payload), get_u16(payload + 2));
      return;
    case F_DRAIN:
      if (c->kind == CH_EXEC) c->drains = true;
      return;
    case F_CLOSE:
      if (c->kind == CH_EXEC) exec_kill(c);
      else if (c->kind == CH_WARM && c->pid > 1) kill(c->pid, SIGKILL);
      else if (c->kind == CH_SOCKET) socket_close(c);
      else channel_close(c);
      return;
    default: die("the host sent an unknown frame 0x%02x", type);
  }
}

struct interest {
  struct channel *channel;
  enum { ON_INPUT, ON_OUTPUT, ON_ERROR_OUTPUT, ON_CONTROL } what;
};

static struct pollfd polled[2 + 3 * MAX_CHANNELS + 3];
static struct interest interests[2 + 3 * MAX_CHANNELS + 3];

static size_t want(size_t count, int fd, short events, struct channel *c, int what) {
  polled[count] = (struct pollfd){.fd = fd, .events = events};
  interests[count] = (struct interest){.channel = c, .what = what};
  return count + 1;
}

/* Reads from programs only while the host has room, so that nothing here grows with what they print. */
static size_t collect_interests(void) {
  size_t count = 2;
  bool room = wire_has_room(CHUNK);
  for (struct channel *c = channels; c != NULL; c = c->next) {
    if (c->closed) continue;
    bool parked = c->kind == CH_WARM;
    if (c->input >= 0 && !parked && (c->queue_end > c->queue_start || c->connecting))
      count = want(count, c->input, POLLOUT, c, ON_INPUT);
    for (int which = 0; which < 2; which++)
      if (c->output[which] >= 0 && !parked && !c->connecting && c->credit[which] > 0 && room)
        count = want(count, c->output[which], POLLIN, c, which == 0 ? ON_OUTPUT : ON_ERROR_OUTPUT);
    if (c->control >= 0 && (c->kind != CH_LISTENER || (channels_may_accept() && accept_rest_ms() == 0)))
      count = want(count, c->control, POLLIN, c, ON_CONTROL);
  }
  return count;
}

static void serve_channel(struct interest interest) {
  struct channel *c = interest.channel;
  if (c->closed) return;
  switch (interest.what) {
    case ON_INPUT:
      if (c->connecting) socket_connected(c);
      else channel_write_input(c);
      return;
    case ON_OUTPUT: channel_read_output(c, 0); return;
    case ON_ERROR_OUTPUT: channel_read_output(c, 1); return;
    case ON_CONTROL:
      if (c->kind == CH_WARM) warm_read(c);
      else if (c->kind == CH_EXEC) exec_unseen(c);
      else socket_accept(c);
      return;
  }
}

static void hello(void) {
  uint8_t payload[12];
  memcpy(payload, "SKRY", 4);
  put_u32(payload + 4, WIRE_VERSION);
  put_u32(payload + 8, (uint32_t)getpid());
  wire_send(F_HELLO, 0, payload, sizeof payload);
}

/* As the first process our exit ends everything inside. Where we are not, we see to that ourselves. */
static int leave(void) {
  for (struct channel *c = channels; c != NULL; c = c->next)
    if (c->pid > 1) kill(c->pid, SIGKILL), c->pid = 0;
  for (int pass = 0; getpid() != 1 && kill_strays() > 0 && pass < 3000; pass++) {
    usleep(1000);
    exec_reap();
  }
  return 0;
}

static int serve(void) {
  /* Programs of the same user inside must not look into us; our own descriptors are the way out. */
  prctl(PR_SET_DUMPABLE, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  signal(SIGPIPE, SIG_IGN);
  clearenv();
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  sigprocmask(SIG_BLOCK, &children, NULL);
  int ended = signalfd(-1, &children, SFD_NONBLOCK | SFD_CLOEXEC);
  if (ended < 0) die("signalfd: %s", strerror(errno));
  exec_keep_limits();
  wire_init();
  hello();
  for (;;) {
    int timeout = exec_progress();
    channels_sweep();
    wire_flush();
    polled[0] = (struct pollfd){.fd = 0, .events = POLLIN};
    polled[1] = (struct pollfd){.fd = ended, .events = POLLIN};
    size_t count = collect_interests();
    int rest = accept_rest_ms();
    if (rest > 0 && (timeout < 0 || timeout > rest)) timeout = rest;
    if (wire_wants_to_write()) count = want(count, 1, POLLOUT, NULL, 0);
    int ready = poll(polled, count, timeout);
    if (ready < 0 && errno != EINTR) die("poll: %s", strerror(errno));
    if (ready <= 0) continue;
    /* The first channel may take the last room on the wire: let each be first in turn. */
    static size_t turn;
    size_t served = count - 2, first = served == 0 ? 0 : turn++ % served;
    for (size_t i = 0; i < served; i++) {
      size_t at = 2 + (first + i) % served;
      if (polled[at].revents != 0 && interests[at].channel != NULL) serve_channel(interests[at]);
    }
    if (polled[1].revents != 0) {
      struct signalfd_siginfo info[16];
      while (read(ended, info, sizeof info) > 0) continue;
      exec_reap();
    }
    if (polled[0].revents != 0 && !wire_read(handle_frame)) return leave();
  }
}

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "--launch") == 0) return serve_slots(argv[2]);
  if (argc == 2 && strcmp(argv[1], "--watch") == 0) return watch();
  if (argc == 3 && strcmp(argv[1], "--extents") == 0) return print_extents(argv[2]);
  if (argc >= 3 && strcmp(argv[1], "--cells") == 0) {
    cells_enable(argv[2]);
    argc -= 2;
    argv += 2;
  }
  if (argc == 3 && strcmp(argv[1], "--pids") == 0) {
    rlim_t most = strtoul(argv[2], NULL, 10);
    struct rlimit limit = {.rlim_cur = most, .rlim_max = most};
    if (setrlimit(RLIMIT_NPROC, &limit) < 0) die("limit: %s", strerror(errno));
    return serve();
  }
  if (argc == 4 && strcmp(argv[1], "--gvisor") == 0) return serve_in_gvisor(argv[2], argv[3]);
  if (argc == 6 && (strcmp(argv[1], "--mount-image") == 0 || strcmp(argv[1], "--mount-memory") == 0))
    return mount_for_container(argv[1], argv[2], argv[3], argv[4], argv[5]);
  if (argc == 5 && strcmp(argv[1], "--mount-cover") == 0) return mount_cover(argv[2], argv[3], argv[4]);
  if (argc == 3 && strcmp(argv[1], "--unmount") == 0) return unmount(argv[2]);
  if (argc == 1) return serve();
  die("usage: skerry-guest [[--cells FILTER] [--pids N] | --gvisor UID GID | --launch N | --watch | --extents FILE | --mount-image IMAGE POINT UID GID | "
      "--mount-memory LIMITS POINT UID GID | --mount-cover DIRECTORY NOTHING POINT | --unmount POINT]");
}
