/**
 * Acceptance item 7: no secret is on a screen, in a history or in any byte written to the terminal; the text of a
 * minted key is visible while its dialog is open, and never afterwards.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { within } from "../../support/wait.ts";
import { type ConsoleGateway, openConsole, SECRET, type SeenConsole } from "../support/console-gateway.ts";
import { goTo, VIEWS_UNDER_TEST } from "../support/views.ts";
import { CREDENTIAL, CREDENTIAL_NAME, SEALED } from "./acceptance-gateway.ts";

/** Length of a piece that counts as a match: a narrow screen breaks a text over several lines. */
const PIECE = 10;

function piecesOf(secret: string): readonly string[] {
  return Array.from({ length: Math.max(1, secret.length - PIECE + 1) }, (_, at) => secret.slice(at, at + PIECE));
}

const isIn = (text: string, secret: string): boolean => piecesOf(secret).some((piece) => text.includes(piece));

/** Returns the content of all files below the folder as text. */
function filesIn(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"))
    .join("\n");
}

/** Visits each view with its first row described and as JSON, its documents, and its rows as a query. */
async function lookAtAll(console: SeenConsole, views = VIEWS_UNDER_TEST): Promise<void> {
  for (const view of views) {
    await goTo(console, view);
    await console.settled();
    for (const chord of ["enter", "d", "J", "v", "h", "e", "o"]) {
      await console.press(chord);
      // Waits until the screen is settled.
      await goTo(console, view);
    }
  }
  await console.command("log");
  await console.until("Log of this console");
}

async function query(console: SeenConsole, sql: string): Promise<void> {
  await console.command("query");
  // The stored statement may have several lines.
  for (let lines = 0; lines < 6; lines += 1) {
    await console.press("ctrl-u");
    await console.press("backspace");
  }
  console.type(sql);
  await console.press("ctrl-r");
  await console.until(/\d+ rows?/);
  await console.settled();
}

export function secretsTests({ socket }: ConsoleGateway): void {
  test("no secret appears in the output while every view is visited", async (t) => {
    const console = await openConsole(t, { socket });
    await lookAtAll(console);
    for (const sql of [
      "select * from secrets",
      "select * from sources",
      "select * from backends",
      "select * from keys",
    ]) {
      await query(console, sql);
    }
    await console.press("ctrl-c");
    assert.deepEqual(await within("the end", console.ended), { status: 0, signal: null });
    const text = console.bytes.text();
    assert.ok(text.includes(SECRET), "the name of the secret was on the screen");
    assert.ok(text.includes(CREDENTIAL_NAME), "so was the document that refers to the credential");
    for (const secret of [SEALED, CREDENTIAL]) {
      assert.ok(!isIn(text, secret), `${secret} was written to the terminal`);
      assert.ok(!isIn(filesIn(console.home), secret), `${secret} was kept`);
    }
  });
}

export function mintingTests({ node, socket }: ConsoleGateway): void {
  for (const [columns, rows] of [
    [120, 35],
    [60, 16],
  ] as const) {
    test(`the text of a minted key is shown once, at ${columns} by ${rows}`, async (t) => {
      const console = await openConsole(t, { socket, columns, rows });
      const name = `minted-${columns}`;
      await console.command("keys");
      await console.until("prod-search");
      await console.press("m");
      await console.until("Mint a key");
      console.type(name);
      // Moves behind the last field, where `y` confirms.
      for (let field = 0; field < 4; field += 1) await console.press("tab");
      const from = console.bytes.total;
      await console.press("y");
      await console.until("shown this once");
      await console.settled();
      const screen = console.screen().replace(/[│\s]/g, "");
      const [key = ""] = /gw-[\w-]+|[\w]+_[\w-]{24,}/.exec(screen) ?? [];
      assert.ok(key.length > 20, console.screen());
      const { items } = await node.client.call("list_keys");
      assert.ok(
        items.some((each) => each.name === name && key.includes(each.id)),
        "it is the text of that key",
      );
      // The public part may be shown anywhere.
      const { id = "" } = items.find((each) => each.name === name) ?? {};
      const secret = key.slice(key.indexOf(id) + id.length + 1);

      await console.press("x");
      await console.until((now) => !now.includes("canceled"));
      assert.ok(isIn(console.screen(), secret), "no letter closes it by mistake");
      await console.press("esc");
      await console.until(name);
      await console.settled();
      assert.ok(!isIn(console.screen(), secret), console.screen());

      const mark = console.bytes.text().length;
      await lookAtAll(
        console,
        VIEWS_UNDER_TEST.filter(({ id }) => /^(keys|overview|changes|audit-tail)$/.test(id)),
      );
      await query(console, "select * from keys");
      await console.press("esc");
      await console.press("r");
      await console.settled();
      await console.press("ctrl-c");
      await within("the end", console.ended);
      assert.ok(!isIn(console.bytes.text().slice(mark), secret), "it was written again");
      assert.ok(!isIn(filesIn(console.home), secret), "it was kept");
      assert.ok(console.bytes.total > from);
    });
  }
}
