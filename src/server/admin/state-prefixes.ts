/** Prefixes of the state's tables that lists are made of, for versions, watches and scans. */
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
