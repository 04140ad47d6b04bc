/**
 * The console over a line of 9,600 baud, like a modem or a bad radio link: 960 bytes a second, with a gateway whose
 * keys change constantly. No typed key is lost, and the screen is never older than the line requires.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { openTerminal, ptySkip, type TestTerminal } from "../../console/support/terminal.ts";
import { type Plane, startPlane } from "../admin/support/plane.ts";
import { atEnd, eventually, type Owner, within } from "../support/wait.ts";

const options = { skip: ptySkip };
const LAUNCHER = fileURLToPath(new URL("../../../bin/gateway", import.meta.url));
const BAUD = 9_600;
const BYTES_PER_SECOND = BAUD / 10;
/**
 * A full screen of 100 by 30 cells takes three seconds on this line, one may be in transit when a key arrives, and a
 * busy machine makes the line slower.
 */
const SEEN_LIMIT_MS = 12_000;
const FAMILY = "billing-service-of-the-northern-region-with-a-long-name";
const ROWS = 60;

const nameOf = (row: number): string => `${FAMILY}-${String(row).padStart(2, "0")}`;

async function startFilled(owner: Owner): Promise<Plane> {
  const plane = await startPlane(owner);
  for (let row = 0; row < ROWS; row += 1) await plane.node.client.call("create_key", { body: { name: nameOf(row) } });
  return plane;
}

/** Changes the list constantly until its owner ends or it is stopped. */
function churn(owner: Owner, { node: { client } }: Plane): () => Promise<number> {
  let isOver = false;
  let changes = 0;
  const work = (async () => {
    while (!isOver) {
      await client.call("create_key", { body: { name: `churn-${changes}` } });
      changes += 1;
      await new Promise((done) => setTimeout(done, 100));
    }
    return changes;
  })();
  const end = (): Promise<number> => {
    isOver = true;
    return work;
  };
  atEnd(owner, end);
  return end;
}

function openConsole(owner: Owner, plane: Plane, command: string, args: readonly string[]): TestTerminal {
  const socket = join(plane.node.dir, "admin.sock");
  const env = { SOCKET: socket, LAUNCHER, NODE: process.execPath, HOME: plane.node.dir };
  return openTerminal(owner, { command, args, env, columns: 100, rows: 30, baud: BAUD });
}

const openAlone = (owner: Owner, plane: Plane): TestTerminal =>
  openConsole(owner, plane, process.execPath, [LAUNCHER, "console", "-socket", join(plane.node.dir, "admin.sock")]);

test("at 9,600 baud no typed key is lost, and the screen follows within seconds", options, async (t) => {
  const plane = await startFilled(t);
  const terminal = openAlone(t, plane);
  await terminal.until("Overview");
  await terminal.press("3");
  await terminal.until(nameOf(0), "the keys");
  const endChurn = churn(t, plane);
  const startedAt = performance.now();
  const bytesBefore = terminal.bytes.total;
  // Long enough for a queue to build up, if there were one.
  await eventually("ten seconds of changes", () => performance.now() - startedAt > 10_000, 20_000);

  terminal.type(`/${FAMILY}\r`);
  for (let at = 0; at < 30; at += 1) terminal.type(at % 2 === 0 ? "j" : "\u001b[B");
  const typedAt = performance.now();
  await terminal.until(
    (screen) => />billing.*-30 /.test(screen) && screen.includes("-31 of 60"),
    "the row after thirty keys, of all that the whole filter lets through",
  );
  const seenMs = performance.now() - typedAt;
  assert.ok(seenMs < SEEN_LIMIT_MS, `seen ${Math.round(seenMs)} ms after the last key`);

  const seconds = (performance.now() - startedAt) / 1_000;
  const changes = await endChurn();
  assert.ok(changes > 20, `${changes} changes`);
  const written = terminal.bytes.total - bytesBefore;
  assert.ok(written <= BYTES_PER_SECOND * (seconds + 1), `${written} bytes in ${seconds.toFixed(1)} s`);
  t.diagnostic(`last key to screen ${Math.round(seenMs)} ms; ${Math.round(written / seconds)} bytes a second`);

  const requestedAt = performance.now();
  await terminal.press("q");
  assert.deepEqual(await within("the end", terminal.ended), { status: 0, signal: null });
  t.diagnostic(`left after ${Math.round(performance.now() - requestedAt)} ms`);
});

test("answers of the terminal to the console never reach the shell behind it", options, async (t) => {
  const plane = await startFilled(t);
  const line = '"$NODE" "$LAUNCHER" console -socket "$SOCKET"; echo left; read -r line; echo "read <$line>"';
  const terminal = openConsole(t, plane, "/bin/sh", ["-c", line]);
  await terminal.until("Overview");
  await terminal.press("3", "q");
  await terminal.until("left");
  terminal.type("mine\r");
  assert.deepEqual(await within("the end", terminal.ended), { status: 0, signal: null });
  assert.match(terminal.screen(), /^left\nmine\nread <mine>$/m);
});
