/**
 * Log: JSON objects, one per line, for a collector; readable lines if stderr is a terminal.
 *
 * Source: design decisions, section 5. Every line has `time` (RFC 3339, UTC), `level` and `message`, then the fields.
 * Outside data may contain anything, so control characters are escaped (a value cannot begin a second line or control a
 * terminal), and texts, lists and chains of causes are limited. A line has at most `MAX_LINE_BYTES`, so that a pipe
 * accepts it completely even though another thread writes the audit trail to it. Logging never throws: a line that
 * cannot be rendered is replaced by one that says so, and a line that the stream does not accept is lost.
 *
 * Never pass a credential, a prompt or a body as a field; this module cannot recognize one.
 */

import { cutText, MAX_LINE_BYTES, shrinkToFit } from "./truncate-values.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";

export type LogFields = Readonly<Record<string, unknown>>;

export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

export interface LogOptions {
  /**
   * Stream to write to. Its owner handles `error` events: a closed stderr is an event, not an exception. While more
   * than 1 MiB waits in it (`writableLength`), lines are dropped; the next line that is written reports how many
   * (`dropped_lines`).
   */
  readonly stream: { write(text: string): unknown; readonly writableLength?: number };
  readonly isTerminal: boolean;
  /** Minimum level. Errors are logged with their stack only at `debug`. */
  readonly level: LogLevel;
  /** Returns milliseconds since 1970. */
  readonly now: () => number;
  /** Receives each line, including dropped ones. */
  readonly tee?: LogTee;
}

