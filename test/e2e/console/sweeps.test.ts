/**
 * The guardrail sweep in a real terminal: local data files, the plot and its line, the changing cases, and the
 * threshold written into the file that owns it.
 */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { ptySkip } from "../../console/support/terminal.ts";
import { suiteOwner } from "../admin/support/suite.ts";
import { startGoverned } from "../governance/support/governed.ts";
import { eventually } from "../support/wait.ts";
import { openConsole, type SeenConsole } from "./support/console-gateway.ts";
import { faultsOf } from "./support/frame.ts";

const CANARY = "ada-canary@example.com";

const marked = (text: string, found: string, type: string) => {
  const start = Buffer.byteLength(text.slice(0, text.indexOf(found)));
  return { text, spans: [{ start, end: start + Buffer.byteLength(found), type }] };
};
const CASES = [
  marked(`write to ${CANARY}`, CANARY, "EMAIL_ADDRESS"),
  marked("seen on 12/31/1999", "12/31/1999", "DATE_TIME"),
  { text: "born 01/02/2003, says the version", spans: [] },
  marked("paid with 4111111111111111", "4111111111111111", "CREDIT_CARD"),
];
const lines = (rows: readonly unknown[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join("");

describe("guardrail sweep", { skip: ptySkip }, async () => {
  if (ptySkip !== false) return;
  const { node } = await startGoverned(suiteOwner(), {
    deployment: {
      version: 7,
      guardrails: {
        score_threshold: 0.4,
        detectors: [
          { name: "finder", type: "pii", prefilter: "pure" },
          { name: "dates", type: "pii", prefilter: "pure", mode: "shadow", threshold: 0.45 },
        ],
      },
    },
  });
  const socket = join(node.dir, "admin.sock");

  async function waitForPrompt(console: SeenConsole, text: string): Promise<void> {
    await console.press("x");
    await console.until("data files");
    await console.press("ctrl-u");
    console.type(text);
    await console.until(text);
    await console.press("enter");
  }

  test("the sweep is drawn, arrow keys move its threshold, and the cases that change are listed", async (t) => {
    const console = await openConsole(t, { socket });
    await writeFile(join(console.home, "cases.jsonl"), lines(CASES));
    await console.command("sweeps");
    await console.until(/No sweep yet/);
    await waitForPrompt(console, "cases.jsonl");
    await console.until(/\^ 0\.40 in force/);
    await console.until(/chosen +0\.40/);
    await console.settled();
    assert.match(console.screen(), /chosen +0\.40 {2}precision/);
    for (let times = 0; times < 30 && !/misses DATE_TIME/.test(console.screen()); times += 1) {
      await console.press("right");
      await console.settled();
    }
    assert.match(console.screen(), /! cases\.jsonl:2 +misses DATE_TIME +“seen on 12\/31\/1999”/);
    assert.match(console.screen(), /\| 0\.40 in force +\^ 0\.\d/);
    assert.deepEqual(faultsOf(console), [], console.screen());
    await console.press("left");
    await console.settled();
    await console.press("e");
    await console.until("average precision");
    await console.press("esc", "q");
    assert.deepEqual(await console.ended, { status: 0, signal: null });
  });

  test("invalid data is reported by file and line, and a corrected file can be entered again", async (t) => {
    const console = await openConsole(t, { socket });
    await writeFile(join(console.home, "bad.jsonl"), `${lines(CASES.slice(0, 1))}{"text": "${CANARY}", "spans": 3}\n`);
    await console.command("sweeps");
    await waitForPrompt(console, "bad.jsonl");
    await console.until(/SWEEP FAILED: bad\.jsonl:2: "spans" is not a list/);
    assert.ok(!console.screen().includes(CANARY));
    await waitForPrompt(console, "absent.jsonl");
    await console.until(/SWEEP FAILED: .*absent\.jsonl/);
    await console.press("x");
    await console.until(/data files.*absent\.jsonl/);
    await console.press("esc");
    await console.settled();
    await console.press("q");
    await console.ended;
  });

  test("keys work while the sweep runs, and x stops it", async (t) => {
    const console = await openConsole(t, { socket });
    const many = Array.from({ length: 40_000 }, (_, at) => CASES[at % CASES.length]);
    await writeFile(join(console.home, "many.jsonl"), lines(many));
    await console.command("sweeps");
    await waitForPrompt(console, "many.jsonl");
    await console.until(/scored \d+ of 40000 cases/);
    await console.press("2");
    await console.until(/^┌─ Providers /m);
    await console.command("sweeps");
    await console.until(/scored \d+ of 40000 cases/);
    await console.press("x");
    await console.until(/SWEEP FAILED: it was stopped/);
    await console.press("q");
    await console.ended;
  });

  test("the threshold is written to the file that owns it after typed confirmation, and no text leaves the machine", async (t) => {
    const console = await openConsole(t, { socket });
    await writeFile(join(console.home, "cases.jsonl"), lines(CASES));
    await console.command("sweeps");
    await waitForPrompt(console, "cases.jsonl");
    await console.until(/\^ 0\.40 in force/);
    await console.press("W");
    await console.until("0.40 is in force");
    await console.press("right");
    await console.until(/\^ 0\.4[1-9]|\^ 0\.5/);
    await console.settled();
    // The test still runs, and the dialog waits for it.
    await console.press("W");
    await console.until("Set guardrails.score_threshold to");
    await console.until(/Writes +the file/);
    await console.until(/Last hour +no recent requests/);
    const threshold = /score_threshold to ([\d.]+)/.exec(console.screen())?.[1] ?? "";
    assert.match(console.screen(), /Writes +the file .*which is then reloaded/);
    console.type(threshold);
    await console.press("enter");
    await console.until(new RegExp(`the threshold is ${threshold}`));
    await eventually("the new threshold in force", async () => {
      const { document } = await node.client.call("get_source", { params: { name: "default" } });
      return document.includes(`"score_threshold":${threshold}`) || document.includes(`score_threshold: ${threshold}`);
    });
    const { items } = await node.client.call("list_audit_records", { query: { limit: 200 } });
    assert.ok(!JSON.stringify(items).includes(CANARY));
    await console.press("q");
    await console.ended;
    const kept = await readFile(join(console.home, "state/gateway/console/history"), "utf8").catch(() => "");
    assert.ok(!kept.includes(CANARY));
  });

  test("a detector with its own threshold is swept and written under that threshold", async (t) => {
    const console = await openConsole(t, { socket });
    await writeFile(join(console.home, "cases.jsonl"), lines(CASES));
    await console.command("sweeps");
    await waitForPrompt(console, "-detector dates cases.jsonl");
    await console.until(/\^ 0\.45 in force/);
    await console.until(/swept +cases\.jsonl {2}4 cases {2}detector dates {2}threshold of dates/);
    // Below its own threshold the detector finds something that the gateway drops.
    await console.press("home", "W");
    await console.until(/Set threshold of dates to 0\b/);
    await console.until(/Writes +the file/);
    console.type("0");
    await console.press("enter");
    await console.until(/the threshold is 0/);
    const { document } = await node.client.call("get_source", { params: { name: "default" } });
    assert.match(document, /"name":"dates"[^}]*"threshold":0\b/);
    assert.doesNotMatch(document, /"score_threshold":0\b[^.]/);
  });
});
