fields = dict(line.split(":\t", 1) for line in open("/proc/self/status").read().splitlines())
glibc_internal = 1 << 31 | 1 << 32  # signals 32 and 33, which glibc keeps for its threads
print(fields["SigBlk"], fields["SigIgn"], hex(int(fields["SigCgt"], 16) & ~glibc_internal), fields["Threads"])
