/** Paths of the admin API that are needed without the operations. Source: specification document 1, Admin API. */

/** Prefix of all operation paths. */
export const BASE_PATH = "/admin/v1";

/** Probes at the root of the admin socket and of the admin listener, open to every client. */
export const PROBE_PATHS = { alive: "/healthz", ready: "/readyz" } as const;
