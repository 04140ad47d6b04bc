/** Prefixes of the state's tables that lists are made of: what versions, watches and scans go by. */
export const TABLE_PREFIX = {
  keys: "key/",
  suspensions: "susp/",
  acknowledgements: "ack/",
  secrets: "secret/",
  ring: "ring/",
  sources: "source/",
  heads: "head/",
  usage: "used/",
} as const;
