/**
 * Flags of every verb, as data for the parser, the help and the shell completion. A verb's module derives the type of
 * its options from here (`FlagsOf<typeof checkFlags>`).
 *
 * Source: specification document 1, "Command line"; design decisions, section 9.
 */

import { addressFlags } from "./address-flags.ts";
import type { FlagTable } from "./parse-flags.ts";

export * from "./guardrail-flags.ts";

/** Timeout of one probe. A system that takes longer is as good as down, and a check of ten providers should end soon. */
const DEFAULT_PROBE_TIMEOUT_MS = 10_000;

const DEFAULT_MAX_BODY_BYTES = 32 << 20;

/** Flags of the daemon. With `-config`, all others are ignored. */
export const runFlags = {
  config: {
    kind: "string",
    value: "PATH",
    meaning: "node file; the flags that describe a provider are then ignored",
  },
  listen: { kind: "string", value: "ADDR", default: ":8484", meaning: "address to serve on" },
  "metrics-listen": {
    kind: "string",
    ignoredWith: "config",
    value: "ADDR",
    default: ":9464",
    meaning: "address of /metrics; 'none' serves no metrics",
  },
  preset: {
    kind: "string",
    ignoredWith: "config",
    value: "NAME",
    suggestions: "presets",
    meaning: "provider of the built-in catalog; overrides -upstream and -dialect",
  },
  upstream: {
    kind: "string",
    ignoredWith: "config",
    value: "URL",
    defaultText: "the catalog's default provider",
    meaning: "base URL of the provider",
  },
  dialect: {
    kind: "string",
    ignoredWith: "config",
    value: "DIALECT",
    choices: ["compat", "messages"],
    default: "compat",
    meaning: "dialect of the provider: compat or messages",
  },
  "max-body": {
    kind: "integer",
    ignoredWith: "config",
    value: "BYTES",
    min: 1,
    default: DEFAULT_MAX_BODY_BYTES,
    meaning: "largest request body",
  },
  alias: { kind: "strings", value: "CLIENT=UPSTREAM", meaning: "model alias; may be repeated" },
  "test-rules": {
    kind: "string",
    value: "PATH",
    meaning: "run the rule suites of a file or folder against -config and exit; 1 when a case fails",
  },
  openapi: { kind: "boolean", meaning: "print the OpenAPI 3.1 document of the admin API and exit" },
  "config-schema": {
    kind: "boolean",
    meaning: "print the JSON Schema of a configuration source document and exit",
  },
} as const satisfies FlagTable;

export const checkFlags = {
  config: { kind: "string", value: "PATH", required: true, meaning: "node file" },
  timeout: {
    kind: "duration",
    value: "DURATION",
    default: DEFAULT_PROBE_TIMEOUT_MS,
    meaning: "time limit of each network request",
  },
  offline: {
    kind: "boolean",
    meaning: "only compile the configuration; use no provider, issuer, server, agent or library",
  },
} as const satisfies FlagTable;

export const importFlags = {
  o: { kind: "string", value: "FILE", defaultText: "stdout", meaning: "write the document to a new file" },
  report: {
    kind: "string",
    value: "FILE",
    defaultText: "none",
    meaning: "write a Markdown report to a new file: what was carried over, changed and left out",
  },
  preset: {
    kind: "strings",
    value: "NAME=PRESET",
    meaning: "catalog preset of a provider whose name does not match one; may be repeated",
  },
} as const satisfies FlagTable;

export const devFlags = {
  listen: {
    kind: "string",
    ignoredWith: "config",
    value: "ADDR",
    default: "127.0.0.1:8484",
    meaning: "address of the data plane, or of the inspector; port 0 takes a free one",
  },
  "metrics-listen": {
    kind: "string",
    value: "ADDR",
    default: "127.0.0.1:9464",
    meaning: "address of /metrics; 'none' serves no metrics",
  },
  inspector: {
    kind: "boolean",
    meaning: "run as a guardrail inspector for Envoy, and print a complete Envoy configuration",
  },
  more: {
    kind: "boolean",
    meaning: "also print SDK snippets, MCP and agent calls, and more verbs",
  },
} as const satisfies FlagTable;

