export { blockedKind, ownListeners } from "./blocked-addresses.ts";
export { createNameResolver } from "./host-names.ts";
export { openPools, type PoolMember, type Pools, type PoolsOptions } from "./pools.ts";
export { compilePool, type PickerSpec, type PoolProblem, type PoolSpec, poolProblems } from "./spec.ts";
