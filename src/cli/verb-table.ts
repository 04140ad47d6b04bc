/**
 * The verbs, as data: what dispatch, help and shell completion read. A verb is an entry here, its flags in `specs.ts`, a
 * line in `dispatch.ts`, and a file in `verbs/` that exports `run`.
 *
 * Source: specification document 1, "Command line".
 */

import { clip, didYouMean, UsageError } from "./flags.ts";
import { OPERATE_VERBS } from "./operate/verbs.ts";
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
} from "./specs.ts";
import { type Positionals, SCHEMAS, SHELLS, type Verb } from "./verb.ts";
import { VERBS_ELSEWHERE } from "./verbs-elsewhere.ts";

export * from "./verb.ts";

const NONE: Positionals = { usage: "", min: 0, max: 0 };

/** What the bare command does; its name is empty. */
export const DAEMON = {
  name: "",
  group: "run",
  summary: "run the gateway",
  description:
    "Runs the gateway until SIGTERM or SIGINT. With -config it serves what the node file and its deployment document " +
    "say; without, it forwards to the one provider the flags describe.",
  flags: runFlags,
  positionals: NONE,
} as const satisfies Verb;

const ENTRIES = [
  {
    name: "check",
    group: "run",
    summary: "check a configuration, and whether what it names answers",
    description:
      "Loads the node file and its deployment document as the gateway would, then asks everything they name to answer. " +
      "Prints one line per answer; the status is 1 when any is a failure. Opens no listener and writes nothing.",
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
    positionals: { usage: SCHEMAS.join("|"), min: 1, max: 1, words: "schemas" },
  },
  {
    name: "import",
    group: "run",
    summary: "import the configuration of another gateway",
    description:
      "Reads the config.yaml of a LiteLLM proxy, a config object of Portkey, or the config.json of Bifrost, and prints a " +
      "deployment document with comments. What has no counterpart, or becomes something else, is told on stderr by its line, " +
      "with what to do. A key that is written out is not copied: a variable is named for it. The document compiles as " +
      "'gateway check -offline' compiles it, or nothing is written and the status is 1. '-' reads stdin. Calls nobody.",
    flags: importFlags,
    positionals: { usage: "litellm|portkey|bifrost FILE", min: 2, max: 2, areFiles: true },
  },
  {
    name: "dev",
    group: "run",
    summary: "run a self-contained gateway to try things on",
    description:
      "Runs one node on this machine in front of a simulated provider, MCP server and agent, with a temporary data directory that is removed " +
      "at the end, and prints what to call it with.",
    flags: devFlags,
    positionals: NONE,
  },
  {
    name: "simulate",
    group: "run",
    summary: "run the simulated provider, MCP server and agent alone",
    description:
      "Serves both dialects with deterministic answers, an MCP server at /mcp and an A2A agent at /a2a. Names ask for " +
      "faults: models sim-429, sim-slow-2s, sim-drop-mid-stream; servers /mcp/sim-stall-mid-stream, /mcp/sim-old-session; " +
      "agents /a2a/sim-fail. -faults lists them; GET /sim/last shows what was received.",
    flags: simulateFlags,
    positionals: NONE,
  },
  {
    name: "guardrails eval",
    group: "run",
    summary: "score the guardrails of a configuration on marked texts",
    description:
      "Runs every case of the data through the detectors, as one chat turn, and compares what was found with what is " +
      "marked, exactly and with overlap allowed. Files named .jsonl hold a case a line (text, spans, labels, tags, kind, " +
      "system; places are bytes); others are CoNLL. '-' reads stdin. Texts of wrong cases are printed, but not with " +
      "-json. Declared models that are not in the cache are fetched into it; judges call the models of their providers, " +
      "which is told and counted. The status is 1 when a detector failed.",
    flags: guardrailsEvalFlags,
    positionals: { usage: "DATA...", min: 1, max: Number.POSITIVE_INFINITY, areFiles: true },
  },
  {
    name: "guardrails inspect",
    group: "run",
    summary: "show what guardrails make of a text, and why",
    description:
      "Shows what detectors find in a text, what was removed and why, what the rules decide, and the resulting " +
      "text. Nothing is forwarded or recorded. With -config it needs no gateway; without, it asks the one that runs. '-' " +
      "reads stdin, which no shell remembers. The status is 0 when the text is allowed, also rewritten, and 1 when it is " +
      "denied.",
    flags: guardrailsInspectFlags,
    positionals: { usage: "TEXT|-", min: 1, max: 1 },
  },
  {
    name: "guardrails list",
    group: "operate",
    summary: "list detectors and rules in force, with their counts",
    description:
      "Prints the detectors and the rules of a running gateway, in the order of its document, and what its node counted " +
      "of them since it started. Keys, patterns and deny lists are not shown.",
    flags: guardrailsListFlags,
    positionals: NONE,
  },
  {
    name: "models pin",
    group: "run",
    summary: "print a model of a hub as an entry to paste, by its commit",
    description:
      "Prints the entry of 'models' to paste into a deployment document: a branch or tag is resolved to the commit that " +
      "it names now, since the gateway accepts nothing that can move. Downloads nothing.",
    flags: modelsPinFlags,
    positionals: { usage: "OWNER/NAME", min: 1, max: 1 },
  },
  {
    name: "models list",
    group: "run",
    summary: "list the models of a configuration and of its cache",
    description:
      "Prints the models that the detectors of the deployment document refer to, whether each is in the cache, and what " +
      "else is there. Asks nobody and writes nothing.",
    flags: modelsListFlags,
    positionals: NONE,
  },
  {
    name: "models prune",
    group: "run",
    summary: "remove from the cache what a configuration does not use",
    description:
      "Removes models, files and broken-off downloads that the deployment document does not need; whatever uses them " +
      "can fetch them again. Without -confirm it prints what would be removed and removes nothing.",
    flags: modelsPruneFlags,
    positionals: NONE,
  },
  {
    name: "pack list",
    group: "run",
    summary: "list the control packs that come with the program",
    description:
      "Prints one line per pack: its id, version, number of rules and of controls, and what it is for. A pack maps rules " +
      "to the controls of a standard, so that the audit trail says which control a decision served.",
    flags: noFlags,
    positionals: NONE,
  },
  {
    name: "pack show",
    group: "run",
    summary: "show what a control pack covers, cites and adds",
    description:
      "Prints the README of the pack, the controls that it cites, those that it attaches to rules of other packs, those " +
      "that something else than a rule carries out, and the fragment that 'pack add' copies. PACK is an id, or the path of " +
      "a directory such as ./mine.",
    flags: noFlags,
    positionals: { usage: "PACK", min: 1, max: 1 },
  },
  {
    name: "pack add",
    group: "run",
    summary: "put control packs into a deployment document",
    description:
      "Copies detectors and rules of the packs into the document, whose other lines stay as they are, and compiles the " +
      "result as the gateway does; all of it or nothing. What is there already is kept when it is the same by meaning, and " +
      "refused when it is not. Prints the document, or writes it with -write; what was done is told on stderr. Variables " +
      "that the document uses must be set; its secrets need not be here.",
    flags: packAddFlags,
    positionals: { usage: "PACK...", min: 1, max: 100 },
  },
  {
    name: "pack test",
    group: "run",
    summary: "run the cases of a control pack",
    description:
      "Runs the pack's own cases against a document that holds it and what it builds on, and nothing else. Prints one line " +
      "per case; the status is 1 when one fails. Calls nobody and writes nothing.",
    flags: noFlags,
    positionals: { usage: "PACK...", min: 1, max: 100 },
  },
  {
    name: "console",
    group: "operate",
    summary: "watch and operate a running gateway on a full screen",
    description:
      "Shows the cluster as it is and as it changes, and does nothing that was not confirmed. '?' explains the keys of " +
      "what is on the screen; Esc goes back, q leaves. NO_COLOR and INK_SCREEN_READER=true are honoured. For scripts: " +
      "gateway admin, gateway query.",
    flags: consoleFlags,
    positionals: NONE,
  },
  ...OPERATE_VERBS,
  {
    name: "admin",
    group: "operate",
    summary: "call the admin API of a running gateway",
    description:
      "Sends one request and prints the body of the answer. METHOD is GET when it is left out; PATH is keys, /keys or " +
      "/admin/v1/keys alike. The status is 1 when the API answers 400 or above, 3 when nobody answers.",
    flags: adminFlags,
    positionals: { usage: "[METHOD] PATH", min: 1, max: 2, words: "operations" },
  },
  {
    name: "query",
    group: "operate",
    summary: "ask a running gateway by SQL",
    description:
      "Runs one SELECT over the lists of the admin API, all read at one moment on one node, and prints the rows. SQL '-' " +
      "reads the statement from stdin. Try: gateway query -tables.",
    flags: queryFlags,
    positionals: { usage: "SQL", min: 0, max: 1 },
  },
  {
    name: "login",
    group: "operate",
    summary: "sign in at a gateway's identity provider",
    description:
      "Signs in where the gateway says and keeps the token for verbs that take -url. URL is GATEWAY_ADMIN_URL when it is " +
      "left out.",
    flags: loginFlags,
    positionals: { usage: "[URL]", min: 0, max: 1 },
  },
  {
    name: "logout",
    group: "operate",
    summary: "forget the sign-in at a gateway",
    description:
      "Removes the token that this machine keeps for a gateway; URL is GATEWAY_ADMIN_URL when it is left out. The token " +
      "stays valid until it expires.",
    flags: logoutFlags,
    positionals: { usage: "[URL]", min: 0, max: 1 },
  },
  {
    name: "audit verify",
    group: "keep",
    summary: "check an exported audit trail",
    description:
      "Checks each chain of the trail offline: every record, link and signature, and that none is missing between the " +
      "first and the last. A trail cut at its end is noticed only against -heads. '-' reads stdin. The status is 1 when " +
      "a chain fails.",
    flags: auditVerifyFlags,
    positionals: { usage: "FILE...", min: 1, max: Number.POSITIVE_INFINITY, areFiles: true },
  },
  {
    name: "snapshot save",
    group: "keep",
    summary: "write the state of a running cluster to an archive",
    description:
      "Makes the leader take a snapshot and writes the archive: a file that is there whole or not at all, or stdout for " +
      "'-'. Secrets in it are sealed; only a cluster of the same secret opens them.",
    flags: snapshotSaveFlags,
    positionals: { usage: "FILE", min: 1, max: 1, areFiles: true },
  },
  {
    name: "snapshot restore",
    group: "keep",
    summary: "replace the state of a running cluster by an archive's",
    description:
      "Replaces keys, budgets, sources, secrets and all other state by those of the archive, on every node and at once; " +
      "what was there is gone. Members stay. '-' reads the archive from stdin. An archive whose secrets were sealed under " +
      "another cluster secret or kek_file is refused unless -without-secrets is given.",
    flags: snapshotRestoreFlags,
    positionals: { usage: "FILE", min: 1, max: 1, areFiles: true },
  },
  {
    name: "cluster prune",
    group: "keep",
    summary: "name the members that a running cluster keeps",
    description:
      "Makes the members of a running cluster exactly those of -keep; the others are removed. The first address that " +
      "answers relays it to the leader. The cluster secret is read from GATEWAY_CLUSTER_SECRET.",
    flags: clusterPruneFlags,
    positionals: NONE,
  },
  {
    name: "cluster recover",
    group: "keep",
    summary: "let a stopped node go on when its majority is lost",
    description:
      "Offline, on a stopped node, once, on the survivor with the highest last term, then the highest last index. Makes " +
      "its cluster one of fewer members; what the disk holds is kept. Without -confirm it prints what it found and writes " +
      "nothing.",
    flags: clusterRecoverFlags,
    positionals: NONE,
  },
  {
    name: "version",
    group: "program",
    summary: "print build, commit, date, toolchain and platform",
    description:
      "Prints one line, as --version does. The commit ends in -dirty when the tree it was built from had been modified.",
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
    summary: "print a shell's completion script",
    description: "Prints the script; for bash, put `source <(gateway completion bash)` into ~/.bashrc.",
    flags: completionFlags,
    positionals: { usage: SHELLS.join("|"), min: 0, max: 1, words: "shells" },
  },
  {
    name: "help",
    group: "program",
    summary: "print the help of a verb",
    description:
      "Prints the list of verbs, or the help of one. 'gateway help environment' lists the environment variables, and " +
      "'gateway help exit-status' the exit statuses.",
    flags: noFlags,
    positionals: { usage: "[VERB]", min: 0, max: 2, words: "verbs" },
  },
] as const satisfies readonly Verb[];

