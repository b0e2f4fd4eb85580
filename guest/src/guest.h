/* Shared by the parts of the guest. The protocol itself is described in src/runtime/wire/README.md. */
#ifndef SKERRY_GUEST_H
#define SKERRY_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#define WIRE_VERSION 1
#define MAX_PAYLOAD (256u * 1024)
#define CHUNK (128u * 1024)
/* Bytes the host may send on one channel before we say we have room again. */
#define INPUT_WINDOW (256u * 1024)
/* Bytes we may send on one output before the host says it has room again. */
#define OUTPUT_WINDOW (1024u * 1024)
#define MAX_CHANNELS 1024
#define MAX_ACCEPTED 256
/* Of the ids that we pick; the host's never have it. */
#define ACCEPTED_BIT 0x80000000u

enum frame_type {
  /* host to guest */
  F_EXEC = 0x01,
  F_DATA = 0x02,
  F_CREDIT = 0x03,
  F_SIGNAL = 0x04,
  F_KILL = 0x05,
  F_RESIZE = 0x06,
  F_WARM = 0x07,
  F_READ = 0x08,
  F_WRITE = 0x09,
  F_CONNECT = 0x0a,
  F_LISTEN = 0x0b,
  F_CLOSE = 0x0c,
  F_PING = 0x0d,
  F_DRAIN = 0x0e,
  /* guest to host */
  F_HELLO = 0x81,
  F_STARTED = 0x82,
  F_STDOUT = 0x83,
  F_STDERR = 0x84,
  F_EXIT = 0x85,
  F_FAILED = 0x86,
  F_ROOM = 0x87,
  F_ACCEPTED = 0x88,
  F_END = 0x89,
  F_PONG = 0x8a,
  F_WARM_STATE = 0x8b,
};

enum field_tag {
  T_ARG = 1,
  T_ENV = 2,
  T_CWD = 3,
  T_FLAGS = 4, /* u8, see exec_flags */
  T_SIZE = 5,  /* u16 rows, u16 columns */
  T_WARM = 6,  /* u32 id */
  T_JOB = 7,
  T_PATH = 8,
  T_MODE = 9, /* u32 */
  T_CONTROL = 10, /* u32 id */
  T_CELL = 11,    /* six u64: see struct cell_limits */
  T_FILE = 12,    /* what is at T_PATH in the cell */
};

enum exec_flags { X_TERMINAL = 1, X_SINGLE = 2, X_CELLS = 4 };

enum channel_kind { CH_EXEC, CH_WARM, CH_READ, CH_WRITE, CH_SOCKET, CH_LISTENER };

struct cell_limits;

enum exec_state { X_PENDING, X_RUNNING, X_EXITED, X_DRAINING };

/* Anything that has an id on the wire. */
struct channel {
  struct channel *next;
  uint32_t id;
  enum channel_kind kind;
  bool closed; /* swept at the end of the loop's turn */

  /* Bytes from the host on their way to a stdin, a file or a socket. */
  int input;
  uint8_t *queue;
  size_t queue_start, queue_end;
  size_t written; /* of it, that the host has not been told about */
  bool input_ended;

  /* Bytes on their way to the host: stdout and stderr, a file, a socket. */
  int output[2];
  uint32_t credit[2];

  /* CH_EXEC */
  enum exec_state state;
  pid_t pid;
  pid_t keeper; /* holds a warm program's memory until it is collected: guest/runners/python/zygote/memory-keeper.c */
  uint8_t flags;
  bool kill_requested;
  bool used_warm;
  bool unclean;
  int status;
  struct rusage usage;
  int child_end[4]; /* kept while a warm interpreter may still refuse the job; the last is of its control socket */
  char **argv, **env;
  char *cwd;
  struct channel *warm;
  bool drains;          /* the host wants to know when all that was printed so far is on its way */
  uint64_t unseen_since; /* its process is gone, and its parent has not said how */

  /* CH_WARM: pid above, and. Of a command whose parent is not ours to ask: tells that its process is gone. */
  int control;
  bool ready;
  bool single;
  bool frozen; /* forked by a command: its messages carry the sender's pid from the kernel, not from the message */

  /* CH_WRITE; of a command in a cell, the file that it finds there */
  char *path;
  char *temporary;
  uint8_t *file;
  size_t file_length;
  struct cell_limits *cell;

  /* CH_SOCKET */
  bool is_control; /* of a command, which has the other end as descriptor 3 */
  bool connecting;
  bool output_ended;
};

extern struct channel *channels;

/* wire.c */
void wire_init(void);
bool wire_has_room(size_t payload);
bool wire_wants_to_write(void);
void wire_flush(void);
void wire_send(uint8_t type, uint32_t id, const void *payload, size_t length);
uint8_t *wire_reserve(size_t payload);
void wire_commit(uint8_t type, uint32_t id, size_t length);
void wire_failed(uint32_t id, int error, const char *what);
typedef void frame_handler(uint8_t type, uint32_t id, const uint8_t *payload, uint32_t length);
bool wire_read(frame_handler *handle); /* false at end of file */
__attribute__((noreturn, format(printf, 1, 2))) void die(const char *format, ...);

