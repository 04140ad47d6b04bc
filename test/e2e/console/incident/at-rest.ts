/**
 * Detects whether a program has read all its input and drawn the result. On a loaded machine a pause in the output does
 * not prove it, so the program itself is asked (`at-rest-preload.mjs`).
 */
import { once } from "node:events";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import type { TestTerminal } from "../../../console/support/terminal.ts";
import { atEnd, type Owner } from "../../support/wait.ts";

interface RestWatch {
  /** Environment of the program. */
  readonly env: Readonly<Record<string, string>>;
  /** Resolves once the screen shows the result of all input, or the program has ended. */
  rested(terminal: TestTerminal): Promise<void>;
}

interface ChildReport {
  readonly read: number;
  readonly written: number;
  readonly columns: number;
  readonly rows: number;
}

const BETWEEN_MS = 4;
const LIMIT_MS = 60_000;

/** Watches one program. */
export async function watchRest(owner: Owner): Promise<RestWatch> {
  let result: ChildReport | undefined;
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    atEnd(owner, () => socket.destroy());
    createInterface(socket).on("line", (line) => {
      result = JSON.parse(line) as ChildReport;
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  atEnd(owner, () => void server.close());
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("listening without a port");
  const preload = new URL(`./at-rest-preload.mjs?port=${address.port}`, import.meta.url);

  const isAtRest = (terminal: TestTerminal): boolean =>
    result !== undefined &&
    result.read === terminal.typed &&
    result.written === terminal.bytes.total &&
    result.columns === terminal.columns &&
    result.rows === terminal.rows &&
    terminal.isDrawn;

  return {
    env: { NODE_OPTIONS: `--import ${preload.href}` },
    async rested(terminal) {
      let hasEnded = false;
      void terminal.ended.then(() => {
        hasEnded = true;
      });
      const from = performance.now();
      while (!isAtRest(terminal) && !hasEnded) {
        if (performance.now() - from > LIMIT_MS) {
          const { typed, bytes, columns, rows, isDrawn } = terminal;
          const here = { read: typed, written: bytes.total, columns, rows, isDrawn };
          throw new Error(`no rest: ${JSON.stringify(result)} of ${JSON.stringify(here)}\n${terminal.screen()}`);
        }
        await pause(BETWEEN_MS);
      }
    },
  };
}
