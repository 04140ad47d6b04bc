/**
 * Verbs as data for dispatch, help and shell completion.
 *
 * A verb needs an entry here, its flags in `verb-flags.ts`, a line in `dispatch.ts`, and a file in `verbs/` that exports
 * `run`. Source: specification document 1, "Command line".
 */

import { OPERATE_VERBS } from "./operate/operate-verbs.ts";
import { type Positionals, SCHEMAS, SHELLS, type Verb } from "./verb.ts";
import {
  adminFlags,
  auditVerifyFlags,
  checkFlags,
  clusterPruneFlags,
  clusterRecoverFlags,
  completionFlags,
  consoleFlags,
  devFlags,
  guardrailsEvalFlags,
  guardrailsInspectFlags,
  guardrailsListFlags,
  importFlags,
  loginFlags,
  logoutFlags,
  modelsListFlags,
  modelsPinFlags,
  modelsPruneFlags,
  noFlags,
  packAddFlags,
  partsFlags,
  queryFlags,
  runFlags,
  simulateFlags,
  snapshotRestoreFlags,
  snapshotSaveFlags,
  versionFlags,
} from "./verb-flags.ts";

export * from "./verb.ts";

const NONE: Positionals = { usage: "", min: 0, max: 0 };

/** Verb of the bare command; its name is empty. */
export const DAEMON = {
  name: "",
  group: "run",
  summary: "run the gateway",
  description:
    "Runs the gateway until SIGTERM or SIGINT. With -config it serves the configuration of the node file and its " +
    "deployment document; without -config it forwards to the one provider that the flags describe.",
  flags: runFlags,
  positionals: NONE,
} as const satisfies Verb;

