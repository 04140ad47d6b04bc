/** Flags by which a verb names the gateway that it calls; `door.ts` reads them. */

import type { FlagTable } from "./flags.ts";

export const doorFlags = {
  socket: {
    kind: "string",
    value: "PATH",
    defaultText: "GATEWAY_ADMIN_SOCKET",
    meaning: "local socket of the gateway (its `admin.local_socket`)",
  },
  url: {
    kind: "string",
    value: "URL",
    defaultText: "GATEWAY_ADMIN_URL",
    meaning: "URL of the gateway, with the token that 'gateway login' keeps",
  },
} as const satisfies FlagTable;
