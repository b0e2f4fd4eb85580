/* Channels: bounded queues towards processes, files and sockets, and credit towards the host. */
#include "guest.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct channel *channels;
static int channel_count;
static int accepted_count;

/* Connections that programs make never take the place of what the host asks for. */
bool channels_may_accept(void) { return accepted_count < MAX_ACCEPTED; }

void close_fd(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

struct channel *channel_find(uint32_t id) {
  for (struct channel *c = channels; c != NULL; c = c->next)
    if (c->id == id && !c->closed) return c;
  return NULL;
}

/* A new channel, or NULL after telling the host that there are too many. */
struct channel *channel_add(uint32_t id, enum channel_kind kind) {
  if (channel_find(id) != NULL) die("the host used channel %u twice", id);
  if (channel_count >= MAX_CHANNELS) {
    wire_failed(id, EMFILE, "too many channels");
    return NULL;
  }
  struct channel *c = calloc(1, sizeof *c);
  if (c == NULL) die("out of memory");
  c->id = id;
  c->kind = kind;
  c->input = c->output[0] = c->output[1] = c->control = -1;
  for (int i = 0; i < 4; i++) c->child_end[i] = -1;
  c->credit[0] = c->credit[1] = OUTPUT_WINDOW;
  c->next = channels;
  channels = c;
  channel_count++;
  if (id & ACCEPTED_BIT) accepted_count++;
  return c;
}

static void free_strings(char **strings) {
  if (strings == NULL) return;
  for (char **s = strings; *s != NULL; s++) free(*s);
  free(strings);
}

/* Closes everything it holds. The memory goes at the end of the loop's turn. */
void channel_close(struct channel *c) {
  if (c->closed) return;
  c->closed = true;
  close_fd(&c->input);
  /* A socket is its own input and output, under two numbers. */
  close_fd(&c->output[0]);
  close_fd(&c->output[1]);
  close_fd(&c->control);
  for (int i = 0; i < 4; i++) close_fd(&c->child_end[i]);
  if (c->temporary != NULL) unlink(c->temporary);
}

/* The host wants no more of a connection. What it sent before its end still goes to the program. */
void socket_close(struct channel *c) {
  if (c->input < 0 || !c->input_ended || c->queue_end == c->queue_start) return channel_close(c);
  close_fd(&c->output[0]);
  c->output_ended = true;
}

void channels_sweep(void) {
  for (struct channel **at = &channels; *at != NULL;) {
    struct channel *c = *at;
    if (!c->closed) {
      at = &c->next;
      continue;
    }
    for (struct channel *other = channels; other != NULL; other = other->next)
      if (other->warm == c) other->warm = NULL;
    *at = c->next;
    channel_count--;
    if (c->id & ACCEPTED_BIT) accepted_count--;
    free(c->queue);
    free_strings(c->argv);
    free_strings(c->env);
    free(c->cwd);
    free(c->path);
    free(c->temporary);
    free(c->file);
    free(c->cell);
    free(c);
  }
}

/* Tells the host about room in large pieces: it has the rest of the window meanwhile. */
static void give_room(struct channel *c) {
  if (c->written < INPUT_WINDOW / 2) return;
  uint8_t room[4];
  put_u32(room, (uint32_t)c->written);
  c->written = 0;
  wire_send(F_ROOM, c->id, room, sizeof room);
}

/* Queues bytes from the host. The window bounds the queue; a host that overruns it is broken. */
void channel_accept_data(struct channel *c, const uint8_t *data, size_t length) {
  if (c->input_ended) return;
  if (length == 0) {
    c->input_ended = true;
    channel_write_input(c);
    return;
  }
  if (c->input < 0) {
    /* The reader is gone: drop the bytes, so that the host's writer does not stall. */
    c->written += length;
    return give_room(c);
  }
  if (length > INPUT_WINDOW) die("the host overran a window");
  if (c->queue_end == c->queue_start && !c->connecting && c->kind == CH_SOCKET) {
    /* Most of it goes on at once, without a copy. Trouble is met again below, where it is told. */
    ssize_t n = write(c->input, data, length);
    if (n > 0) {
      c->written += (size_t)n;
      data += n;
      length -= (size_t)n;
    }
    if (length == 0) return give_room(c);
  }
  if (c->queue == NULL && (c->queue = malloc(INPUT_WINDOW)) == NULL) die("out of memory");
  if (c->queue_end - c->queue_start + length > INPUT_WINDOW) die("the host overran a window");
  if (c->queue_end + length > INPUT_WINDOW) {
    memmove(c->queue, c->queue + c->queue_start, c->queue_end - c->queue_start);
    c->queue_end -= c->queue_start;
    c->queue_start = 0;
  }
  memcpy(c->queue + c->queue_end, data, length);
  c->queue_end += length;
  channel_write_input(c);
}

static void finish_input(struct channel *c) {
  if (c->kind == CH_WRITE) {
    file_write_finish(c);
  } else if (c->kind == CH_SOCKET) {
    shutdown(c->input, SHUT_WR);
    close_fd(&c->input);
    if (c->output_ended) channel_close(c);
  } else if ((c->flags & X_TERMINAL) == 0) {
    close_fd(&c->input);
  }
}

/* Writes queued bytes on, and tells the host about the room. */
void channel_write_input(struct channel *c) {
  if (c->input < 0 || c->connecting) return;
  while (c->queue_end > c->queue_start) {
    ssize_t n = write(c->input, c->queue + c->queue_start, c->queue_end - c->queue_start);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n < 0) {
      /* A socket's peer is gone: whatever the host still sends would be dropped. A command's last output may still be
         there to be read. */
      if (c->kind == CH_WRITE || (c->kind == CH_SOCKET && !c->is_control)) {
        wire_failed(c->id, errno, "write");
        channel_close(c);
        return;
      }
      /* The reader is gone: what is queued has nowhere to go. */
      c->written += c->queue_end - c->queue_start;
      c->queue_start = c->queue_end = 0;
      if ((c->flags & X_TERMINAL) == 0) close_fd(&c->input);
      break;
    }
    c->queue_start += (size_t)n;
    c->written += (size_t)n;
  }
  if (c->queue_start == c->queue_end) c->queue_start = c->queue_end = 0;
  give_room(c);
  if (c->input_ended && c->queue_end == 0 && c->input >= 0) finish_input(c);
}

