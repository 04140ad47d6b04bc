export { blockedKind, ownListeners } from "./blocked-addresses.ts";
export { createNameResolver } from "./host-names.ts";
export { openPools, type PoolMember, type PoolsOptions } from "./pools.ts";
export { compilePool, type PoolSpec, poolProblems } from "./spec.ts";
