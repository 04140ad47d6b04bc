/** Rows and their tokens, and the bytes that make a terminal show them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import xterm from "@xterm/headless";
import fc from "fast-check";
import { cellsOf } from "../../../src/base/index.ts";
import type { Line, Tone } from "../../../src/console/model/text.ts";
import { createPaintedRows, TOKEN_CELLS } from "../../../src/console/parts/painted-rows.ts";
import { DEFAULT_THEME, paint, runsOf } from "../../../src/console/parts/theme.ts";

const plain = (text: string) => runsOf([{ text }], DEFAULT_THEME);

test("a row has one token while its painting is unchanged, and tokens are replaced by the rows", () => {
  const rows = createPaintedRows();
  const red = runsOf([{ text: "red", tone: "fail" }, { text: " $& $1" }], DEFAULT_THEME);
  const [first, second] = [rows.tokenOf(0, red), rows.tokenOf(11, plain("日"))];
  assert.equal(rows.tokenOf(0, red), first);
  assert.notEqual(rows.tokenOf(11, plain("月")), second);
  assert.equal(rows.fill(`<${first}>\n<${second}>`), "<\u001b[1G\u001b[31mred \u001b[39m$& $1>\n<\u001b[1G\u001b[K月>");
});

test("text in a row that looks like a token is not replaced", () => {
  const rows = createPaintedRows();
  const other = rows.tokenOf(1, plain("other"));
  assert.equal(rows.fill(rows.tokenOf(0, plain(other))), `\u001b[1G${other}`);
});

test("tokens have their stated width, however often a row was painted", () => {
  const rows = createPaintedRows();
  const painted = Array.from({ length: 10_000 }, (_, turn) => plain(`turn ${turn}`));
  for (const row of [0, 999]) {
    const tokens = painted.map((runs) => rows.tokenOf(row, runs));
    assert.equal(Math.max(...tokens.map(cellsOf)), TOKEN_CELLS);
    assert.ok(tokens.every((token, at) => token !== tokens[at + 1]));
    assert.equal(
      rows.fill(tokens.at(-1) ?? "").replace(/\u001b\[\d+G/g, (_, at) => (at === 0 ? "" : " ")),
      "turn 9999",
    );
  }
});

test("only the changed cells of a row are written", () => {
  const rows = createPaintedRows();
  const row = (time: string, index: number) =>
    plain(`│ ${"gateway of the northern region".padEnd(60)} index ${index} ${time} │`);
  rows.fill(rows.tokenOf(0, row("10:00:09Z", 4_711)));
  assert.equal(rows.fill(rows.tokenOf(0, row("10:00:10Z", 4_711))), "\u001b[81G10");
  assert.equal(rows.fill(rows.tokenOf(0, row("10:00:11Z", 4_712))), "\u001b[73G2\u001b[82G1");
  assert.equal(rows.fill(rows.tokenOf(0, row("10:00:11Z", 4_712))), "", "it is shown already");
  assert.equal(rows.fill(rows.tokenOf(0, plain(""))), "\u001b[1G\u001b[K");
});

test("marks at the start of a span are written with the span before it, since some terminals give them a cell of their own", () => {
  const accent = "\u0301";
  const of = (...texts: readonly string[]) =>
    runsOf(
      texts.map((text) => ({ text, tone: "fail" as const })),
      DEFAULT_THEME,
    ).map(({ text }) => text);
  assert.deepEqual(of("caf", `e`, `${accent} au lait`), ["caf", `e${accent}`, " au lait"]);
  assert.deepEqual(of("a", "\u200b", "b"), ["a\u200b", "b"]);
  assert.deepEqual(of(accent, "a"), ["a"], "there is nothing to mark");
  assert.deepEqual(of("a", "\u00ad-"), ["a", "\u00ad-"], "a soft hyphen has a cell");
});

const COLUMNS = 24;
const TONES: readonly Tone[] = ["plain", "dim", "strong", "warn", "fail", "off", "changed"];

/** Rows of any width up to the terminal's, with characters of one cell, of two and of none. */
const LINES: fc.Arbitrary<Line> = fc
  .array(
    fc.record({
      text: fc.oneof(
        { weight: 8, arbitrary: fc.stringMatching(/^[ a-c│─▂█…é]{0,8}$/) },
        { weight: 1, arbitrary: fc.constantFrom("漢字", "e\u0301", "👍", "\u200b", "ａ") },
      ),
      tone: fc.constantFrom(...TONES),
      isInverse: fc.boolean(),
    }),
    { maxLength: 6 },
  )
  .filter((line) => line.reduce((sum, { text }) => sum + cellsOf(text), 0) <= COLUMNS);

test("whatever a row showed before, an update equals a full rewrite", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(fc.nat({ max: 2 }), LINES), { minLength: 1, maxLength: 12 }), async (frames) => {
      const rows = createPaintedRows();
      const [changed, whole] = [emulator(), emulator()];
      for (const [row, line] of frames) {
        const place = `\u001b[${row + 1};1H`;
        // Written like Ink does, without erasing the line the first time.
        changed.write(place + rows.fill(`\u001b[1G\u001b[K${rows.tokenOf(row, runsOf(line, DEFAULT_THEME))}`));
        whole.write(`${place}\u001b[1G\u001b[K${paint(line, DEFAULT_THEME)}`);
      }
      assert.deepEqual(await looksOf(changed), await looksOf(whole));
    }),
    { numRuns: 300 },
  );
});

const emulator = () => new xterm.Terminal({ cols: COLUMNS, rows: 4, allowProposedApi: true });

/** Returns each cell's character and look; a blank has neither color nor weight. */
async function looksOf(terminal: ReturnType<typeof emulator>): Promise<readonly string[]> {
  await new Promise<void>((done) => terminal.write("", done));
  return Array.from({ length: 4 * COLUMNS }, (_, at) => {
    const cell = terminal.buffer.active.getLine(Math.floor(at / COLUMNS))?.getCell(at % COLUMNS);
    const text = cell?.getChars() || " ";
    const ground = [cell?.getBgColor(), cell?.isInverse(), cell?.isUnderline()].join();
    return text === " " && cell?.getWidth() === 1 && cell.isInverse() === 0
      ? ground
      : [text, cell?.getWidth(), ground, cell?.getFgColor(), cell?.isBold(), cell?.isDim(), cell?.isItalic()].join();
  });
}
