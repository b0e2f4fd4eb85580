/* Frames to and from the host over descriptors 0 and 1. */
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADER 12
#define OUT_CAPACITY (512u * 1024)

static uint8_t in[HEADER + MAX_PAYLOAD];
static size_t in_used;

static uint8_t out[OUT_CAPACITY];
static size_t out_start, out_end;

void die(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "skerry-guest: ");
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  _exit(70);
}

uint32_t get_u32(const uint8_t *at) {
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

uint16_t get_u16(const uint8_t *at) { return (uint16_t)(at[0] | at[1] << 8); }

void put_u32(uint8_t *at, uint32_t value) {
  for (int i = 0; i < 4; i++) at[i] = (uint8_t)(value >> (8 * i));
}

void put_u64(uint8_t *at, uint64_t value) {
  for (int i = 0; i < 8; i++) at[i] = (uint8_t)(value >> (8 * i));
}

static void set_nonblocking(int fd) {
  int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) die("descriptor %d: %s", fd, strerror(errno));
}

void wire_init(void) {
  set_nonblocking(0);
  set_nonblocking(1);
  fcntl(0, F_SETFD, FD_CLOEXEC);
  fcntl(1, F_SETFD, FD_CLOEXEC);
}

bool wire_has_room(size_t payload) { return OUT_CAPACITY - (out_end - out_start) >= payload + HEADER; }

bool wire_wants_to_write(void) { return out_end > out_start; }

/* Writes as much as the host takes now. A host that is gone ends us, and with us the sandbox. */
void wire_flush(void) {
  while (out_end > out_start) {
    ssize_t n = write(1, out + out_start, out_end - out_start);
    if (n < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) return;
      _exit(0);
    }
    out_start += (size_t)n;
  }
  out_start = out_end = 0;
}

/* Where a payload of up to this many bytes may be put; wire_commit sends it. */
uint8_t *wire_reserve(size_t payload) {
  while (!wire_has_room(payload)) {
    struct pollfd wait = {.fd = 1, .events = POLLOUT};
    poll(&wait, 1, -1);
    wire_flush();
  }
  if (OUT_CAPACITY - out_end < payload + HEADER) {
    memmove(out, out + out_start, out_end - out_start);
    out_end -= out_start;
    out_start = 0;
  }
  return out + out_end + HEADER;
}

void wire_commit(uint8_t type, uint32_t id, size_t length) {
  uint8_t *header = out + out_end;
  put_u32(header, (uint32_t)length);
  put_u32(header + 4, id);
  put_u32(header + 8, type);
  out_end += HEADER + length;
}

void wire_send(uint8_t type, uint32_t id, const void *payload, size_t length) {
  uint8_t *at = wire_reserve(length);
  if (length > 0) memcpy(at, payload, length);
  wire_commit(type, id, length);
}

void wire_failed(uint32_t id, int error, const char *what) {
  uint8_t payload[4 + 256];
  size_t length = strnlen(what, 256);
  put_u32(payload, (uint32_t)error);
  memcpy(payload + 4, what, length);
  wire_send(F_FAILED, id, payload, 4 + length);
}

/* Reads what is there and handles every whole frame in it. */
bool wire_read(frame_handler *handle) {
  for (;;) {
    ssize_t n = read(0, in + in_used, sizeof in - in_used);
    if (n == 0) return false;
    if (n < 0) {
      if (errno == EINTR) continue;
      return errno == EAGAIN;
    }
    in_used += (size_t)n;
    size_t at = 0;
    while (in_used - at >= HEADER) {
      uint32_t length = get_u32(in + at);
      if (length > MAX_PAYLOAD) die("the host sent a frame of %u bytes", length);
      if (in_used - at < HEADER + length) break;
      uint32_t type = get_u32(in + at + 8);
      if (type > 0xff) die("the host sent an unknown frame");
      handle((uint8_t)type, get_u32(in + at + 4), in + at + HEADER, length);
      at += HEADER + length;
    }
    memmove(in, in + at, in_used - at);
    in_used -= at;
    if ((size_t)n < sizeof in / 2) return true;
  }
}

bool next_field(struct fields *fields, struct field *field) {
  if (fields->at == fields->end) return false;
  if (fields->end - fields->at < 5) die("the host sent a cut field");
  field->tag = fields->at[0];
  field->length = get_u32(fields->at + 1);
  field->data = fields->at + 5;
  if (field->length > (size_t)(fields->end - field->data)) die("the host sent a field that is too long");
  fields->at = field->data + field->length;
  return true;
}

char *copy_string(const struct field *field) {
  char *copy = malloc(field->length + 1u);
  if (copy == NULL) die("out of memory");
  memcpy(copy, field->data, field->length);
  copy[field->length] = 0;
  return copy;
}
