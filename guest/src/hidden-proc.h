/* What a cell and a program in gVisor do not see of /proc; src/runtime/backends/linux/hidden-proc.ts has the same. */
#ifndef SKERRY_HIDDEN_PROC_H
#define SKERRY_HIDDEN_PROC_H

static const char *const hidden_proc[] = {
    "/proc/acpi", "/proc/allocinfo", "/proc/asound", "/proc/bootconfig", "/proc/buddyinfo", "/proc/bus",
    "/proc/cgroups", "/proc/cmdline", "/proc/config.gz", "/proc/consoles", "/proc/crypto", "/proc/devices",
    "/proc/diskstats", "/proc/dma", "/proc/driver", "/proc/dynamic_debug", "/proc/execdomains", "/proc/fb",
    "/proc/fs", "/proc/ide", "/proc/interrupts", "/proc/iomem", "/proc/ioports", "/proc/irq", "/proc/kallsyms",
    "/proc/kcore", "/proc/key-users", "/proc/keys", "/proc/kmsg", "/proc/kpagecgroup", "/proc/kpagecount",
    "/proc/kpageflags", "/proc/latency_stats", "/proc/locks", "/proc/mdstat", "/proc/misc", "/proc/modules",
    "/proc/mpt", "/proc/mtrr", "/proc/pagetypeinfo", "/proc/partitions", "/proc/pressure", "/proc/sched_debug",
    "/proc/schedstat", "/proc/scsi", "/proc/slabinfo", "/proc/softirqs", "/proc/swaps", "/proc/sys",
    "/proc/sysrq-trigger", "/proc/timer_list", "/proc/timer_stats", "/proc/tty", "/proc/vmallocinfo", "/proc/vmstat",
    "/proc/xen", "/proc/zoneinfo",
};

#endif
