export { BoundPool } from "./bound-pool.js";
export { listPools, type RunningPool, type UnresponsivePool } from "./list-pools.js";
export type { PoolItem } from "./pool-item.js";
export type {
  AcquireRequest,
  PoolFailure,
  PoolInstance,
  PoolLease,
  PoolState,
  PoolStatus,
  ReleaseOptions,
} from "./pool-lease.js";
export { PoolManager } from "./pool-manager.js";
export type { PoolOptions } from "./pool-options.js";
