/* Cells: namespaces, files and limits of their own for one program inside a sandbox. Used by the guest and by the zygote. */
#ifndef SKERRY_CELL_H
#define SKERRY_CELL_H

#include <stdint.h>

/* CLONE_NEWUSER, NEWNS, NEWPID, NEWIPC, NEWNET; src/runtime/backends/linux/seccomp/profiles.ts allows no other. */
#define SKERRY_CELL_NAMESPACES 0x78020000L

struct skerry_cell {
  /* Limits; 0: none of its own. */
  uint64_t workspace_bytes, workspace_files, temporary_bytes;
  uint64_t memory_bytes, processes, file_bytes;
  /* What the kernel runs for every system call of the program: instructions as it takes them. */
  const void *filter;
  uint32_t filter_instructions;
};

/*
 * From the outside: this process and those it forks from now on have a cell. The first one that it forks is the cell's first
 * process, and everything in the cell goes with that. 0, or minus the number of a step times 1000 plus an errno.
 */
__attribute__((visibility("default"))) long skerry_cell_open(const struct skerry_cell *cell);

/* In a process that was forked after that: cuts it off. Nothing of the outside can be seen or done any more. */
__attribute__((visibility("default"))) long skerry_cell_lock(const struct skerry_cell *cell);

/* The last part of that alone: no capabilities, and the filter. */
__attribute__((visibility("default"))) long skerry_cell_give_up(const struct skerry_cell *cell);

#endif
