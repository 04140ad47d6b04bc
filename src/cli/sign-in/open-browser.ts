/**
 * Detects and opens the user's browser.
 *
 * `BROWSER` takes precedence: `none` or an empty text means that there is no browser, anything else is the program to
 * run. Otherwise there is one on macOS and Windows, and on Linux with a display. SSH sessions have none, since the
 * browser would run on another machine than the listener of the redirect.
 */

import { platform } from "node:os";
import type { Io } from "../process-io.ts";

type Env = Io["env"];

export function hasBrowser(env: Env, on: NodeJS.Platform = platform()): boolean {
  const named = env["BROWSER"];
  if (named !== undefined) return named !== "" && named !== "none";
  if (isSet(env, "SSH_CONNECTION") || isSet(env, "SSH_TTY")) return false;
  if (on === "darwin" || on === "win32") return true;
  return isSet(env, "DISPLAY") || isSet(env, "WAYLAND_DISPLAY");
}

/** Returns false if the browser could not be started. Whether it shows the page is not known. */
export async function openBrowser(url: string, env: Env): Promise<boolean> {
  const name = env["BROWSER"];
  try {
    const { default: open } = await import("open");
    await open(url, name === undefined ? {} : { app: { name } });
    return true;
  } catch {
    return false;
  }
}

function isSet(env: Env, name: string): boolean {
  return env[name] !== undefined && env[name] !== "";
}