export const VERBS: readonly Verb[] = ENTRIES;

/** An entry, with its own name and flags. */
export type Entry = typeof DAEMON | (typeof ENTRIES)[number];

/** The verb that the first words of a command line name, and what follows them. Throws `UsageError` for none. */
export function findVerb(args: readonly string[]): { readonly verb: Entry; readonly rest: readonly string[] } {
  const [first, second] = args;
  // What every program is asked; it is no flag of the daemon's, which would go on to serve.
  if (first === "-version" || first === "--version") return findVerb(["version", ...args.slice(1)]);
  if (first === undefined || first.startsWith("-")) return { verb: DAEMON, rest: args };
  const two = `${first} ${second}`;
  for (const verb of ENTRIES) {
    if (verb.name === two) return { verb, rest: args.slice(2) };
    if (verb.name === first) return { verb, rest: args.slice(1) };
  }
  const followers = groupWords(first);
  if (followers.length > 0) {
    const hint = second === undefined ? "" : didYouMean(second, followers);
    throw new UsageError(`'${clip(first)}' is followed by ${followers.join(" or ")}${hint}`);
  }
  const elsewhere = Object.hasOwn(VERBS_ELSEWHERE, first) ? VERBS_ELSEWHERE[first] : undefined;
  if (elsewhere !== undefined) throw new UsageError(`there is no verb '${clip(first)}': ${elsewhere}`);
  const names = VERBS.map(({ name }) => name);
  throw new UsageError(`unknown verb '${clip(first)}'${didYouMean(first, names)}`);
}

/** Second words of the verbs that begin with this one: `mint`, `rotate` for `keys`. */
export function groupWords(first: string): readonly string[] {
  return VERBS.flatMap(({ name }) => (name.startsWith(`${first} `) ? [name.slice(first.length + 1)] : []));
}

/** Whether it is the first word of verbs of two words, and no verb by itself. */
export function isGroupWord(first: string): boolean {
  return groupWords(first).length > 0 && !VERBS.some(({ name }) => name === first);
}
