/** A log that is recorded, to check messages and their number. */

import type { Log, LogFields } from "../../../../src/base/index.ts";

export interface MemoryLog extends Log {
  readonly lines: readonly { readonly level: string; readonly message: string; readonly fields: LogFields }[];
}

export function memoryLog(): MemoryLog {
  const lines: { level: string; message: string; fields: LogFields }[] = [];
  const at =
    (level: string) =>
    (message: string, fields: LogFields = {}): void => {
      lines.push({ level, message, fields });
    };
  return { lines, debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}
