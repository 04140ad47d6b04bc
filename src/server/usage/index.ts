/** The ledger of who used what. */
export type { MeteredRow } from "../core/state/index.ts";
export { meteredOfProvider, meteredOnDay } from "./metered.ts";
