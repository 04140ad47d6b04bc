/**
 * The user's browser: whether there is one here, and opening it.
 *
 * `BROWSER` decides where it is set: `none` (or empty) says that there is none, anything else is the program to run. Else
 * there is one on macOS and Windows, and on Linux where a display is; not in an SSH session, whose browser would be on
 * another machine than the listener that it is sent back to.
 */

import { platform } from "node:os";
import type { Io } from "../io.ts";

type Env = Io["env"];

export function hasBrowser(env: Env, on: NodeJS.Platform = platform()): boolean {
  const named = env["BROWSER"];
  if (named !== undefined) return named !== "" && named !== "none";
  if (isSet(env, "SSH_CONNECTION") || isSet(env, "SSH_TTY")) return false;
  if (on === "darwin" || on === "win32") return true;
  return isSet(env, "DISPLAY") || isSet(env, "WAYLAND_DISPLAY");
}

/** False when it could not be started; whether it then shows the page is beyond this process. */
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
