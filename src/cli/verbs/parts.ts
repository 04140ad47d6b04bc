/**
 * `gateway parts`: lists the optional packages: whether each is installed and loads, its version, what needs it, and
 * the command that installs it. The status is 0 even if packages are missing, since a gateway needs a package only if
 * its configuration does.
 */

import { execFile } from "node:child_process";
import {
  escapeControls,
  type FoundPackage,
  findPackage,
  installCommand,
  OPTIONAL_PACKAGES,
  type OptionalPackage,
} from "../../base/index.ts";
import type { FlagsOf } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import type { partsFlags } from "../verb-flags.ts";

/** Time to load a package, in milliseconds. The largest takes a tenth of a second on an idle machine. */
const LOAD_LIMIT_MS = 30_000;
/** Maximum length of a reason, in characters. A loader's message names every path that it tried. */
const MAX_REASON = 300;

type State = "ready" | "missing" | "broken";

interface Part {
  readonly name: string;
  readonly state: State;
  /** Version that is installed. */
  readonly version?: string;
  /** Version that this build is tested with. */
  readonly wanted: string;
  readonly folder?: string;
  /** Why it does not load. */
  readonly reason?: string;
  readonly serves: string;
  readonly keys: readonly string[];
  readonly install: string;
}

export async function run({ o }: FlagsOf<typeof partsFlags>, _: readonly string[], io: Io): Promise<ExitStatus> {
  const parts = await Promise.all(OPTIONAL_PACKAGES.map((one) => partOf(one, io.signal)));
  io.signal.throwIfAborted();
  io.stdout.write(o === "json" ? `${JSON.stringify({ parts }, null, 2)}\n` : parts.map(textOf).join("\n"));
  return 0;
}

async function partOf({ name, version: wanted, serves, keys }: OptionalPackage, signal: AbortSignal): Promise<Part> {
  const facts = { wanted, serves, keys, install: installCommand(name) };
  const found = findPackage(name);
  if (found === undefined) return { name, state: "missing", ...facts };
  const reason = await whyNotLoaded(found, signal);
  const state = reason === undefined ? "ready" : "broken";
  return { name, state, ...found, ...facts, ...(reason !== undefined && { reason }) };
}

/** Loads the package in a process of its own, since a native library of another system can end the process. */
function whyNotLoaded({ folder }: FoundPackage, signal: AbortSignal): Promise<string | undefined> {
  const program = "require(process.argv[1])";
  const options = { signal, timeout: LOAD_LIMIT_MS, killSignal: "SIGKILL", maxBuffer: 1 << 20 } as const;
  return new Promise((resolve) => {
    execFile(process.execPath, ["-e", program, folder], options, (error, _, stderr) => {
      if (error === null) return resolve(undefined);
      const line = /^\w*Error\b.*/m.exec(stderr)?.[0] ?? stderr.trim().split("\n").at(-1) ?? "";
      resolve(escapeControls(line === "" ? `its process ended: ${error.message}` : line).slice(0, MAX_REASON));
    });
  });
}

const STATES: Readonly<Record<State, string>> = {
  ready: "ready",
  missing: "not installed",
  broken: "installed, and does not load",
};

function textOf({ name, state, version, wanted, folder, reason, serves, install }: Part): string {
  const other = version === undefined || version === wanted ? "" : ` (this build is tested with ${wanted})`;
  const rows = [
    ["serves", serves],
    ["folder", folder === undefined ? undefined : escapeControls(folder)],
    ["reason", reason],
    ["install", state === "ready" && other === "" ? undefined : install],
  ].filter((row): row is [string, string] => row[1] !== undefined);
  const lines = rows.map(([label, text]) => `  ${label.padEnd("install".length)}  ${text}\n`);
  return `${[name, version].filter((it) => it !== undefined).join(" ")}: ${STATES[state]}${other}\n${lines.join("")}`;
}
