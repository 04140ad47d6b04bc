/** Flags of the verbs that read and change a running gateway. They may stand before or after the arguments. */

import { addressFlags } from "../address-flags.ts";
import type { FlagTable } from "../parse-flags.ts";

/** Formats of `gateway get`. */
const FORMATS = ["table", "wide", "json", "yaml", "csv", "name"] as const;
export type Format = (typeof FORMATS)[number];

const yes = { kind: "boolean", meaning: "do not ask for confirmation; required if stdin is not a terminal" } as const;
const ifExists = { kind: "boolean", meaning: "succeed if there is nothing to remove" } as const;

const watch = { kind: "boolean", meaning: "continue, and print changes until interrupted" } as const;

const source = {
  kind: "string",
  value: "NAME",
  defaultText: "the only one, or default",
  meaning: "configuration source",
} as const;

export const getFlags = {
  ...addressFlags,
  o: {
    kind: "string",
    value: "FORMAT",
    choices: FORMATS,
    default: "table",
    meaning: "table, wide (all columns), json, yaml, csv (RFC 4180) or name",
  },
  columns: { kind: "string", value: "NAME[,...]", meaning: "columns to print, in this order" },
  where: {
    kind: "strings",
    value: "CONDITION",
    meaning: "rows to print, such as status=active, lag>100, expires_at<24h or model~gpt; may be repeated",
  },
  sort: { kind: "string", value: "COLUMN", meaning: "order of the rows; -COLUMN: descending" },
  nodes: {
    kind: "string",
    value: "WHICH",
    choices: ["one", "all"],
    default: "one",
    meaning: "for lists that each node measures: rows of the queried node, or of all nodes",
  },
  watch,
} as const satisfies FlagTable;

export const statusFlags = {
  ...addressFlags,
  o: { kind: "string", value: "FORMAT", choices: ["text", "json"], default: "text", meaning: "text or json" },
  watch: { kind: "boolean", meaning: "print it again after every change, until interrupted" },
} as const satisfies FlagTable;

export const explainFlags = {
  ...addressFlags,
  o: { kind: "string", value: "FORMAT", choices: ["text", "json"], default: "text", meaning: "text or json" },
} as const satisfies FlagTable;

const DEFAULT_SINCE_MS = 3_600_000;

export const rehearseFlags = {
  ...addressFlags,
  source,
  since: {
    kind: "duration",
    value: "DURATION",
    default: DEFAULT_SINCE_MS,
    meaning: "judge the requests of this period",
  },
  profile: { kind: "string", value: "NAME", meaning: "profile that -set changes" },
  budget: { kind: "string", value: "NAME", meaning: "budget that -set changes" },
  set: {
    kind: "strings",
    value: "NAME=VALUE",
    meaning: "budget=NAME or allowed_models=A,B* of the profile, limit=UNITS of the budget; may be repeated",
  },
  o: { kind: "string", value: "FORMAT", choices: ["text", "json"], default: "text", meaning: "text or json" },
} as const satisfies FlagTable;

/**
 * Default timeout of `gateway wait`. Rolling upgrades wait for a restarted node; if it takes longer than a minute, an
 * operator should look.
 */
const DEFAULT_WAIT_MS = 60_000;

export const waitFlags = {
  ...addressFlags,
  timeout: {
    kind: "duration",
    value: "DURATION",
    default: DEFAULT_WAIT_MS,
    meaning: "time after which the verb ends with status 1",
  },
} as const satisfies FlagTable;

export const stepDownFlags = {
  ...addressFlags,
  linger: {
    kind: "duration",
    value: "DURATION",
    default: 0,
    meaning: "wait this long afterwards, until load balancers know that the node stops",
  },
} as const satisfies FlagTable;

export const suspendFlags = {
  ...addressFlags,
  reason: { kind: "string", value: "TEXT", required: true, meaning: "reason; callers see it in their error" },
  for: {
    kind: "duration",
    value: "DURATION",
    defaultText: "until lifted",
    meaning: "time after which the suspension ends",
  },
  yes,
} as const satisfies FlagTable;

export const liftFlags = { ...addressFlags, "if-exists": ifExists, yes } as const satisfies FlagTable;

export const mintFlags = {
  ...addressFlags,
  profile: { kind: "string", value: "NAME", defaultText: "none", meaning: "profile whose limits apply to the key" },
  expires: {
    kind: "duration",
    value: "DURATION",
    defaultText: "never",
    meaning: "time after which the key stops working",
  },
  metadata: { kind: "strings", value: "NAME=VALUE", meaning: "text that access rules can read; may be repeated" },
} as const satisfies FlagTable;

export const rotateFlags = { ...addressFlags, yes } as const satisfies FlagTable;
export const removeFlags = { ...addressFlags, "if-exists": ifExists, yes } as const satisfies FlagTable;
export const plainFlags = addressFlags;

export const ackFlags = {
  ...addressFlags,
  reason: {
    kind: "string",
    value: "TEXT",
    required: true,
    meaning: "reason; other operators see it",
  },
  for: {
    kind: "duration",
    value: "DURATION",
    required: true,
    meaning: "time after which the alert is shown again, at most 720h",
  },
} as const satisfies FlagTable;

export const unackFlags = { ...addressFlags, "if-exists": ifExists } as const satisfies FlagTable;

export const configDiffFlags = { ...addressFlags, source } as const satisfies FlagTable;

export const configApplyFlags = {
  ...addressFlags,
  source,
  "dry-run": { kind: "boolean", meaning: "print what it would change, and write nothing" },
  yes,
} as const satisfies FlagTable;

export const configRollbackFlags = { ...addressFlags, source, yes } as const satisfies FlagTable;
