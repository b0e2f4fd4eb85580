/** What a program may see in /proc, and why. What is neither here nor hidden fails a test: a newer kernel may have more. */

/** The top: counts and facts of the whole machine that programs cannot do without, and what belongs to the reader. */
export const VISIBLE: Readonly<Record<string, string>> = {
  cpuinfo: "how many processors there are, and what they can do: runtimes choose code by it",
  filesystems: "kinds of file systems: mount and its libraries read it",
  loadavg: "make and its like wait for a low load",
  meminfo: "free, and every runtime that sizes a heap",
  mounts: "a link to the reader's own",
  net: "a link to the reader's own namespace",
  self: "the reader",
  stat: "os.cpus() of Node, sysconf() of libc",
  sysvipc: "the reader's own namespace",
  "thread-self": "the reader",
  uptime: "ps and top; clock_gettime tells it too",
  version: "uname tells it too",
};

/** One process: of the reader's own namespace, since no others are there. */
export const OF_A_PROCESS = `
  arch_status attr autogroup auxv cgroup children clear_refs cmdline comm coredump_filter cpu_resctrl_groups cpuset cwd environ exe
  fail-nth fd fdinfo gid_map io ksm_merging_pages ksm_stat latency limits loginuid make-it-fail map_files maps mem mountinfo
  mounts mountstats net ns numa_maps oom_adj oom_score oom_score_adj pagemap patch_state personality projid_map root sched
  schedstat seccomp_cache sessionid setgroups smaps smaps_rollup stack stat statm status syscall task timens_offsets timers
  timerslack_ns uid_map wchan x86_task
`
  .trim()
  .split(/\s+/);

/**
 * The network namespace of a process. `protocols`, `sockstat`, `sockstat6` and `softnet_stat` count for the whole machine,
 * and no mount can cover them: every process has a directory of its own. THREAT_MODEL.md says so.
 */
export const OF_A_NETWORK = `
  anycast6 arp arp_tables_matches arp_tables_names arp_tables_targets bnep dev dev_mcast dev_snmp6 fib_trie fib_triestat icmp
  icmp6 if_inet6 igmp igmp6 ip6_flowlabel ip6_mr_cache ip6_mr_vif ip6_tables_matches ip6_tables_names ip6_tables_targets
  ip6t_hashlimit ip_mr_cache ip_mr_vif ip_tables_matches ip_tables_names ip_tables_targets ip_vs ip_vs_app ip_vs_conn
  ip_vs_stats ip_vs_stats_percpu ipt_hashlimit ipv6_route mcfilter mcfilter6 netfilter netlink netstat nf_conntrack
  nf_conntrack_expect packet protocols psched ptype raw raw6 route rt6_stats rt_acct rt_cache snmp snmp6 sockstat sockstat6
  softnet_stat stat tcp tcp6 udp udp6 udplite udplite6 unix wireless xfrm_stat xt_recent
`
  .trim()
  .split(/\s+/);