static void output_done(struct channel *c, int which) {
  close_fd(&c->output[which]);
  if (c->kind == CH_READ) {
    wire_send(F_END, c->id, NULL, 0);
    channel_close(c);
  } else if (c->kind == CH_SOCKET) {
    wire_send(F_END, c->id, NULL, 0);
    c->output_ended = true;
    if (c->input < 0) channel_close(c);
  }
}

/* Sends one chunk on. Returns false when there is nothing more to read now. */
bool channel_read_output(struct channel *c, int which) {
  size_t want = c->credit[which] < CHUNK ? c->credit[which] : CHUNK;
  if (want == 0 || c->output[which] < 0 || !wire_has_room(CHUNK)) return true;
  uint8_t *at = wire_reserve(want);
  ssize_t n = read(c->output[which], at, want);
  if (n > 0) {
    c->credit[which] -= (uint32_t)n;
    wire_commit(which == 0 ? F_STDOUT : F_STDERR, c->id, (size_t)n);
    wire_flush();
    return true;
  }
  if (n < 0 && errno == EINTR) return true;
  if (n < 0 && errno == EAGAIN) return false;
  /* A command that left without having read all is a connection reset, and an end like any other. */
  if (n < 0 && (c->kind == CH_READ || (c->kind == CH_SOCKET && !c->is_control))) {
    wire_failed(c->id, errno, "read");
    channel_close(c);
    return false;
  }
  /* End of file; for a terminal whose last process left, EIO. */
  output_done(c, which);
  return false;
}
