/** The ledger of who used what, and the last requests. */
export type { MeteredRow } from "../core/state/index.ts";
export { meteredOfProvider, meteredOnDay } from "./metered.ts";
export { createRing, type Ring } from "./requests/index.ts";
