/** Flags that select the gateway a verb calls. `choose-address.ts` evaluates them. */

import type { FlagTable } from "./parse-flags.ts";

export const addressFlags = {
  socket: {
    kind: "string",
    value: "PATH",
    defaultText: "GATEWAY_ADMIN_SOCKET",
    meaning: "admin socket of the gateway (`admin.local_socket` of its node file)",
  },
  url: {
    kind: "string",
    value: "URL",
    defaultText: "GATEWAY_ADMIN_URL",
    meaning: "URL of the gateway; uses the token of 'gateway login'",
  },
} as const satisfies FlagTable;
