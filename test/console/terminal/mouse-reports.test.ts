/** Mouse reports: distinguished from keys at any cut, and meaningless ones dropped. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createDecoder } from "../../../src/console/terminal/decode-keys.ts";
import { type MouseReport, mouseReport } from "../../../src/console/terminal/mouse-reports.ts";

test("left button and wheel are reported, with or without modifiers; other buttons are not", () => {
  for (const [parameters, kind] of [
    ["<0;10;5", "press"],
    ["<4;10;5", "press"],
    ["<64;10;5", "wheel_up"],
    ["<81;10;5", "wheel_down"],
    ["<1;10;5", undefined],
    ["<2;10;5", undefined],
    ["<32;10;5", undefined],
    ["<0;10", undefined],
    ["<0;99999;5", undefined],
    ["<;;", undefined],
  ] as const) {
    const report = mouseReport(parameters);
    assert.deepEqual(report, kind === undefined ? undefined : { kind, column: 9, row: 4 }, parameters);
  }
});

test("a mouse report split at any byte is never a key; a release is ignored", () => {
  const bytes = Buffer.from("a\u001b[<0;3;4M\u001b[<0;3;4mb\u001b[<65;1;1M\u001b[<999999999;1;1Mc", "latin1");
  for (let cut = 0; cut <= bytes.length; cut += 1) {
    const reported: MouseReport[] = [];
    const decoder = createDecoder(undefined, undefined, (report) => reported.push(report));
    const keys = [...decoder.feed(bytes.subarray(0, cut)), ...decoder.feed(bytes.subarray(cut))];
    assert.deepEqual(
      keys.map((event) => (event.kind === "key" ? event.chord : "")),
      ["a", "b", "c"],
    );
    assert.deepEqual(
      reported.map(({ kind }) => kind),
      ["press", "wheel_down"],
    );
  }
});
