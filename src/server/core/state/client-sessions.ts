/**
 * Exactly-once semantics: a repeated command gets its first answer without being applied again.
 *
 * Rows: `sess/<client>` lists the remembered sequence numbers, `sess/<client>/<seq>` contains each result; a write changes two
 * small rows and removes one. A sequence number below the window may already have been applied, so it is refused. A client that
 * is silent for an hour of log time is forgotten, beginning with its oldest result (see row-expiry.ts), so that a half-forgotten
 * command is refused and never applied twice. `idem/<digest of principal and key>` keeps, for a day, the result of an admin
 * caller's request under its own key. Source: cluster reference, 2.8.
 */

import { hash } from "node:crypto";
import { COMMAND_REFUSALS, type CommandRefusal, ok, refused } from "./command-refusals.ts";
import { integer, object, type Parser, shaped, text } from "./fields.ts";
import type { Draft } from "./mutation-draft.ts";
import { digits, rowFormat } from "./row-format.ts";
import type { Command, CommandResult } from "./types.ts";

const WINDOW = 1_024;
const IDEMPOTENCY_MS = 24 * 3_600_000;
/**
 * Maximum length of a stored result. A longer one is remembered as done, without its value: only a report of many budgets has
 * one, and the answer to its next report repeats everything.
 */
const MAX_STORED_RESULT = 4_096;

const seqDigits = (seq: number): string => digits(seq, 16);

const head = object({
  /** Highest sequence number applied. */
  last: integer(1),
  /** Lowest sequence number that is remembered. */
  low: integer(1),
  /** Log time of the last new command. */
  used: integer(),
});
export const sessionHeads = rowFormat(head);
const sessionKey = (client: string): string => `sess/${client}`;
const sessionResultKey = (client: string, seq: number): string => `sess/${client}/${seqDigits(seq)}`;

/** Result as stored in a row: `{"ok": value}` or `{"no": code}`. The text of a refusal is not part of the state. */
const storedResult: Parser<Readonly<Record<string, unknown>>> = shaped(
  (value) => value as Readonly<Record<string, unknown>>,
  () => ["one of", "ok", "no"],
);
export const resultRows = rowFormat(storedResult);

function pack(result: CommandResult): Readonly<Record<string, unknown>> {
  if (result.kind === "refused") return { no: result.code };
  return JSON.stringify(result.value).length > MAX_STORED_RESULT ? { ok: null } : { ok: result.value };
}

function unpack(stored: Readonly<Record<string, unknown>>): CommandResult {
  const code = stored["no"];
  if (typeof code !== "string") return ok(stored["ok"] ?? null);
  return Object.hasOwn(COMMAND_REFUSALS, code)
    ? refused(code as CommandRefusal)
    : { kind: "refused", code, message: "the command was refused" };
}

const idempotencyRow = object({ until: integer(), digest: text(/^[\x21-\x7e]+$/, 128), result: storedResult });
export const idempotencyRows = rowFormat(idempotencyRow);
const idempotencyKey = (k: string): string => `idem/${hash("sha256", k, "hex")}`;

/** Returns the earlier answer; `undefined` for a new command. */
export function remembered(draft: Draft, { c, s }: Command): CommandResult | undefined {
  const value = draft.get(sessionKey(c));
  if (value === undefined) return undefined;
  const session = sessionHeads.read(value);
  if (s < session.low || s <= session.last - WINDOW) return refused("duplicate_too_old");
  const stored = draft.get(sessionResultKey(c, s));
  return stored === undefined ? undefined : unpack(resultRows.read(stored));
}

/** Remembers the result of a command. Call it once for each new command, whatever its result. */
export function remember(draft: Draft, { c, s }: Command, result: CommandResult, now: number): void {
  const value = draft.get(sessionKey(c));
  const before = value === undefined ? { last: s, low: 1 } : sessionHeads.read(value);
  const last = Math.max(before.last, s);
  const low = Math.max(before.low, last - WINDOW + 1);
  for (const [key] of draft.scan(`${sessionKey(c)}/`)) {
    if (key >= sessionResultKey(c, low)) break;
    draft.delete(key);
  }
  draft.put(sessionKey(c), sessionHeads.write({ last, low, used: now }));
  draft.put(sessionResultKey(c, s), resultRows.write(pack(result)));
}

/** Returns the result of the same request under the same idempotency key, or a refusal if the key belongs to another request. */
export function repeated(draft: Draft, { k, kd }: Command, now: number): CommandResult | undefined {
  if (k === undefined) return undefined;
  const value = draft.get(idempotencyKey(k));
  if (value === undefined) return undefined;
  const row = idempotencyRows.read(value);
  if (row.until <= now) return undefined;
  return row.digest === kd ? unpack(row.result) : refused("conflict");
}

/** Keeps the result of an applied request. A refused request changed nothing, so it may be tried again under the same key. */
export function keepRepeat(draft: Draft, { k, kd }: Command, result: CommandResult, now: number): void {
  if (k === undefined || kd === undefined || result.kind === "refused") return;
  draft.put(
    idempotencyKey(k),
    idempotencyRows.write({ until: now + IDEMPOTENCY_MS, digest: kd, result: pack(result) }),
  );
}
