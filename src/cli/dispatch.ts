/**
 * Parses the arguments of a verb, loads its module and runs it. No part of a verb is loaded earlier: each `import()` is
 * a separate file in the build.
 */

import { holdSighup } from "./hold-sighup.ts";
import { clipArgument, type FlagsOf, type FlagTable, flagNameOf, parseFlags, UsageError } from "./parse-flags.ts";
import type { ExitStatus, Io } from "./process-io.ts";
import type { Entry, Positionals } from "./verb-table.ts";

/**
 * Exports of a verb's module. The result of `run` is an `ExitStatus`; an error that it throws is printed, and the
 * status is 1.
 */
interface VerbModule<Table extends FlagTable> {
  run(options: FlagsOf<Table>, positionals: readonly string[], io: Io): Promise<ExitStatus>;
}

/** The flags of each verb, by its name. */
type FlagsByName = { readonly [Each in Entry as Each["name"]]: Each["flags"] };

type Loaders = { readonly [Name in keyof FlagsByName]: () => Promise<VerbModule<FlagsByName[Name]>> };

const LOADERS: Loaders = {
  async ""() {
    const heldSighup = holdSighup();
    const { run } = await import("./verbs/run.ts");
    return { run: (options, positionals, io) => run(options, positionals, io, heldSighup) };
  },
  check: () => import("./verbs/check.ts"),
  schema: () => import("./verbs/schema.ts"),
  import: () => import("./verbs/import.ts"),
  dev: () => import("./verbs/dev.ts"),
  simulate: () => import("./verbs/simulate.ts"),
  "guardrails inspect": () => import("./verbs/guardrails-inspect.ts"),
  "guardrails list": () => import("./verbs/guardrails-list.ts"),
  "guardrails eval": () => import("./verbs/guardrails-eval.ts"),
  "models pin": () => import("./verbs/models-pin.ts"),
  "models list": () => import("./verbs/models-list.ts"),
  "models prune": () => import("./verbs/models-prune.ts"),
  "pack list": () => import("./verbs/pack-list.ts"),
  "pack show": () => import("./verbs/pack-show.ts"),
  "pack add": () => import("./verbs/pack-add.ts"),
  "pack test": () => import("./verbs/pack-test.ts"),
  console: () => import("./verbs/console.ts"),
  status: () => import("./verbs/status.ts"),
  get: () => import("./verbs/get.ts"),
  explain: () => import("./verbs/explain.ts"),
  rehearse: () => import("./verbs/rehearse.ts"),
  wait: () => import("./verbs/wait.ts"),
  suspend: async () => (await import("./operate/suspend-verbs.ts")).suspend,
  lift: async () => (await import("./operate/suspend-verbs.ts")).lift,
  "keys mint": async () => (await import("./operate/key-verbs.ts")).mint,
  "keys rotate": async () => (await import("./operate/key-verbs.ts")).rotate,
  "keys revoke": async () => (await import("./operate/key-verbs.ts")).revoke,
  "keys find": async () => (await import("./operate/key-verbs.ts")).find,
  "secrets put": async () => (await import("./operate/secret-verbs.ts")).put,
  "secrets list": async () => (await import("./operate/secret-verbs.ts")).list,
  "secrets delete": async () => (await import("./operate/secret-verbs.ts")).remove,
  ack: async () => (await import("./operate/acknowledge-verbs.ts")).ack,
  unack: async () => (await import("./operate/acknowledge-verbs.ts")).unack,
  "config show": async () => (await import("./operate/config-verbs.ts")).show,
  "config diff": async () => (await import("./operate/config-verbs.ts")).diff,
  "config apply": async () => (await import("./operate/config-verbs.ts")).apply,
  "config history": async () => (await import("./operate/config-verbs.ts")).history,
  "config rollback": async () => (await import("./operate/config-verbs.ts")).rollback,
  "config edit": async () => (await import("./operate/config-verbs.ts")).edit,
  "config reload": async () => (await import("./operate/config-verbs.ts")).reload,
  admin: () => import("./verbs/admin.ts"),
  query: () => import("./verbs/query.ts"),
  login: () => import("./verbs/login.ts"),
  logout: () => import("./verbs/logout.ts"),
  "audit verify": () => import("./verbs/audit-verify.ts"),
  "snapshot save": () => import("./verbs/snapshot-save.ts"),
  "snapshot restore": () => import("./verbs/snapshot-restore.ts"),
  "cluster step-down": async () => (await import("./operate/step-down.ts")).stepDown,
  "cluster prune": () => import("./verbs/cluster-prune.ts"),
  "cluster recover": () => import("./verbs/cluster-recover.ts"),
  version: () => import("./verbs/version.ts"),
  parts: () => import("./verbs/parts.ts"),
  completion: () => import("./verbs/completion.ts"),
  help: () => import("./verbs/help.ts"),
};

type Outcome = { readonly kind: "help" } | { readonly kind: "done"; readonly status: ExitStatus };

/** Runs a verb. Throws `UsageError` for wrong arguments before anything is loaded. */
export async function invoke<Name extends keyof FlagsByName>(
  { name, flags, positionals, isInterleaved = false }: VerbOf<Name>,
  args: readonly string[],
  io: Io,
): Promise<Outcome> {
  const parsed = parseFlags(flags, args, { isInterleaved, usage: positionals.usage });
  if (parsed.kind === "help") return parsed;
  if (!isInterleaved && !args.includes("--"))
    checkFlagsFirst(flags, parsed.positionals, `${name} [FLAGS] ${positionals.usage}`);
  checkCount(positionals, parsed.positionals);
  const load: Loaders[Name] = LOADERS[name];
  const module = await load();
  return { kind: "done", status: await module.run(parsed.options, parsed.positionals, io) };
}

/** Fields of a verb table entry that `invoke` reads. */
interface VerbOf<Name extends keyof FlagsByName> {
  readonly name: Name;
  readonly flags: FlagsByName[Name];
  readonly positionals: Positionals;
  readonly isInterleaved?: boolean;
}

function checkCount({ usage, min, max }: Positionals, positionals: readonly string[]): void {
  if (positionals.length >= min && positionals.length <= max) return;
  const extra = positionals[max];
  if (extra === undefined) throw new UsageError(`missing argument: ${usage}`);
  const isFlag = positionals.some((text) => text.startsWith("-") && text !== "-");
  const hint = isFlag ? "; flags come before arguments" : "";
  throw new UsageError(`${max === 0 ? "takes no arguments" : `too many arguments, takes ${usage}`}${hint}`);
}

/** Refuses a flag after an argument, where this verb would read it as another argument. */
function checkFlagsFirst(flags: FlagTable, args: readonly string[], usage: string): void {
  const late = args.find((text) => /^--?\w/.test(text) && Object.hasOwn(flags, flagNameOf(text)));
  if (late === undefined) return;
  throw new UsageError(`flags come before the arguments, also '${clipArgument(late)}': gateway ${usage}`);
}
