/**
 * `gateway guardrails list`: prints the detectors and rules in force at a running gateway. Source: design decisions,
 * section 17 (`GET /guardrails`).
 */

import { createAdminClient, type GuardrailRecord } from "../../admin-api/index.ts";
import { escapeControlsOfLines, formatDuration } from "../../base/index.ts";
import { chooseAddress } from "../choose-address.ts";
import { isColored } from "../color.ts";
import { joinLines, writeAll } from "../copy-streams.ts";
import type { FlagsOf } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import { reportFailure } from "../report-failure.ts";
import { type TextColumn, tableLines } from "../table-text.ts";
import type { guardrailsListFlags } from "../verb-flags.ts";

const TIME_LIMIT_MS = 30_000;

export async function run(
  options: FlagsOf<typeof guardrailsListFlags>,
  _: readonly string[],
  io: Io,
): Promise<ExitStatus> {
  const address = chooseAddress(options, io);
  const client = createAdminClient({ address, timeLimitMs: TIME_LIMIT_MS });
  try {
    const { items } = await client.call("list_guardrails", {}, { signal: io.signal });
    const lines = options.json ? [`${escapeControlsOfLines(JSON.stringify(items, null, 2))}\n`] : linesOf(items, io);
    await writeAll(io.stdout, joinLines(lines), io.signal);
    return 0;
  } catch (error) {
    return reportFailure("guardrails list", error, address, io);
  } finally {
    client.close();
  }
}

interface Shown extends TextColumn {
  readonly of: (row: GuardrailRecord) => string | number | null;
}

const text = (name: string, of: Shown["of"]): Shown => ({ name, isNumeric: false, of });
const number = (name: string, of: Shown["of"]): Shown => ({ name, isNumeric: true, of });
/** Joins the names with commas. `all`: text for null, which means no restriction. */
const names = (list: readonly string[] | null, all = ""): string => (list === null ? all : list.join(","));

const DETECTORS: readonly Shown[] = [
  text("detector", ({ name }) => name),
  text("type", ({ type }) => type),
  text("mode", ({ mode, role }) => (role === "confirm" ? `${mode},confirm` : mode)),
  text("schedule", ({ schedule }) => schedule),
  text("reads", ({ kinds }) => names(kinds)),
  text("finds", ({ entities, recognizers }) => names(entities, "all") + (recognizers.length === 0 ? "" : " +own")),
  number("threshold", ({ threshold }) => threshold),
  text("timeout", ({ timeout_ms: ms }) => (ms === null ? null : formatDuration(ms))),
  text("on_error", ({ on_error: onError }) => onError),
  text("exempt", ({ exempt }) => names(exempt)),
  text("fingerprint", ({ fingerprint }) => fingerprint),
  number("horizon", ({ horizon_bytes: bytes }) => bytes),
  number("read", ({ texts_read: count }) => count),
  number("remembered", ({ texts_remembered: count }) => count),
  number("errors", ({ errors }) => errors),
];

const RULES: readonly Shown[] = [
  text("rule", ({ name }) => name),
  text("action", ({ type, operator }) => (operator === null ? type : `${type}:${operator}`)),
  text("kinds", ({ type, kinds }) => (type === "redact" ? names(kinds, "all") : "")),
  text("requires", ({ requires }) => names(requires, "all")),
  text("controls", ({ controls }) => names(controls)),
  text("on_error", ({ on_error: onError }) => onError),
  text("exempt", ({ exempt }) => names(exempt)),
  number("acted", ({ decisions }) => decisions),
  number("errors", ({ errors }) => errors),
];

function* linesOf(items: readonly GuardrailRecord[], io: Io): Generator<string> {
  const bold = (line: string): string => (isColored(io) ? `\u001b[1m${line.trimEnd()}\u001b[22m\n` : line);
  if (items.length === 0) yield "There are no guardrails.\n";
  for (const [kind, columns] of [
    ["detector", DETECTORS],
    ["rule", RULES],
  ] as const) {
    const rows = items.filter((row) => row.kind === kind);
    if (rows.length === 0) continue;
    if (kind === "rule" && rows.length < items.length) yield "\n";
    const [head = "", ...lines] = tableLines(
      columns,
      rows.map((row) => columns.map(({ of }) => of(row))),
      io.columns(),
    );
    yield bold(head);
    yield* lines;
  }
}
