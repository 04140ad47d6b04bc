/**
 * Formats the rehearsal of a text: the decision, the resulting text, the findings with their reasons, and the removed
 * findings with their reasons.
 */

import { escapeControls, escapeControlsOfLines } from "../base/index.ts";
import type { Rehearsal } from "../server/core/guardrails/index.ts";
import { finderText, REMOVED_WORDS, scoreText, unreadTexts } from "./guardrail-text.ts";
import { type TextColumn, tableLines } from "./table-text.ts";

export interface ShownAs {
  /** Width of the terminal in cells; `undefined` if unlimited. */
  readonly width: number | undefined;
  readonly isColored: boolean;
}

/** Maximum number of removed findings that are shown; -json has all. */
const MAX_REMOVED = 25;

const column = (name: string, isNumeric = false): TextColumn => ({ name, isNumeric });

const FOUND = [column("type"), column("score", true), column("bytes", true), column("by"), column("why")];
const REMOVED = [column("type"), column("score", true), column("bytes", true), column("by"), column("removed")];

/** Yields the lines, each with its line end. */
export function* inspectionLines(rehearsal: Rehearsal, { width, isColored }: ShownAs): Generator<string> {
  const bold = (text: string): string => (isColored ? `\u001b[1m${text}\u001b[22m` : text);
  const { findings, shadow, removed, failures, skipped, segments, message, more } = rehearsal;
  yield `${bold("decision")}  ${decisionWords(rehearsal, isColored)}\n`;
  if (message !== null) yield `${bold("message")}   ${escapeControls(message)}\n`;
  for (const { detector, kind, refuses } of failures) {
    const consequence = refuses ? "the message is refused for it" : "the message is forwarded without it";
    yield `${bold("failed")}    ${escapeControls(detector)}: ${kind}; ${consequence}\n`;
  }
  for (const { rule, part, error } of skipped) {
    yield `${bold("skipped")}   ${escapeControls(rule)}: its \`${part}\` could not be evaluated (${error})\n`;
  }
  for (const notice of unreadTexts(rehearsal)) yield `${bold("not asked")} ${escapeControls(notice)}\n`;
  if (rehearsal.detectors.length === 0) yield "There are no detectors.\n";

  if (findings.length === 0) yield `\n${bold("Nothing was found.")}\n`;
  else {
    yield `\n${bold("Found")}\n`;
    yield* tableLines(
      FOUND,
      findings.map((one) => [...rowOf(one), scoreText(one)]),
      width,
    );
  }
  if (shadow.length > 0) {
    yield `\n${bold("Found by detectors in shadow mode, which rules do not see")}\n`;
    yield* tableLines(
      FOUND,
      shadow.map((one) => [...rowOf(one), scoreText(one)]),
      width,
    );
  }
  if (removed.length > 0) {
    yield `\n${bold("Removed findings")}\n`;
    const rows = removed.slice(0, MAX_REMOVED).map((one) => [...rowOf(one), REMOVED_WORDS[one.by]]);
    yield* tableLines(REMOVED, rows, width);
  }
  const unlisted = more + Math.max(0, removed.length - MAX_REMOVED);
  if (unlisted > 0) yield `and ${unlisted} more\n`;

  for (const { text, rewritten } of segments) {
    yield `\n${bold(rewritten ? "Resulting text" : "Text (unchanged)")}\n`;
    yield `${escapeControlsOfLines(text)}\n`;
  }
}

function decisionWords({ decision, decisions, segments, rule }: Rehearsal, isColored: boolean): string {
  const isRewritten = segments.some(({ rewritten }) => rewritten);
  const word = decision === "allow" && isRewritten ? "allow, rewritten" : decision;
  const colour = decision !== "allow" ? 31 : isRewritten ? 33 : 32;
  const by = decisions.map((one) => `${one.rule}=${one.action}`);
  const acted = by.length > 0 ? `  by ${by.join(", ")}` : rule === null ? "" : `  by ${rule}`;
  return `${isColored ? `\u001b[${colour}m${word}\u001b[39m` : word}${escapeControls(acted)}`;
}

const rowOf = (finding: Rehearsal["findings"][number]): readonly string[] => [
  finding.type,
  finding.score.toFixed(2),
  `${finding.start}..${finding.end}`,
  finderText(finding),
];
