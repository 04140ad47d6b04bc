/**
 * Computes the windows of a `confirm` detector, and the findings that it confirms. Source: specification document 3,
 * `confirm_window`, `narrow_spans`.
 */
import type { Finding, Window } from "../../core/guardrails/index.ts";

/**
 * Returns the windows: `reach` bytes around each finding, ascending and disjoint, without splitting characters. Empty
 * if there are no findings.
 */
export function windowsAround(text: string, findings: readonly Finding[], reach: number): readonly Window[] {
  const windows: Window[] = [];
  for (const { start, end } of [...findings].sort((a, b) => a.start - b.start)) {
    const from = before(text, start, reach);
    const to = behind(text, end, reach);
    const last = windows.at(-1);
    if (last === undefined || from > last.end) windows.push({ start: from, end: to });
    else windows[windows.length - 1] = { start: last.start, end: Math.max(last.end, to) };
  }
  return windows;
}

function before(text: string, place: number, bytes: number): number {
  let at = place;
  for (let left = bytes; at > 0; ) {
    const isPair = at > 1 && isLow(text.charCodeAt(at - 1)) && isHigh(text.charCodeAt(at - 2));
    left -= isPair ? 4 : unitBytes(text.charCodeAt(at - 1));
    if (left < 0) break;
    at -= isPair ? 2 : 1;
  }
  return at;
}

function behind(text: string, place: number, bytes: number): number {
  let at = place;
  for (let left = bytes; at < text.length; ) {
    const isPair = isHigh(text.charCodeAt(at)) && isLow(text.charCodeAt(at + 1));
    left -= isPair ? 4 : unitBytes(text.charCodeAt(at));
    if (left < 0) break;
    at += isPair ? 2 : 1;
  }
  return at;
}

const unitBytes = (unit: number): number => (unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3);
const isHigh = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00;
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit < 0xe000;

/**
 * Shrinks each finding to the smallest span that contains the confirmed findings of the same entity within it;
 * unchanged if there are none.
 */
export function narrowed(findings: readonly Finding[], confirmed: readonly Finding[]): readonly Finding[] {
  if (confirmed.length === 0) return findings;
  return findings.map((finding) => {
    const { category, label, start, end } = finding;
    const within = confirmed.filter(
      (it) => it.category === category && it.label === label && it.start < end && it.end > start,
    );
    if (within.length === 0) return finding;
    const from = Math.max(start, Math.min(...within.map((it) => it.start)));
    const to = Math.min(end, Math.max(...within.map((it) => it.end)));
    return { ...finding, start: from, end: to };
  });
}
