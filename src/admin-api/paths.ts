/** Paths of the admin doors that one may know without the operations. Source: specification document 1, Admin API. */

/** What every path of the operations stands below. */
export const BASE_PATH = "/admin/v1";

/** Served at the root of each admin door, open to whoever reaches it. */
export const PROBE_PATHS = { alive: "/healthz", ready: "/readyz" } as const;
