/** The flags of `gateway audit verify`, as data. Source: specification document 1, "audit verify". */

import type { FlagTable } from "./flags.ts";

export const auditVerifyFlags = {
  heads: { kind: "string", value: "FILE", meaning: "JSON file of witnessed heads that the trail must reach" },
  key: {
    kind: "strings",
    value: "KID=BASE64",
    meaning: "public key of a chain whose start record is not in the input; may be repeated",
  },
  q: { kind: "boolean", meaning: "print findings only" },
} as const satisfies FlagTable;
