/*
 * Lets a program's end be told before its memory is taken down. A fork of an interpreter with pandas has ten
 * thousand pages; the kernel takes two milliseconds to unmap them, and only then its parent may collect it. A second
 * process that shares the memory, the keeper, takes that on itself, after the program's end.
 *
 * Loaded into Python by python-zygote.py, whatever its libc: no libc here. The program will share this process's
 * memory and could make it run anything; a seccomp filter leaves it two system calls, read and exit.
 */
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>

static long call(long number, long a, long b, long c) {
#if defined(__x86_64__)
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
  return x0;
#endif
}

static struct sock_filter only_read_and_exit[] = {
  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 2, 0),
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

/* Runs in the keeper, on a stack of its own: waits until every writer of the pipe is gone. */
__attribute__((used, noreturn, visibility("hidden"))) void skerry_keeper_main(int pipe, volatile int *ready) {
  struct sock_fprog filter = {.len = 5, .filter = only_read_and_exit};
  char byte;
  if ((pipe == 0 || call(SYS_close_range, 0, pipe - 1, 0) == 0) &&
      call(SYS_close_range, pipe + 1, ~0U, 0) == 0 &&
      call(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (long)&filter) == 0) {
    *ready = 1;
    while (call(SYS_read, pipe, (long)&byte, 1) > 0) continue;
  }
  *ready = -1;
  for (;;) call(SYS_exit, 0, 0, 0);
}

/*
 * Starts a keeper; returns its pid, or an error below zero. It sets *ready to 1 once it is locked in: no program may
 * run before. It ends without a signal to its parent, so that a program that waits for any child does not see it.
 */
__attribute__((visibility("default"))) long skerry_keep_memory(int pipe, char *stack_top, volatile int *ready) {
  long flags = CLONE_VM;
#if defined(__x86_64__)
  long result;
  register long r10 __asm__("r10") = 0, r8 __asm__("r8") = 0, r12 __asm__("r12") = pipe, r13 __asm__("r13") = (long)ready;
  __asm__ volatile("syscall\n\t"
                   "test %%rax, %%rax\n\t"
                   "jnz 1f\n\t"
                   "xor %%ebp, %%ebp\n\t"
                   "mov %%r12d, %%edi\n\t"
                   "mov %%r13, %%rsi\n\t"
                   "call skerry_keeper_main\n"
                   "1:"
                   : "=a"(result)
                   : "a"((long)SYS_clone), "D"(flags), "S"(stack_top), "d"(0L), "r"(r10), "r"(r8), "r"(r12), "r"(r13)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = SYS_clone, x0 __asm__("x0") = flags, x1 __asm__("x1") = (long)stack_top,
                x2 __asm__("x2") = 0, x3 __asm__("x3") = 0, x4 __asm__("x4") = 0, x19 __asm__("x19") = pipe,
                x20 __asm__("x20") = (long)ready;
  __asm__ volatile("svc 0\n\t"
                   "cbnz x0, 1f\n\t"
                   "mov w0, w19\n\t"
                   "mov x1, x20\n\t"
                   "bl skerry_keeper_main\n"
                   "1:"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x19), "r"(x20)
                   : "memory");
  return x0;
#endif
}