export const simulateFlags = {
  listen: {
    kind: "string",
    value: "ADDR",
    default: "127.0.0.1:8485",
    meaning: "address to serve on; port 0 takes a free one",
  },
  "require-key": {
    kind: "string",
    value: "KEY",
    meaning: "the only accepted credential; by default every request is accepted",
  },
  "admin-key": {
    kind: "string",
    value: "KEY",
    meaning: "the only credential that may read the usage reports; by default every request may",
  },
  faults: { kind: "boolean", meaning: "print the model, server and agent names that select faults, and exit" },
  "require-signature": {
    kind: "string",
    value: "ID:SECRET",
    meaning: "accept only requests signed (AWS Signature Version 4) with this pair of keys",
  },
} as const satisfies FlagTable;

export const clusterPruneFlags = {
  addr: {
    kind: "string",
    value: "HOST:PORT[,...]",
    required: true,
    meaning: "forward addresses of nodes, tried in this order",
  },
  keep: { kind: "string", value: "IDS", required: true, meaning: "comma-separated ids of the nodes that remain" },
  attempts: {
    kind: "integer",
    value: "N",
    min: 1,
    max: 1_000,
    default: 1,
    meaning: "number of passes over the addresses, five seconds apart",
  },
} as const satisfies FlagTable;

export const clusterRecoverFlags = {
  config: { kind: "string", value: "PATH", meaning: "node file that names cluster.node_id and cluster.data_dir" },
  "data-dir": { kind: "string", value: "PATH", meaning: "the node's data directory; overrides -config" },
  "node-id": { kind: "string", value: "ID", meaning: "this node's id; overrides -config" },
  keep: {
    kind: "string",
    value: "IDS",
    defaultText: "this node alone",
    meaning: "comma-separated ids of the members to keep",
  },
  confirm: { kind: "boolean", meaning: "write the smaller membership; without it, only the findings are printed" },
} as const satisfies FlagTable;

export const adminFlags = {
  ...addressFlags,
  d: { kind: "string", value: "BODY", meaning: "request body; @FILE reads a file, @- reads stdin" },
  "if-match": {
    kind: "integer",
    value: "REVISION",
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    meaning: "refuse a change of a source that has another revision; 0: that exists already",
  },
} as const satisfies FlagTable;

export const consoleFlags = {
  socket: addressFlags.socket,
  url: {
    kind: "string",
    value: "URL[,...]",
    defaultText: "GATEWAY_ADMIN_URL",
    meaning:
      "URLs of nodes of one cluster, with the tokens of 'gateway login'; the next is used when one cannot be reached",
  },
  readonly: { kind: "boolean", meaning: "show everything, change nothing" },
  ascii: { kind: "boolean", meaning: "draw with ASCII characters only" },
  theme: {
    kind: "string",
    value: "NAME|FILE",
    meaning: "colors: auto, dark, light, mono, a theme of the settings, or a theme file",
  },
  mouse: {
    kind: "string",
    value: "MODE",
    choices: ["on", "off"],
    defaultText: "the settings, or on",
    meaning: "react to clicks and the wheel; hold Shift to select text in the terminal",
  },
  context: { kind: "string", value: "NAME", meaning: "named gateway of the settings, in place of -socket and -url" },
  record: {
    kind: "string",
    value: "FILE",
    meaning: "record the session as an asciicast; typed keys and values that are shown once are masked",
  },
  "check-settings": {
    kind: "boolean",
    meaning: "check the settings of the console ($XDG_CONFIG_HOME/gateway/console.yaml), and exit",
  },
  metrics: { kind: "string", value: "URL", meaning: "metrics URL of a node, for rates over time" },
  audit: { kind: "string", value: "FILE", meaning: "audit trail file to follow" },
} as const satisfies FlagTable;

