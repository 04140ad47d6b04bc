/** The sequence that copies text to the clipboard. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_CLIPBOARD_LENGTH, osc52 } from "../../../src/console/terminal/clipboard.ts";

test("text goes to the clipboard as base64 of its UTF-8", () => {
  assert.equal(osc52("prod-é", { env: {} }), `\u001b]52;c;${Buffer.from("prod-é").toString("base64")}\u0007`);
});

test("inside tmux the sequence is passed through to the outer terminal", () => {
  assert.equal(
    osc52("a", { env: { TMUX: "/tmp/tmux-0/default,1,0" } }),
    "\u001bPtmux;\u001b\u001b]52;c;YQ==\u0007\u001b\\",
  );
  assert.equal(osc52("a", { env: { TMUX: "" } }), "\u001b]52;c;YQ==\u0007");
});

test("a text too long for terminals is not sent", () => {
  const most = (MAX_CLIPBOARD_LENGTH / 4) * 3 - 1.5;
  assert.ok(osc52("x".repeat(Math.floor(most / 3) * 3), { env: {} }) !== undefined);
  assert.equal(osc52("x".repeat(Math.floor(most / 3) * 3 + 1), { env: {} }), undefined);
});
