export { DeadServerReaper, interruptedApproval } from "./dead-servers.js";
export { FencedLease, type LeaseTimes, leaseTimes } from "./fenced-lease.js";
export { checkPeerAddress, FORWARDED_BY, ownerUnreachable, readPeerCa, urlFrom } from "./peers.js";
