/** The test terminal itself: its screen, its waits, and its pictures. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Cell, textOfCells } from "./cells.ts";
import { pngOf, svgOf } from "./picture.ts";
import { createRawBytes } from "./raw-bytes.ts";
import { openTerminal, ptySkip } from "./terminal.ts";

const options = { skip: ptySkip };

/** A program that prints this and then echoes lines until one is `end`. */
const echo = (first: string): readonly string[] => [
  "-e",
  `process.stdout.write(${JSON.stringify(first)}); process.stdin.on("data", (data) => {
    if (String(data).startsWith("end")) process.exit(3);
    process.stdout.write("<" + data + ">");
  });`,
];

test("a program's screen is read as text and as cells", options, async (t) => {
  const terminal = openTerminal(t, {
    args: echo("plain \u001b[1;31mred\u001b[0m \u001b[2;7m█日\u001b[0m \u001b[38;5;208mx\u001b[0m\n\u001b[?25lnext  "),
    columns: 30,
    rows: 6,
  });
  await terminal.until("next");
  assert.equal(terminal.screen(), "plain red █日 x\nnext");
  assert.equal(terminal.row(1), "next");
  assert.deepEqual(terminal.cell(0, 6), {
    ...{ char: "r", width: 1, fg: "red", bg: "default" },
    ...{ bold: true, dim: false, inverse: false, underline: false },
  });
  const { char, width, dim, inverse } = terminal.cell(0, 11);
  assert.deepEqual({ char, width, dim, inverse }, { char: "日", width: 2, dim: true, inverse: true });
  assert.equal(terminal.cell(0, 14).fg, "palette-208");
  assert.equal(terminal.cursorVisible, false);
  assert.equal(terminal.isAlternate, false);
  assert.equal(terminal.cells().length, 6);

  terminal.type("ping\r");
  await terminal.until(/<ping\s+>/);
  terminal.resize(50, 10);
  assert.deepEqual([terminal.columns, terminal.rows], [50, 10]);
  terminal.type("end\r");
  assert.deepEqual(await terminal.ended, { status: 3, signal: null });
  await assert.rejects(terminal.until("never", "the word"), /the word: the program has ended[\s\S]*\| plain red/);
});

test("a killed program reports its signal, and the end of its owner kills a running one", options, async (t) => {
  const terminal = openTerminal(t, { args: echo("up") });
  await terminal.until("up");
  await terminal.settled();
  terminal.signal("SIGTERM");
  assert.deepEqual(await terminal.ended, { status: null, signal: "SIGTERM" });

  let close: (() => void | Promise<void>) | undefined;
  const owner = {
    after(closer: () => void | Promise<void>) {
      close = closer;
    },
  };
  const other = openTerminal(owner, { args: echo("up") });
  await other.until("up");
  await close?.();
  assert.deepEqual(await other.ended, { status: null, signal: "SIGKILL" });
});

test("escape sequences are counted even if they arrive in pieces", () => {
  const bytes = createRawBytes();
  for (const byte of Buffer.from("\u001b[2J\u001b[?1049hx\u001b[3J\u001b[2J\u001b[?1049l"))
    bytes.add(Uint8Array.of(byte));
  bytes.add(Buffer.from("\u001b[2J\u001b[2J"));
  const { clears, scrollbackClears, alternateEntries, alternateLeaves, total } = bytes;
  assert.deepEqual(
    { clears, scrollbackClears, alternateEntries, alternateLeaves, total },
    { clears: 4, scrollbackClears: 1, alternateEntries: 1, alternateLeaves: 1, total: 37 },
  );
});

test("a screenshot has each word in its column, joined lines, and a title for screen readers", () => {
  const plain = {
    width: 1,
    fg: "default",
    bg: "default",
    bold: false,
    dim: false,
    inverse: false,
    underline: false,
  } as const;
  const cells = (text: string, more: Partial<Cell> = {}): readonly Cell[] =>
    [...text].map((char) => ({ ...plain, char, ...more }));
  const rows = [[...cells("a<b  "), ...cells("fail", { fg: "red", bold: true, inverse: true })], cells("┌──▄█")];
  const svg = svgOf(rows, "Tests & more");
  assert.match(svg, /<title>Tests &amp; more<\/title>/);
  assert.match(svg, /<text x="10" [^>]*>a&lt;b<\/text>/);
  assert.match(svg, /<rect x="52\.15"[^>]*fill="#e0616b"\/>/);
  assert.match(svg, /<text x="52\.15"[^>]*fill="#14161b" font-weight="bold">fail</);
  assert.equal(svg.match(/<path /g)?.length, 1);
  assert.equal(textOfCells(rows[0] ?? []), "a<b  fail");
  const png = Buffer.from(pngOf(svg));
  assert.equal(png.subarray(1, 4).toString("latin1"), "PNG");
  assert.equal(png.readUInt32BE(16), Math.ceil(2 * (9 * 8.43 + 20)));
});
