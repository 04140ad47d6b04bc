/**
 * Persistent storage of the workbench: executed statements as JSON lines, newest last, and saved statements as one JSON object.
 * The operator's file may contain anything: invalid parts are ignored.
 */

import { preferencesTextAfter } from "../model/preferences.ts";
import type { StorageUpdate } from "../model/state.ts";

/** Maximum length of a statement in UTF-16 units, which is the gateway's limit. */
export const MAX_STATEMENT_LENGTH = 65_536;
export const MAX_HISTORY = 500;
const MAX_STATEMENTS = 200;
/** Maximum length of either text in UTF-8 bytes. */
export const MAX_MEMORY_BYTES = 256 * 1024;

export const STATEMENT_NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** Removes earlier duplicates, and keeps as many of the newest statements as the limits allow. */
export function trimHistory(statements: readonly string[]): readonly string[] {
  const kept: string[] = [];
  const seen = new Set<string>();
  let bytes = 0;
  for (let at = statements.length - 1; at >= 0 && kept.length < MAX_HISTORY; at -= 1) {
    const statement = statements[at] ?? "";
    if (seen.has(statement) || !isStatement(statement)) continue;
    const own = Buffer.byteLength(historyLine(statement));
    if (bytes + own > MAX_MEMORY_BYTES) continue;
    bytes += own;
    seen.add(statement);
    kept.unshift(statement);
  }
  return kept;
}

export const historyText = (history: readonly string[]): string => history.map(historyLine).join("");

const historyLine = (statement: string): string => `${JSON.stringify(statement)}\n`;

export function historyOf(text: string): readonly string[] {
  const statements: string[] = [];
  for (const line of newest(text).split("\n")) {
    const value = parsed(line);
    if (typeof value === "string") statements.push(cleanStatement(value));
  }
  return trimHistory(statements);
}

export const statementsText = (statements: ReadonlyMap<string, string>): string =>
  `${JSON.stringify(Object.fromEntries(statements), null, 2)}\n`;

export function statementsOf(text: string): ReadonlyMap<string, string> {
  const statements = new Map<string, string>();
  const value = text.length <= 2 * MAX_MEMORY_BYTES ? parsed(text) : undefined;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return statements;
  for (const [name, statement] of Object.entries(value)) {
    if (statements.size === MAX_STATEMENTS) break;
    if (STATEMENT_NAME.test(name) && typeof statement === "string" && isStatement(statement)) {
      statements.set(name, cleanStatement(statement));
    }
  }
  return statements;
}

/** Returns the text to store; `kept` is the stored text, possibly written by another console. */
export function withRemembered(kept: string, what: StorageUpdate): string {
  if (what.name === "preferences") return preferencesTextAfter(kept, what.change);
  if (what.name === "history") return historyText(trimHistory([...historyOf(kept), what.statement]));
  const statements = new Map(statementsOf(kept));
  statements.delete(what.as);
  if (what.statement !== "") statements.set(what.as, what.statement);
  // Two consoles may each be within the limits, but exceed them together.
  for (const oldest of statements.keys()) {
    if (whyTooMany(statements) === undefined) break;
    statements.delete(oldest);
  }
  return statementsText(statements);
}

/** Returns the reason why these cannot be stored; `undefined` if they can. */
export function whyTooMany(statements: ReadonlyMap<string, string>): string | undefined {
  if (statements.size > MAX_STATEMENTS) return `at most ${MAX_STATEMENTS} statements can be saved`;
  return Buffer.byteLength(statementsText(statements)) > MAX_MEMORY_BYTES
    ? `saved statements have ${MAX_MEMORY_BYTES / 1024} KiB together at most`
    : undefined;
}

/** Removes control characters except line ends, as an editor requires. */
export function cleanStatement(text: string): string {
  return text
    .slice(0, MAX_STATEMENT_LENGTH)
    .toWellFormed()
    .replace(/\r\n?|[\u2028\u2029]/g, "\n")
    .replaceAll("\t", " ")
    .replace(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/g, "");
}

const isStatement = (text: string): boolean => text.trim() !== "" && text.length <= MAX_STATEMENT_LENGTH;

/** Returns the end of an overlong text; its first line may be incomplete, which is not valid JSON. */
const newest = (text: string): string => text.slice(-2 * MAX_MEMORY_BYTES);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
