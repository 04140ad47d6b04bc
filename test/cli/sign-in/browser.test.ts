import assert from "node:assert/strict";
import { test } from "node:test";
import { hasBrowser } from "../../../src/cli/sign-in/open-browser.ts";

test("a browser is assumed with a display, or if the user says so", () => {
  const table: readonly (readonly [env: Record<string, string>, on: NodeJS.Platform, expected: boolean])[] = [
    [{}, "linux", false],
    [{ DISPLAY: ":0" }, "linux", true],
    [{ DISPLAY: "" }, "linux", false],
    [{ WAYLAND_DISPLAY: "wayland-0" }, "linux", true],
    [{ DISPLAY: ":0", SSH_CONNECTION: "10.0.0.1 1 10.0.0.2 22" }, "linux", false],
    [{ DISPLAY: ":0", BROWSER: "none" }, "linux", false],
    [{ DISPLAY: ":0", BROWSER: "" }, "linux", false],
    [{ BROWSER: "firefox" }, "linux", true],
    [{ BROWSER: "forwarder", SSH_CONNECTION: "10.0.0.1 1 10.0.0.2 22" }, "linux", true],
    [{}, "darwin", true],
    [{ SSH_TTY: "/dev/ttys1" }, "darwin", false],
    [{}, "win32", true],
    [{ BROWSER: "none" }, "win32", false],
  ];
  for (const [env, on, expected] of table) assert.equal(hasBrowser(env, on), expected, JSON.stringify([env, on]));
});
