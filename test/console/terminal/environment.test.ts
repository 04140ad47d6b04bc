/** Capabilities of a terminal, from its environment. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type EnvironmentOptions, environmentOf } from "../../../src/console/terminal/environment.ts";

const UTF8 = { TERM: "xterm-256color", LANG: "en_US.UTF-8" };
const environment = (env: EnvironmentOptions["env"], more: Partial<EnvironmentOptions> = {}) =>
  environmentOf({ env, isTTY: true, isAsciiAsked: false, ...more });

test("a usual terminal has colors and all characters, and no screen reader", () => {
  assert.deepEqual(environment(UTF8), {
    hasColor: true,
    isAscii: false,
    isScreenReader: false,
    hasCursor: true,
  });
});

test("color depends on NO_COLOR, then FORCE_COLOR, then the terminal", () => {
  const cases: readonly (readonly [EnvironmentOptions["env"], boolean, boolean])[] = [
    [{ NO_COLOR: "1" }, true, false],
    [{ NO_COLOR: "" }, true, true],
    [{ NO_COLOR: "1", FORCE_COLOR: "1" }, true, false],
    [{ FORCE_COLOR: "1", TERM: "dumb" }, false, true],
    [{ FORCE_COLOR: "" }, false, true],
    [{ FORCE_COLOR: "0" }, true, false],
    [{ FORCE_COLOR: "false" }, true, false],
    [{ TERM: "dumb" }, true, false],
    [{}, false, false],
  ];
  for (const [env, isTTY, hasColor] of cases) {
    assert.equal(environment({ ...UTF8, ...env }, { isTTY }).hasColor, hasColor, JSON.stringify({ env, isTTY }));
  }
});

test("only ASCII is drawn on request, or if the terminal or its locale lacks Unicode", () => {
  const cases: readonly (readonly [EnvironmentOptions["env"], boolean])[] = [
    [{ ...UTF8, TERM: "linux" }, true],
    [{ ...UTF8, TERM: "dumb" }, true],
    [{ LANG: "C.utf8" }, false],
    [{ LANG: "en_US.ISO-8859-1" }, true],
    [{ LC_CTYPE: "UTF-8" }, false],
    [{ LC_ALL: "C", LANG: "en_US.UTF-8" }, true],
    [{ LC_ALL: "", LC_CTYPE: "C", LANG: "en_US.UTF-8" }, true],
    [{ LC_ALL: "en_US.UTF-8", LANG: "C" }, false],
    [{}, true],
  ];
  for (const [env, isAscii] of cases) assert.equal(environment(env).isAscii, isAscii, JSON.stringify(env));
  assert.equal(environment(UTF8, { isAsciiAsked: true }).isAscii, true);
});

test("a terminal without cursor control gets plain lines", () => {
  const { isScreenReader, hasCursor } = environment({ ...UTF8, TERM: "dumb" });
  assert.deepEqual([isScreenReader, hasCursor], [true, false]);
});

test("a screen reader is announced by its variable, on a terminal with a cursor", () => {
  assert.equal(environment({ ...UTF8, INK_SCREEN_READER: "true" }).isScreenReader, true);
  assert.equal(environment({ ...UTF8, INK_SCREEN_READER: "1" }).isScreenReader, false);
});
