/** Shared by the cluster tests: expected errors, a log that is read back, and timeouts. */

import assert from "node:assert/strict";
import type { Log, LogLevel } from "../../../../src/base/index.ts";
import { ClusterError, type ClusterErrorCode } from "../../../../src/server/cluster/cluster-error.ts";

export function failure(
  code: ClusterErrorCode,
  message: RegExp = /./,
  details?: Readonly<Record<string, unknown>>,
): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof ClusterError, String(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    if (details !== undefined) assert.deepEqual(error.details, details);
    return true;
  };
}

export interface LogLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>> | undefined;
}

export function memoryLog(): { readonly log: Log; readonly lines: readonly LogLine[] } {
  const lines: LogLine[] = [];
  const at =
    (level: LogLevel) =>
    (message: string, fields?: Readonly<Record<string, unknown>>): void => {
      lines.push({ level, message, fields });
    };
  return { lines, log: { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") } };
}

/** Runs everything that waits only for promises. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

/** Resolves once the condition is true; fails with `what` after the limit. */
export async function until(what: string, holds: () => boolean, limitMs = 45_000): Promise<void> {
  const end = performance.now() + limitMs;
  while (!holds()) {
    if (performance.now() > end) assert.fail(`waited ${limitMs} ms in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
