/**
 * A real terminal, prebuilt for most systems: if it cannot be loaded, tests that need one are skipped with the reason.
 */

import { createRequire } from "node:module";
import type * as Pty from "@lydell/node-pty";

const loaded = load();

/** For `{ skip: ptySkip }` of a test. */
export const ptySkip: string | false = loaded.kind === "missing" ? loaded.reason : false;

export function spawnInPty(...args: Parameters<typeof Pty.spawn>): Pty.IPty {
  if (loaded.kind === "missing") throw new Error(loaded.reason);
  return loaded.pty.spawn(...args);
}

function load():
  | { readonly kind: "loaded"; readonly pty: typeof Pty }
  | { readonly kind: "missing"; readonly reason: string } {
  if (process.platform === "win32") return { kind: "missing", reason: "no pseudo-terminals with signals on Windows" };
  try {
    return { kind: "loaded", pty: createRequire(import.meta.url)("@lydell/node-pty") as typeof Pty };
  } catch (error) {
    const [why = ""] = String(error instanceof Error ? error.message : error).split("\n");
    return { kind: "missing", reason: `@lydell/node-pty cannot be loaded: ${why}` };
  }
}
