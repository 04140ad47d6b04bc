/** A trail with its worker, in a directory and with an output of its own. */

import { closeSync, openSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import {
  createInstruments,
  type Instruments,
  type Log,
  type LogFields,
  type LogLevel,
} from "../../../../src/base/index.ts";
import { type AuditTrail, type OpenAuditOptions, openAudit } from "../../../../src/server/audit/index.ts";
import { atEnd, type Owner } from "../../../e2e/support/wait.ts";
import { quickFolder } from "./folder.ts";
import { AT } from "./trails.ts";

export interface Place {
  readonly folder: string;
  /** Directory of key and journal. */
  readonly dir: string;
  /** A file opened for appending. */
  readonly fd: number;
  /** Returns its content. */
  text(): string;
}

export function place(owner: Owner): Place {
  const folder = quickFolder("audit-");
  const output = join(folder, "output");
  const fd = openSync(output, "a");
  atEnd(owner, () => {
    closeSync(fd);
    rmSync(folder, { recursive: true });
  });
  return { folder, dir: join(folder, "audit"), fd, text: () => readFileSync(output, "utf8") };
}

interface Logged {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

interface OpenTrail {
  readonly trail: AuditTrail;
  readonly instruments: Instruments;
  readonly logged: readonly Logged[];
}

export async function open(
  owner: Owner,
  options: Pick<OpenAuditOptions, "dir" | "fd"> & Partial<OpenAuditOptions>,
): Promise<OpenTrail> {
  const instruments = createInstruments();
  const logged: Logged[] = [];
  const at =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}): void =>
      void logged.push({ level, message, fields });
  const log: Log = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  const trail = await openAudit({
    nodeId: "n1",
    process: { version: "1.2.3", pid: 77 },
    witnessed: () => undefined,
    witness: async () => undefined,
    log,
    instruments,
    now: () => AT,
    ...options,
  });
  atEnd(owner, () => trail.close());
  return { trail, instruments, logged };
}

export function readingOf(instruments: Instruments, name: string, ...labels: string[]): number | undefined {
  const reading = instruments.read().find((each) => each.name === name);
  if (reading === undefined || reading.kind === "histogram") return undefined;
  return reading.series.find(({ labelValues }) => labelValues.join() === labels.join())?.value;
}
