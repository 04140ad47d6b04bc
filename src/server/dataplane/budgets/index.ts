/** Budgets of this node: the ledger driven, and its face to requests. */
export type { Budgets, Charge, SessionCharge, Spending } from "./types.ts";