export const queryFlags = {
  ...addressFlags,
  o: {
    kind: "string",
    value: "FORMAT",
    choices: ["table", "csv", "json", "rows"],
    default: "table",
    meaning:
      "table, csv (RFC 4180), json (an object for each row) or rows (columns with their types, and rows, as the API answers); " +
      "NULL is an empty cell in table and csv",
  },
  nodes: {
    kind: "string",
    value: "WHICH",
    choices: ["one", "all"],
    default: "one",
    meaning: "for tables that each node measures: rows of the node asked, or of all nodes",
  },
  tables: { kind: "boolean", meaning: "describe the tables that may be queried, instead of running a query" },
  p: {
    kind: "strings",
    value: "VALUE",
    meaning: `value of the next '?': a number, true, false or null as in JSON, otherwise text ('"5"' is the text 5); may be repeated`,
  },
} as const satisfies FlagTable;

export const snapshotSaveFlags = {
  ...addressFlags,
  stale: {
    kind: "boolean",
    meaning: "save the state of the queried node, even if it is not the leader and may be slightly behind",
  },
} as const satisfies FlagTable;

export const snapshotRestoreFlags = {
  ...addressFlags,
  "without-secrets": {
    kind: "boolean",
    meaning:
      "restore everything but sealed values, for example into a cluster with another secret, and print the names of the " +
      "secrets to put again, one per line",
  },
} as const satisfies FlagTable;

export const loginFlags = {
  issuer: { kind: "string", value: "NAME", meaning: "issuer to sign in at, if the gateway trusts more than one" },
  device: { kind: "boolean", meaning: "sign in with a code that is typed into a browser on another machine" },
} as const satisfies FlagTable;

export const logoutFlags = {
  all: { kind: "boolean", meaning: "remove every stored sign-in" },
  list: { kind: "boolean", meaning: "print the stored sign-ins, and change nothing" },
} as const satisfies FlagTable;

export const auditVerifyFlags = {
  heads: {
    kind: "string",
    value: "FILE",
    meaning: "JSON file of witnessed heads that the trail must reach, as 'gateway admin audit_heads' prints them",
  },
  key: {
    kind: "strings",
    value: "KID=BASE64",
    meaning: "public key of a chain whose start record is not in the input; may be repeated",
  },
  controls: { kind: "boolean", meaning: "count the decisions that served each control" },
  q: { kind: "boolean", meaning: "print findings only" },
} as const satisfies FlagTable;

export const modelsPinFlags = {
  revision: { kind: "string", value: "REV", default: "main", meaning: "branch, tag or commit" },
  model: {
    kind: "string",
    value: "PATH",
    defaultText: "onnx/model.onnx, else model.onnx",
    meaning: "path of the ONNX graph within the repository",
  },
  endpoint: { kind: "string", value: "URL", defaultText: "https://huggingface.co", meaning: "the hub or a mirror" },
  token: { kind: "string", value: "TOKEN", defaultText: "HUB_TOKEN", meaning: "bearer token for a gated repository" },
  name: {
    kind: "string",
    value: "NAME",
    defaultText: "the repository's name",
    meaning: "name that detectors will refer to",
  },
} as const satisfies FlagTable;

const cacheFlags = {
  config: { kind: "string", value: "PATH", required: true, meaning: "node file" },
} as const satisfies FlagTable;

export const modelsListFlags = cacheFlags;

export const modelsPruneFlags = {
  ...cacheFlags,
  confirm: { kind: "boolean", meaning: "remove the files; without it, only their names are printed" },
} as const satisfies FlagTable;

export const packAddFlags = {
  deployment: {
    kind: "string",
    value: "PATH",
    default: "deployment.yaml",
    meaning: "document to change; a missing file counts as an empty document",
  },
  write: { kind: "boolean", meaning: "rewrite the document in place" },
} as const satisfies FlagTable;

export const versionFlags = {
  json: { kind: "boolean", meaning: "print JSON, with the runtime environment" },
} as const satisfies FlagTable;

export const partsFlags = {
  o: { kind: "string", value: "FORMAT", choices: ["text", "json"], default: "text", meaning: "text or json" },
} as const satisfies FlagTable;

export const completionFlags = {
  names: {
    kind: "string",
    value: "KIND",
    meaning: "print the names of a kind from a running gateway; used by the scripts",
  },
} as const satisfies FlagTable;

/** Flags of verbs that have none. */
export const noFlags = {} as const satisfies FlagTable;
