/* Makes the system calls named on stdin, each in a child of its own, and reports what came of it.
   In:  label number a0 a1 a2 a3 a4 a5      (numbers in any C notation)
   Out: label ok | label errno N | label signal N
   The number "int80" makes a 32-bit getpid instead. Used by seccomp.bubblewrap.test.ts. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct outcome {
  long result;
  int error;
};

static void call(struct outcome *outcome, const char *number, const unsigned long *a) {
#ifdef __x86_64__
  if (strcmp(number, "int80") == 0) {
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
    outcome->result = result;
    return;
  }
#endif
  errno = 0;
  outcome->result = syscall(strtol(number, NULL, 0), a[0], a[1], a[2], a[3], a[4], a[5]);
  outcome->error = errno;
}

int main(void) {
  struct outcome *outcome =
      mmap(NULL, sizeof *outcome, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  char label[64], number[32], words[6][32];
  while (scanf("%63s %31s %31s %31s %31s %31s %31s %31s", label, number, words[0], words[1], words[2],
               words[3], words[4], words[5]) == 8) {
    unsigned long a[6];
    for (int i = 0; i < 6; i++) a[i] = strtoul(words[i], NULL, 0);
    memset(outcome, 0, sizeof *outcome);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      alarm(10);
      call(outcome, number, a);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) printf("%s signal %d\n", label, WTERMSIG(status));
    else if (outcome->result == -1) printf("%s errno %d\n", label, outcome->error);
    else printf("%s ok\n", label);
  }
  return 0;
}
