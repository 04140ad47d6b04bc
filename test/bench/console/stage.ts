/** Shared by the console scenarios: a stub gateway, a console in a terminal, and kernel figures of its process. */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openTerminal, type TestTerminal } from "../../console/support/terminal.ts";
import type { Owner } from "../../e2e/support/wait.ts";
import { removeAtEnd } from "../parts/children.ts";
import type { Counts, LoadCommand } from "./stub-admin-api.ts";

export const LAUNCHER = fileURLToPath(new URL("../../../bin/gateway", import.meta.url));
const STUB = fileURLToPath(new URL("./stub-admin-api.ts", import.meta.url));
const HOUR = fileURLToPath(new URL("./hour-child.ts", import.meta.url));

const COLUMNS = 120;
const ROWS = 35;

export interface StageOptions {
  readonly isQuick: boolean;
  readonly profileFolder: string | undefined;
}

interface EndpointUnderTest {
  readonly socket: string;
  configure(command: LoadCommand): Promise<Counts>;
}

/** Runs `play` with an owner of its own, whose end closes everything it opened. */
export async function onStage<T>(play: (owner: Owner) => Promise<T>): Promise<T> {
  const closers: (() => void | Promise<void>)[] = [];
  try {
    return await play({ after: (close) => void closers.push(close) });
  } finally {
    for (const close of closers.reverse()) await close();
  }
}

export async function openEndpoint(owner: Owner, keys: number): Promise<EndpointUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), "gateway-bench-console-"));
  removeAtEnd(folder);
  const socket = join(folder, "door.sock");
  const child = fork(STUB, [socket, String(keys)], { execArgv: ["--import", "tsx"] });
  owner.after(() => void child.kill());
  await nextMessage(child);
  return {
    socket,
    configure(command) {
      const counts = nextMessage(child);
      child.send(command);
      return counts;
    },
  };
}

async function nextMessage(child: ChildProcess): Promise<Counts> {
  const [counts]: Counts[] = await once(child, "message");
  if (counts === undefined) throw new Error("the stub sent nothing");
  return counts;
}

/** Starts the console like an operator; `hour` removes the pauses between reads. */
export function openConsole(
  owner: Owner,
  { socket }: Pick<EndpointUnderTest, "socket">,
  input: StageOptions,
  as: "console" | "hour" = "console",
): TestTerminal {
  const { profileFolder } = input;
  const profile = profileFolder === undefined ? [] : ["--cpu-prof", "--cpu-prof-dir", profileFolder];
  const args = as === "console" ? [LAUNCHER, "console", "-socket", socket] : ["--import", "tsx", HOUR, socket];
  return openTerminal(owner, { args: [...profile, ...args], columns: COLUMNS, rows: ROWS, env: { HOME: tmpdir() } });
}

export const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

const FRAME = "\u001b[?2026h";

/** Frames and bytes that the console writes during `play`. */
export async function written(
  terminal: TestTerminal,
  play: () => Promise<void>,
): Promise<{ frames: number; bytes: number }> {
  const count = (): number => terminal.bytes.text().split(FRAME).length;
  const [frames, bytes] = [count(), terminal.bytes.total];
  await play();
  return { frames: count() - frames, bytes: terminal.bytes.total - bytes };
}

/** The console with an up-to-date list of keys. */
export async function toKeys(terminal: TestTerminal): Promise<void> {
  await terminal.until("Overview");
  await terminal.press("3");
  await terminal.until(/>key-00000/);
}

/** Opens the view with that name; `shows` is a text in it. */
export async function toView(terminal: TestTerminal, name: string, shows: string | RegExp): Promise<void> {
  await terminal.press(":");
  terminal.type(name);
  await terminal.until(`:${name}`);
  await terminal.press("enter");
  await terminal.until(shows);
}

export async function quit(terminal: TestTerminal): Promise<void> {
  await terminal.press("q");
  await terminal.ended;
}
