/**
 * The verbs, as data. Dispatch, help and shell completion read this one table, so a verb is added by one entry here,
 * its flags in `specs.ts`, and one file that exports `run`.
 *
 * Nothing of a verb is loaded before it runs: `load` is a dynamic import, and the build makes it a file of its own.
 */

import { clip, didYouMean, type FlagsOf, type FlagTable, parseFlags, UsageError } from "./flags.ts";
import { holdHangups } from "./hangups.ts";
import type { ExitStatus, Io } from "./io.ts";
import {
  adminFlags,
  auditVerifyFlags,
  checkFlags,
  clusterPruneFlags,
  clusterRecoverFlags,
  consoleFlags,
  devFlags,
  loginFlags,
  logoutFlags,
  noFlags,
  queryFlags,
  runFlags,
  simulateFlags,
  snapshotRestoreFlags,
  snapshotSaveFlags,
} from "./specs.ts";

/** The positional arguments a verb takes. */
export interface Positionals {
  /** As in the usage line: `bash|zsh|fish`, `[VERB]`, `FILE...`. */
  readonly usage: string;
  readonly min: number;
  readonly max: number;
  /** The words a shell offers for the first of them. */
  readonly words?: () => readonly string[];
  /** They are names of files, which a shell completes. */
  readonly areFiles?: true;
}

/** The face of a verb's module. Status: see `ExitStatus`; a thrown error is printed and is status 1. */
export interface VerbModule<Table extends FlagTable> {
  run(options: FlagsOf<Table>, positionals: readonly string[], io: Io): Promise<ExitStatus>;
}

export type Outcome = { readonly kind: "help" } | { readonly kind: "done"; readonly status: ExitStatus };

export interface Verb {
  /** One word or two; empty for the daemon, which is the bare command. */
  readonly name: string;
  /** One line, for the list of verbs. */
  readonly summary: string;
  /** What the help of the verb says beneath its usage. */
  readonly description: string;
  readonly flags: FlagTable;
  readonly positionals: Positionals;
  /** Reads the arguments, loads the module and runs it. Throws `UsageError` before anything is loaded. */
  invoke(args: readonly string[], io: Io): Promise<Outcome>;
}

interface VerbSpec<Table extends FlagTable> {
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  readonly flags: Table;
  readonly positionals?: Positionals;
  readonly load: () => Promise<VerbModule<Table>>;
}

const NONE: Positionals = { usage: "", min: 0, max: 0 };

/** Binds a verb's flags to its module's options, so that the table may hold verbs of different flags. */
function verb<const Table extends FlagTable>(spec: VerbSpec<Table>): Verb {
  const { name, summary, description, flags, positionals = NONE, load } = spec;
  return {
    name,
    summary,
    description,
    flags,
    positionals,
    async invoke(args, io) {
      const parsed = parseFlags(flags, args);
      if (parsed.kind === "help") return parsed;
      checkCount(positionals, parsed.positionals);
      const module = await load();
      return { kind: "done", status: await module.run(parsed.options, parsed.positionals, io) };
    },
  };
}

function checkCount({ usage, min, max }: Positionals, given: readonly string[]): void {
  if (given.length >= min && given.length <= max) return;
  const extra = given[max];
  if (extra === undefined) throw new UsageError(`missing argument: ${usage}`);
  const isFlag = given.some((text) => text.startsWith("-") && text !== "-");
  const hint = isFlag ? "; flags come before arguments" : "";
  throw new UsageError(`${max === 0 ? "takes no arguments" : `too many arguments, takes ${usage}`}${hint}`);
}

export const SHELLS = ["bash", "zsh", "fish"] as const;

/** What the bare command does; its name is empty. */
export const DAEMON: Verb = verb({
  name: "",
  summary: "run the gateway",
  description:
    "Runs the gateway until SIGTERM or SIGINT. With -config it serves what the node file and its deployment document " +
    "say; without, it forwards to the one provider the flags describe.",
  flags: runFlags,
  async load() {
    const held = holdHangups();
    const { run } = await import("./verbs/run.ts");
    return { run: (options, positionals, io) => run(options, positionals, io, held) };
  },
});