struct fields {
  const uint8_t *at, *end;
};
struct field {
  uint8_t tag;
  const uint8_t *data;
  uint32_t length;
};
bool next_field(struct fields *fields, struct field *field);
uint32_t get_u32(const uint8_t *at);
uint16_t get_u16(const uint8_t *at);
void put_u32(uint8_t *at, uint32_t value);
void put_u64(uint8_t *at, uint64_t value);
char *copy_string(const struct field *field);

/* channel.c */
struct channel *channel_add(uint32_t id, enum channel_kind kind);
struct channel *channel_find(uint32_t id);
void channel_close(struct channel *channel);
bool channels_may_accept(void);
void socket_close(struct channel *c);
void channels_sweep(void);
void channel_accept_data(struct channel *channel, const uint8_t *data, size_t length);
void channel_write_input(struct channel *channel);
bool channel_read_output(struct channel *channel, int which);
void close_fd(int *fd);

/* exec.c */
void exec_start(uint32_t id, struct fields fields);
void exec_signal(struct channel *channel, int signo);
void exec_kill(struct channel *channel);
void exec_resize(struct channel *channel, uint16_t rows, uint16_t columns);
void exec_reap(void);
void exec_keep_limits(void);
void exec_exited(struct channel *channel, int status, const struct rusage *usage);
void exec_run_cold(struct channel *channel);
int exec_open_pipes(struct channel *channel);
void exec_adopted(struct channel *channel, pid_t pid);
void exec_unseen(struct channel *channel);
void close_from(int first);
/* Moves finished commands on; returns how many milliseconds until it wants to be called again, or -1. */
int exec_progress(void);

/* 0: none of its own. */
struct cell_limits {
  uint64_t workspace_bytes, workspace_files, temporary_bytes, memory_bytes, processes, file_bytes;
};

struct spawn {
  char **argv, **env;
  const char *cwd;
  int fds[4]; /* stdin, stdout, stderr, control or -1 */
  bool terminal;
  bool forks; /* its children are commands of their own: what they orphan is not for it to adopt */
  bool makes_cells; /* runs no program itself, and gives those that it forks the filter */
  /* In a cell of its own, with one file in it. */
  bool cell;
  struct cell_limits limits;
  const char *file_path;
  const uint8_t *file_data;
  size_t file_length;
};
pid_t spawn_process(const struct spawn *spawn, int *error);

/* warm.c */
void warm_start(uint32_t id, struct fields fields);
bool warm_take(struct channel *exec, uint32_t warm_id, const struct field *job);
void warm_read(struct channel *warm);
void warm_died(struct channel *warm, int status);
bool send_with_descriptors(int socket, const void *data, size_t length, const int *fds, size_t count);

/* transfer.c */
void file_read(uint32_t id, struct fields fields);
void file_write(uint32_t id, struct fields fields);
void file_write_finish(struct channel *channel);
void socket_connect(uint32_t id, uint16_t port);
void socket_connected(struct channel *channel);
void socket_listen(uint32_t id, uint16_t port);
void socket_accept(struct channel *listener);
int control_open(uint32_t id);
int accept_rest_ms(void); /* until connections are accepted again; 0: now */

/* stray.c */
/* In a command, before its program: marks it and all that it will start. False: this kernel does not let us. */
bool tag_command(pid_t pid);
/* Kills every process that no running command owns; returns how many there were. */
#define KEEPER_LEAVE_MS 20
/* A command's keeper may outlive it for a moment; when one is due, strays are looked for once more. */
void keeper_leave(pid_t pid);
bool keepers_due(void);
bool keepers_on_leave(void);
uint64_t now_ms(void);
int kill_strays(void);

/* cells.c */
void cells_enable(const char *filter_path);
bool cells_enabled(void);
void cells_filter_program(void);
void cell_limits_parse(const struct field *field, struct cell_limits *limits);
int cell_enter(const struct spawn *spawn);

/* cover.c */
#define MAX_COVERS 16
struct covers {
  char *paths[MAX_COVERS];
  unsigned long devices[MAX_COVERS]; /* what is at each of them on the host */
  size_t count;
  char *nothing; /* an empty directory */
};
void covers_add(struct covers *covers, char *path);
bool cover_as_root(const struct covers *covers);
void cover_as_user(const struct covers *covers);
int mount_cover(const char *directory, const char *nothing, const char *point);

/* launch.c */
__attribute__((noreturn)) void launch(void);

/* mount.c */
int open_image(const char *path);
int find_loop(int backing, char device[32]);
void mount_device(const char *device, const char *mount_point, uint32_t uid, uint32_t gid);
void mount_image(int backing, const char *mount_point, uint32_t uid, uint32_t gid);
void mount_memory(const char *mount_point, const char *limits, uint32_t uid, uint32_t gid);
int mount_for_container(const char *how, const char *what, const char *mount_point, const char *uid, const char *gid);
int unmount(const char *mount_point);

/* relay.c */
int serve_in_gvisor(const char *user, const char *group);

/* slots.c */
int serve_slots(const char *count);

/* watch.c */
int watch(void);

/* extents.c */
int print_extents(const char *path);

#endif
