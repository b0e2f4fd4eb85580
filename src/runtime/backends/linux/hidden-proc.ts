/**
 * What /proc would tell about the host and about other sessions: its settings, keys, symbols, disks, locks, interrupts and
 * counters. guest/src/hidden-proc.h has the same. What stays visible stands in test/attacks/proc-entries.ts, with the reason.
 */
export const HIDDEN_PROC: readonly string[] = `
  acpi allocinfo asound bootconfig buddyinfo bus cgroups cmdline config.gz consoles crypto devices diskstats dma driver
  dynamic_debug execdomains fb fs ide interrupts iomem ioports irq kallsyms kcore key-users keys kmsg kpagecgroup kpagecount
  kpageflags latency_stats locks mdstat misc modules mpt mtrr pagetypeinfo partitions pressure sched_debug schedstat scsi
  slabinfo softirqs swaps sys sysrq-trigger timer_list timer_stats tty vmallocinfo vmstat xen zoneinfo
`
  .trim()
  .split(/\s+/)
  .map((name) => `/proc/${name}`);