export const VERBS: readonly Verb[] = [
  verb({
    name: "check",
    summary: "check a configuration, and whether what it names answers",
    description:
      "Loads the node file and its deployment document as the gateway would, then asks everything they name to answer. " +
      "Prints one line per answer; the status is 1 when any is a failure. Opens no listener and writes nothing.",
    flags: checkFlags,
    load: () => import("./verbs/check.ts"),
  }),
  verb({
    name: "dev",
    summary: "run a self-contained gateway to try things on",
    description:
      "Runs one node on this machine in front of a simulated provider, with a temporary data directory that is removed " +
      "at the end, and prints what to call it with.",
    flags: devFlags,
    load: () => import("./verbs/dev.ts"),
  }),
  verb({
    name: "simulate",
    summary: "run the simulated provider alone",
    description:
      "Serves both dialects with deterministic answers. Model names ask for faults: sim-429, sim-500, sim-slow-2s, " +
      "sim-drop-mid-stream.",
    flags: simulateFlags,
    load: () => import("./verbs/simulate.ts"),
  }),
  verb({
    name: "console",
    summary: "watch and operate a running gateway on a full screen",
    description:
      "Shows the cluster as it is and as it changes, and does nothing that was not confirmed. '?' explains the keys of " +
      "what is on the screen; Esc goes back, q leaves. NO_COLOR and INK_SCREEN_READER=true are honoured. For scripts: " +
      "gateway admin, gateway query.",
    flags: consoleFlags,
    load: () => import("./verbs/console.ts"),
  }),
  verb({
    name: "admin",
    summary: "call the admin API of a running gateway",
    description:
      "Sends one request and prints the body of the answer. METHOD is GET when it is left out; PATH is keys, /keys or " +
      "/admin/v1/keys alike. The status is 1 when the API answers 400 or above, 3 when nobody answers.",
    flags: adminFlags,
    positionals: { usage: "[METHOD] PATH", min: 1, max: 2 },
    load: () => import("./verbs/admin.ts"),
  }),
  verb({
    name: "query",
    summary: "ask a running gateway by SQL",
    description:
      "Runs one SELECT over the lists of the admin API, all read at one moment on one node, and prints the rows. SQL '-' " +
      "reads the statement from stdin. Try: gateway query -tables.",
    flags: queryFlags,
    positionals: { usage: "SQL", min: 0, max: 1 },
    load: () => import("./verbs/query.ts"),
  }),
  verb({
    name: "login",
    summary: "sign in at a gateway's identity provider",
    description:
      "Signs in where the gateway says and keeps the token for verbs that take -url. URL is GATEWAY_ADMIN_URL when it is " +
      "left out.",
    flags: loginFlags,
    positionals: { usage: "[URL]", min: 0, max: 1 },
    load: () => import("./verbs/login.ts"),
  }),
  verb({
    name: "logout",
    summary: "forget the sign-in at a gateway",
    description:
      "Removes the token that this machine keeps for a gateway; URL is GATEWAY_ADMIN_URL when it is left out. The token " +
      "stays valid until it expires.",
    flags: logoutFlags,
    positionals: { usage: "[URL]", min: 0, max: 1 },
    load: () => import("./verbs/logout.ts"),
  }),
  verb({
    name: "audit verify",
    summary: "check an exported audit trail",
    description:
      "Checks each chain of the trail offline: every record, link and signature, and that none is missing between the " +
      "first and the last. A trail cut at its end is noticed only against -heads. '-' reads stdin. The status is 1 when " +
      "a chain fails.",
    flags: auditVerifyFlags,
    positionals: { usage: "FILE...", min: 1, max: Number.POSITIVE_INFINITY, areFiles: true },
    load: () => import("./verbs/audit-verify.ts"),
  }),
  verb({
    name: "snapshot save",
    summary: "write the state of a running cluster to an archive",
    description:
      "Makes the leader take a snapshot and writes the archive: a file that is there whole or not at all, or stdout for " +
      "'-'. Secrets in it are sealed; only a cluster of the same secret opens them.",
    flags: snapshotSaveFlags,
    positionals: { usage: "FILE", min: 1, max: 1, areFiles: true },
    load: () => import("./verbs/snapshot-save.ts"),
  }),
  verb({
    name: "snapshot restore",
    summary: "replace the state of a running cluster by an archive's",
    description:
      "Replaces keys, budgets, sources, secrets and all other state by those of the archive, on every node and at once; " +
      "what was there is gone. Members stay. '-' reads the archive from stdin.",
    flags: snapshotRestoreFlags,
    positionals: { usage: "FILE", min: 1, max: 1, areFiles: true },
    load: () => import("./verbs/snapshot-restore.ts"),
  }),
  verb({
    name: "cluster prune",
    summary: "name the members that a running cluster keeps",
    description:
      "Makes the members of a running cluster exactly those of -keep; the others are removed. The first address that " +
      "answers relays it to the leader. The cluster secret is read from GATEWAY_CLUSTER_SECRET.",
    flags: clusterPruneFlags,
    load: () => import("./verbs/cluster-prune.ts"),
  }),
  verb({
    name: "cluster recover",
    summary: "let a stopped node go on when its majority is lost",
    description:
      "Offline, on a stopped node, once, on the survivor with the highest last term, then the highest last index. Makes " +
      "its cluster one of fewer members; what the disk holds is kept. Without -confirm it prints what it found and writes " +
      "nothing.",
    flags: clusterRecoverFlags,
    load: () => import("./verbs/cluster-recover.ts"),
  }),
  verb({
    name: "version",
    summary: "print build, commit, date, toolchain and platform",
    description: "Prints one line. The commit ends in -dirty when the tree it was built from had been modified.",
    flags: noFlags,
    load: () => import("./verbs/version.ts"),
  }),
  verb({
    name: "completion",
    summary: "print a shell's completion script",
    description: "Prints the script; for bash, put `source <(gateway completion bash)` into ~/.bashrc.",
    flags: noFlags,
    positionals: { usage: SHELLS.join("|"), min: 1, max: 1, words: () => SHELLS },
    load: () => import("./verbs/completion.ts"),
  }),
  verb({
    name: "help",
    summary: "print the help of a verb",
    description: "Prints the list of verbs, or the help of one.",
    flags: noFlags,
    positionals: { usage: "[VERB]", min: 0, max: 2, words: () => VERBS.map(({ name }) => name) },
    load: () => import("./verbs/help.ts"),
  }),
];