/** Line as it was written: plain values within all limits. */
export interface LogLine {
  /** Time in RFC 3339, or `unknown`. */
  readonly time: string;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

/** Second destination of log lines. The log is opened before the consumer exists, so `sink` is set later. */
export interface LogTee {
  /** Receives the lines; must not block. `undefined` while there is no consumer. */
  sink: ((line: LogLine) => void) | undefined;
}

const LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error"];

/** Maximum length of a text, in UTF-16 code units, which excludes pages such as an upstream's error page. */
const MAX_TEXT_LENGTH = 2_000;
const MAX_STACK_LENGTH = 8_000;
/** Maximum length of a chain of causes. More than three are rare; more than eight are a loop. */
const MAX_CAUSES = 8;
/** Maximum members of one object or list, and maximum nesting. */
const MAX_MEMBERS = 64;
const MAX_DEPTH = 5;
/** Maximum number of bytes that wait for a slow reader. */
const MAX_WAITING_BYTES = 1 << 20;
/** Maximum number of values in one line, at any depth. */
const MAX_VALUES = 500;
/** Maximum length of a message whose fields were all dropped. A code unit takes up to six bytes. */
const MAX_LAST_MESSAGE_LENGTH = 500;

const RESERVED = new Set(["time", "level", "message"]);

/** Parses the value of `GATEWAY_LOG`. Returns `undefined` for an unknown level. */
export function parseLogLevel(text: string): LogLevel | undefined {
  return LEVELS.find((level) => level === text);
}

export const nullLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

export function createLogTee(): LogTee {
  return { sink: undefined };
}

export function createLogger({ stream, isTerminal, level: minLevel, now, tee }: LogOptions): Log {
  const format = isTerminal ? humanLine : jsonLine;
  let dropped = 0;

  function logAt(level: LogLevel): (message: string, fields?: LogFields) => void {
    if (LEVELS.indexOf(level) < LEVELS.indexOf(minLevel)) return () => {};
    return (message, fields = {}) => {
      try {
        let written: LogLine | undefined;
        // Keeps the form that was formatted last, which is the one that is written.
        const formatAndKeep: typeof jsonLine = (head, rendered) => {
          written = { ...head, fields: rendered };
          return format(head, rendered);
        };
        const isBehind = (stream.writableLength ?? 0) > MAX_WAITING_BYTES;
        const allFields = dropped === 0 || isBehind ? fields : { ...fields, dropped_lines: dropped };
        const text = renderLine(formatAndKeep, level, message, allFields);
        if (isBehind) dropped += 1;
        else {
          dropped = 0;
          stream.write(text);
        }
        if (written !== undefined) tee?.sink?.(written);
      } catch {
        // An error of the log itself cannot be reported, and must not affect the caller.
      }
    };
  }

  /** Renders a line with its newline. */
  function renderLine(formatLine: typeof jsonLine, level: LogLevel, message: string, fields: LogFields): string {
    const time = timeOf(now);
    const fullMessage = cutText(String(message), MAX_TEXT_LENGTH);
    const fallbackLine = (fault: string): string =>
      `${formatLine({ time, level, message: cutText(fullMessage, MAX_LAST_MESSAGE_LENGTH) }, { log_fault: fault })}\n`;
    try {
      const budget = { values: MAX_VALUES, withStack: minLevel === "debug" };
      const rendered: Record<string, unknown> = {};
      for (const [name, value] of Object.entries(fields).slice(0, MAX_MEMBERS)) {
        if (value === undefined) continue;
        rendered[cutText(RESERVED.has(name) ? `_${name}` : name, 100)] = renderValue(value, budget, 0);
      }
      const text = `${formatLine({ time, level, message: fullMessage }, rendered)}\n`;
      if (Buffer.byteLength(text) <= MAX_LINE_BYTES) return text;
      return (
        shrinkToLine(formatLine, { time, level, message: fullMessage }, rendered) ??
        fallbackLine("the fields exceed the maximum length of a line")
      );
    } catch {
      return fallbackLine("the fields could not be formatted");
    }
  }

  return { debug: logAt("debug"), info: logAt("info"), warn: logAt("warn"), error: logAt("error") };
}

interface LineHead {
  readonly time: string;
  readonly level: LogLevel;
  readonly message: string;
}

/** Shortens the longest values of the line first. Returns `undefined` if that does not make it short enough. */
function shrinkToLine(
  formatLine: typeof jsonLine,
  head: LineHead,
  fields: Readonly<Record<string, unknown>>,
): string | undefined {
  return shrinkToFit([head.message, Object.entries(fields)], (smaller) => {
    const [message, entries] = smaller as readonly [string, readonly (readonly [string, unknown])[]];
    const pairs = entries.filter((entry) => Array.isArray(entry));
    const text = `${formatLine({ ...head, message }, Object.fromEntries(pairs))}\n`;
    return Buffer.byteLength(text) <= MAX_LINE_BYTES ? text : undefined;
  });
}

function jsonLine(head: LineHead, fields: Readonly<Record<string, unknown>>): string {
  // JSON escapes C0 controls. DEL, C1 and directional marks matter when the file is read in a terminal.
  return escapeControls(JSON.stringify({ ...head, ...fields }));
}

function humanLine({ time, level, message }: LineHead, fields: Readonly<Record<string, unknown>>): string {
  const pairs = Object.entries(fields).map(([name, value]) => {
    const text = typeof value === "string" && /^[^\s"={}[\]]+$/.test(value) ? value : JSON.stringify(value);
    return ` ${name}=${text}`;
  });
  return escapeControls(`${time} ${level.toUpperCase().padEnd(5)} ${message}${pairs.join("")}`);
}

/** Controls (C0, DEL, C1), line and paragraph separators, and marks that reorder what a terminal shows. */
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

function escapeControls(text: string): string {
  return text.replace(CONTROLS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

interface RenderBudget {
  values: number;
  readonly withStack: boolean;
}

/** Converts `value` to a JSON value within all limits. */
function renderValue(value: unknown, budget: RenderBudget, depth: number): unknown {
  if (budget.values-- <= 0) return "…";
  if (typeof value === "string") return cutText(value, MAX_TEXT_LENGTH);
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (typeof value === "boolean" || value === null) return value;
  if (typeof value !== "object") return cutText(String(value), 100);
  if (value instanceof Error) return renderError(value, budget, 0);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "invalid date" : value.toISOString();
  if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`;
  if (depth >= MAX_DEPTH) return "…";
  if (Array.isArray(value)) return value.slice(0, MAX_MEMBERS).map((item) => renderValue(item, budget, depth + 1));
  const members: Record<string, unknown> = {};
  for (const name of Object.keys(value).slice(0, MAX_MEMBERS)) {
    members[cutText(name, 100)] = renderValue((value as Record<string, unknown>)[name], budget, depth + 1);
  }
  return members;
}

function renderError(error: Error, budget: RenderBudget, causes: number): unknown {
  const { code } = error as { readonly code?: unknown };
  const { cause } = error;
  const rendered: Record<string, unknown> = { name: cutText(String(error.name), 100) };
  if (typeof code === "string" || typeof code === "number") rendered["code"] = cutText(String(code), 100);
  rendered["message"] = cutText(String(error.message), MAX_TEXT_LENGTH);
  if (budget.withStack && typeof error.stack === "string") rendered["stack"] = cutText(error.stack, MAX_STACK_LENGTH);
  if (cause === undefined || cause === null) return rendered;
  if (causes >= MAX_CAUSES) rendered["cause"] = "…";
  else if (cause instanceof Error) rendered["cause"] = renderError(cause, budget, causes + 1);
  else rendered["cause"] = renderValue(cause, budget, 1);
  return rendered;
}

function timeOf(now: () => number): string {
  try {
    return new Date(now()).toISOString();
  } catch {
    return "unknown";
  }
}