export const ENTRIES = [
  {
    name: "check",
    group: "run",
    summary: "check a configuration, and whether its servers answer",
    description:
      "Loads the node file and its deployment document as the gateway would, then sends a request to everything they " +
      "name. Prints one line per answer; the status is 1 when any is a failure. Opens no listener and writes nothing.",
    flags: checkFlags,
    positionals: NONE,
  },
  {
    name: "schema",
    group: "run",
    summary: "print the JSON Schema of a configuration document",
    description:
      "Prints the JSON Schema of the node file or of the deployment document, with the description, default and examples " +
      "of every key. An editor with a YAML language server checks and completes a file whose first line is " +
      "'# yaml-language-server: $schema=PATH', where PATH is the file that this was written to.",
    flags: noFlags,
    positionals: { usage: SCHEMAS.join("|"), min: 1, max: 1, suggestions: "schemas" },
  },
  {
    name: "import",
    group: "run",
    summary: "convert the configuration of another gateway",
    description:
      "Reads the config.yaml of a LiteLLM proxy, a config object of Portkey or the config.json of Bifrost, and prints " +
      "a deployment document with comments. Settings that are left out or changed are listed on stderr by line, with " +
      "what to do; -report writes a report of all settings. Keys that the file contains are not copied: the document " +
      "refers to a variable for each. The result is compiled as by 'gateway check -offline'; if that fails, nothing " +
      "is written and the status is 1. '-' reads stdin. No network is used.",
    flags: importFlags,
    positionals: { usage: "litellm|portkey|bifrost FILE", min: 2, max: 2, areFiles: true },
  },
  {
    name: "dev",
    group: "run",
    summary: "run a self-contained gateway for trying things out",
    description:
      "Runs one node on this machine in front of a simulated provider, MCP server and agent, with a temporary data " +
      "directory that is removed at the end. Prints commands to call it with.",
    flags: devFlags,
    positionals: NONE,
  },
  {
    name: "simulate",
    group: "run",
    summary: "run only the simulated provider, MCP server and agent",
    description:
      "Serves both dialects with deterministic answers, an MCP server at /mcp and an A2A agent at /a2a. Names select " +
      "faults: models sim-429, sim-slow-2s, sim-drop-mid-stream; servers /mcp/sim-stall-mid-stream, " +
      "/mcp/sim-old-session; agents /a2a/sim-fail. -faults lists them; GET /sim/last shows the last received request.",
    flags: simulateFlags,
    positionals: NONE,
  },
  {
    name: "guardrails eval",
    group: "run",
    summary: "score the guardrails of a configuration on labeled texts",
    description:
      "Runs every case of the data through the detectors as one chat turn, and compares the findings with the labels, " +
      "exactly and with overlap allowed. Files named .jsonl contain one case per line (text, spans, labels, tags, " +
      "kind, system; positions are bytes); all others are CoNLL. '-' reads stdin. The texts of wrong cases are " +
      "printed, except with -json. Models that are not in the cache are downloaded; judge detectors call their " +
      "providers, and the number of calls is printed. The status is 1 when a detector failed.",
    flags: guardrailsEvalFlags,
    positionals: { usage: "DATA...", min: 1, max: Number.POSITIVE_INFINITY, areFiles: true },
  },
  {
    name: "guardrails inspect",
    group: "run",
    summary: "show what guardrails do with a text, and why",
    description:
      "Shows the findings of the detectors in a text, the findings that were dropped and why, the decision of the " +
      "rules, and the resulting text. Nothing is forwarded or recorded. With -config no gateway is needed; without it " +
      "a running gateway is asked. '-' reads stdin, which keeps the text out of the shell's history. The status is 0 " +
      "when the text is allowed, rewritten or not, and 1 when it is denied.",
    flags: guardrailsInspectFlags,
    positionals: { usage: "TEXT|-", min: 1, max: 1 },
  },
  {
    name: "guardrails list",
    group: "operate",
    summary: "list the detectors and rules in force, with their counts",
    description:
      "Prints the detectors and rules of a running gateway in the order of its document, with the counts of its node " +
      "since it started. Keys, patterns and deny lists are not shown.",
    flags: guardrailsListFlags,
    positionals: NONE,
  },
  {
    name: "models pin",
    group: "run",
    summary: "print a model of a hub as an entry, pinned to a commit",
    description:
      "Prints an entry to paste under 'models' of a deployment document. A branch or tag is resolved to its current " +
      "commit, since the gateway accepts only commits. Downloads nothing.",
    flags: modelsPinFlags,
    positionals: { usage: "OWNER/NAME", min: 1, max: 1 },
  },
  {
    name: "models list",
    group: "run",
    summary: "list the models of a configuration and of its cache",
    description:
      "Prints the models that the detectors of the deployment document use, whether each is in the cache, and the " +
      "other files in the cache. Uses no network and writes nothing.",
    flags: modelsListFlags,
    positionals: NONE,
  },
  {
    name: "models prune",
    group: "run",
    summary: "remove unused files from the model cache",
    description:
      "Removes models, files and interrupted downloads that the deployment document does not need; they can be " +
      "downloaded again. Without -confirm it only prints what would be removed.",
    flags: modelsPruneFlags,
    positionals: NONE,
  },
  {
    name: "pack list",
    group: "run",
    summary: "list the built-in control packs",
    description:
      "Prints one line per pack: its id, version, number of rules and controls, and purpose. A pack maps rules to the " +
      "controls of a standard, so that the audit trail shows which control a decision served.",
    flags: noFlags,
    positionals: NONE,
  },
  {
    name: "pack show",
    group: "run",
    summary: "show the controls and rules of a control pack",
    description:
      "Prints the README of the pack, the controls that it cites, those that it attaches to rules of other packs, " +
      "those that are implemented outside of rules, and the fragment that 'pack add' copies. PACK is an id, or the " +
      "path of a directory such as ./mine.",
    flags: noFlags,
    positionals: { usage: "PACK", min: 1, max: 1 },
  },
  {
    name: "pack add",
    group: "run",
    summary: "add control packs to a deployment document",
    description:
      "Copies the detectors and rules of the packs into the document, leaves its other lines unchanged, and compiles " +
      "the result as the gateway does. Nothing is changed if that fails. An entry that already exists is kept if it " +
      "means the same, and refused otherwise. Prints the document, or writes it with -write; stderr lists the " +
      "changes. Variables that the document uses must be set; its secrets are not needed.",
    flags: packAddFlags,
    positionals: { usage: "PACK...", min: 1, max: 100 },
  },
  {
    name: "pack test",
    group: "run",
    summary: "run the test cases of a control pack",
    description:
      "Runs the pack's own cases against a document that contains only the pack and those it builds on. Prints one " +
      "line per case; the status is 1 when one fails. Uses no network and writes nothing.",
    flags: noFlags,
    positionals: { usage: "PACK...", min: 1, max: 100 },
  },
  {
    name: "console",
    group: "operate",
    summary: "watch and operate a running gateway on a full screen",
    description:
      "Shows the live state of the cluster; every change asks for confirmation. '?' explains the keys of the current " +
      "screen, Esc goes back, q quits. NO_COLOR and INK_SCREEN_READER=true are honored. For scripts, use 'gateway " +
      "get', 'gateway admin' and 'gateway query'.",
    flags: consoleFlags,
    positionals: NONE,
  },
  ...OPERATE_VERBS,
  {
    name: "admin",
    group: "operate",
    summary: "call the admin API of a running gateway",
    description:
      "Sends one request and prints the body of the answer. METHOD defaults to GET; PATH is keys, /keys or " +
      "/admin/v1/keys. The status is 1 when the API answers 400 or above, and 3 when the gateway cannot be reached.",
    flags: adminFlags,
    positionals: { usage: "[METHOD] PATH", min: 1, max: 2, suggestions: "operations" },
  },
  {
    name: "query",
    group: "operate",
    summary: "query a running gateway with SQL",
    description:
      "Runs one SELECT over the lists of the admin API, all read at the same moment on one node, and prints the rows. " +
      "SQL '-' reads the statement from stdin. 'gateway query -tables' describes the tables.",
    flags: queryFlags,
    positionals: { usage: "SQL", min: 0, max: 1 },
  },
  {
    name: "login",
    group: "operate",
    summary: "sign in at a gateway's identity provider",
    description:
      "Signs in at the identity provider that the gateway names, and stores the token for verbs with -url. URL " +
      "defaults to GATEWAY_ADMIN_URL.",
    flags: loginFlags,
    positionals: { usage: "[URL]", min: 0, max: 1 },
  },
  {
    name: "logout",
    group: "operate",
    summary: "remove the stored sign-in for a gateway",
    description:
      "Removes the token that this machine stores for a gateway. URL defaults to GATEWAY_ADMIN_URL. The token itself " +
      "stays valid until it expires.",
    flags: logoutFlags,
    positionals: { usage: "[URL]", min: 0, max: 1 },
  },
  {
    name: "audit verify",
    group: "keep",
    summary: "verify an exported audit trail",
    description:
      "Checks each chain of the trail offline: every record, link and signature, and that no record is missing " +
      "between the first and the last. A trail that was cut at its end is only detected with -heads. '-' reads stdin. " +
      "The status is 1 when a chain fails.",
    flags: auditVerifyFlags,
    positionals: { usage: "FILE...", min: 1, max: Number.POSITIVE_INFINITY, areFiles: true },
  },
  {
    name: "snapshot save",
    group: "keep",
    summary: "write the state of a running cluster to an archive",
    description:
      "Makes the leader take a snapshot and writes the archive to a file, which appears only once it is complete, or " +
      "to stdout for '-'. An archive of the same name is replaced, which is reported; any other file is kept, and the " +
      "verb refuses. Secrets in it are sealed; only a cluster with the same secret can open them.",
    flags: snapshotSaveFlags,
    positionals: { usage: "FILE", min: 1, max: 1, areFiles: true },
  },
  {
    name: "snapshot restore",
    group: "keep",
    summary: "restore the state of a running cluster from an archive",
    description:
      "Replaces keys, budgets, sources, secrets and all other state by those of the archive, on every node at once. " +
      "The previous state is lost; the members stay. '-' reads the archive from stdin. An archive whose secrets were " +
      "sealed under another cluster secret or kek_file is refused unless -without-secrets is given.",
    flags: snapshotRestoreFlags,
    positionals: { usage: "FILE", min: 1, max: 1, areFiles: true },
  },
  {
    name: "cluster prune",
    group: "keep",
    summary: "set the members of a running cluster",
    description:
      "Makes the members of a running cluster exactly those of -keep and removes the others. The first address that " +
      "answers relays the request to the leader. The cluster secret is read from GATEWAY_CLUSTER_SECRET.",
    flags: clusterPruneFlags,
    positionals: NONE,
  },
  {
    name: "cluster recover",
    group: "keep",
    summary: "recover a stopped node that has lost its majority",
    description:
      "Run it once, on a stopped node: the survivor with the highest last term, then the highest last index. It " +
      "reduces the node's cluster to the members of -keep and keeps all data on disk. Without -confirm it prints what " +
      "it found and writes nothing.",
    flags: clusterRecoverFlags,
    positionals: NONE,
  },
  {
    name: "version",
    group: "program",
    summary: "print build, commit, date, toolchain and platform",
    description:
      "Prints one line, as --version does. The commit ends in -dirty when the tree it was built from was modified.",
    flags: versionFlags,
    positionals: NONE,
  },
  {
    name: "parts",
    group: "program",
    summary: "list the optional packages, and how to install them",
    description:
      "Prints for each optional package whether it is installed and loads, its version, which detectors need it, and the " +
      "command that installs it for this program. The status is 0 also if some are missing.",
    flags: partsFlags,
    positionals: NONE,
  },
  {
    name: "completion",
    group: "program",
    summary: "print the completion script of a shell",
    description: "Prints the script; for bash, put `source <(gateway completion bash)` into ~/.bashrc.",
    flags: completionFlags,
    positionals: { usage: SHELLS.join("|"), min: 0, max: 1, suggestions: "shells" },
  },
  {
    name: "help",
    group: "program",
    summary: "print the help of a verb",
    description:
      "Prints the list of verbs, or the help of one. 'gateway help environment' lists the environment variables, and " +
      "'gateway help exit-status' the exit statuses.",
    flags: noFlags,
    positionals: { usage: "[VERB]", min: 0, max: 2, suggestions: "verbs" },
  },
] as const satisfies readonly Verb[];

export const VERBS: readonly Verb[] = ENTRIES;

/** Entry of the table, typed with its own name and flags. */
export type Entry = typeof DAEMON | (typeof ENTRIES)[number];