/** Verbs of the interface that this version does not have; asking for one is refused by name, with status 2. */
export const NOT_YET: readonly string[] = ["guardrails eval", "models pin", "pack"];

/** The verb that the first words of a command line name, and what follows them. Throws `UsageError` for none. */
export function findVerb(args: readonly string[]): { readonly verb: Verb; readonly rest: readonly string[] } {
  const [first, second] = args;
  if (first === "-version" || first === "--version") {
    throw new UsageError(`unknown flag '-version' (did you mean 'gateway version'?)`);
  }
  if (first === undefined || first.startsWith("-")) return { verb: DAEMON, rest: args };
  const two = `${first} ${second}`;
  for (const verb of VERBS) {
    if (verb.name === two) return { verb, rest: args.slice(2) };
    if (verb.name === first) return { verb, rest: args.slice(1) };
  }
  if (NOT_YET.includes(two)) throw new UsageError(`'${two}' is not supported by this version`);
  const followers = VERBS.flatMap(({ name }) => (name.startsWith(`${first} `) ? [name.slice(first.length + 1)] : []));
  if (followers.length > 0) throw new UsageError(`'${clip(first)}' is followed by ${followers.join(" or ")}`);
  if (NOT_YET.some((name) => name.split(" ")[0] === first)) {
    throw new UsageError(`'${first}' is not supported by this version`);
  }
  const names = VERBS.map(({ name }) => name);
  throw new UsageError(`unknown verb '${clip(first)}'${didYouMean(first, names)}`);
}
