/**
 * Settings of the console: `console.yaml` in `$XDG_CONFIG_HOME/gateway` or `~/.config/gateway`. The file names programs
 * that the console runs, so it is refused if others can write to it.
 */

import { readFile, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import process from "node:process";
import type { Fault, Read, Settings, ThemeSpec } from "../console/index.ts";
import { UsageError } from "./parse-flags.ts";
import { type Io, resolvePath } from "./process-io.ts";

interface FoundSettings {
  readonly path: string | undefined;
  readonly read: Read<Settings>;
  readonly exists: boolean;
}

/**
 * Returns the path of the settings file; `undefined` if neither HOME nor XDG_CONFIG_HOME is an absolute path (XDG base
 * directories, "Basics").
 */
function settingsPath({ env }: Pick<Io, "env">): string | undefined {
  const named = env["XDG_CONFIG_HOME"];
  if (named !== undefined && isAbsolute(named)) return join(named, "gateway", "console.yaml");
  const home = env["HOME"] || homedir();
  return isAbsolute(home) ? join(home, ".config", "gateway", "console.yaml") : undefined;
}

export async function findSettings(io: Io): Promise<FoundSettings> {
  const { NO_SETTINGS, settingsReader, VIEWS } = await import("../console/index.ts");
  const path = settingsPath(io);
  const none: Read<Settings> = { kind: "good", value: NO_SETTINGS };
  if (path === undefined) return { path, read: none, exists: false };
  const text = await textOf(path);
  if (text.kind === "none") return { path, read: none, exists: false };
  if (text.kind === "refused") return { path, read: { kind: "bad", faults: [text.fault] }, exists: true };
  const { readSettings } = await settingsReader();
  return {
    path,
    read: readSettings(
      text.text,
      VIEWS.map(({ id }) => id),
    ),
    exists: true,
  };
}

type Text =
  | { readonly kind: "none" }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "refused"; readonly fault: Fault };

async function textOf(path: string): Promise<Text> {
  const { MAX_SETTINGS_BYTES } = await import("../console/index.ts");
  const refused = (message: string, remedy: string): Text => ({
    kind: "refused",
    fault: { line: 1, column: 1, message, remedy },
  });
  try {
    const found = await stat(path);
    const user = process.geteuid?.();
    if (!found.isFile()) return refused("it is not a file", "put a file in its place");
    if (user !== undefined && found.uid !== user && found.uid !== 0)
      return refused(`it belongs to user ${found.uid}, and it names programs to run`, "change its owner with chown");
    if (user !== undefined && (found.mode & 0o022) !== 0)
      return refused("others may write to it, and it names programs to run", "chmod go-w");
    if (found.size > MAX_SETTINGS_BYTES) return refused("it is larger than 64 KiB", "make it shorter");
    return { kind: "text", text: await readFile(path, "utf8") };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "unknown";
    return code === "ENOENT" || code === "ENOTDIR"
      ? { kind: "none" }
      : refused(`it cannot be read: ${code}`, "chmod u+r");
  }
}

/** Formats a problem as one line, in the format of compiler errors. */
export const faultLine = (path: string, { line, column, message, remedy }: Fault): string =>
  `${path}:${line}:${column}: ${message}; ${remedy}`;

/**
 * Returns the theme; `undefined` if the terminal's background decides. Throws `UsageError` if there is no such theme or
 * file.
 */
export async function chooseTheme(
  requestedTheme: string | undefined,
  { theme, themes }: Settings,
  io: Io,
): Promise<ThemeSpec | undefined> {
  const { BUILT_IN, settingsReader } = await import("../console/index.ts");
  const name = requestedTheme ?? theme;
  if (name === undefined || name === "auto") return undefined;
  const known = BUILT_IN.get(name) ?? themes.get(name);
  if (known !== undefined) return known;
  const path = resolvePath(io, name);
  const text = await textOf(path);
  if (text.kind === "none") {
    const names = ["auto", ...BUILT_IN.keys(), ...themes.keys()].join(", ");
    throw new UsageError(`flag '-theme': there is no theme and no file ${name}; the themes are ${names}`);
  }
  const { readTheme } = await settingsReader();
  const read = text.kind === "text" ? readTheme(text.text) : { kind: "bad" as const, faults: [text.fault] as const };
  if (read.kind === "good") return read.value;
  throw new UsageError(`flag '-theme': ${faultLine(name, read.faults[0])}`);
}
