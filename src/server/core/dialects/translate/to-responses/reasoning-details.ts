/**
 * Collects `reasoning_details` of a chat answer, which a provider expects back unchanged. A stream sends a detail in pieces of
 * the same type and index. They are joined, so that the result is the same as for a whole answer.
 */
import { objectOf, type Values } from "../../json/json-values.ts";

/** Members whose pieces form one text. */
const JOINED: ReadonlySet<string> = new Set(["text", "summary", "data"]);

/**
 * Returns whether the detail has content to keep. `isOpen` is true while the reasoning that its signature would cover is
 * unfinished.
 */
export function hasContent(value: unknown, isOpen: boolean): value is Values {
  const detail = objectOf(value);
  if (detail === undefined) return false;
  const { text, summary, data, signature } = detail;
  return (
    isNonEmptyText(text) || isNonEmptyText(summary) || isNonEmptyText(data) || (isOpen && isNonEmptyText(signature))
  );
}

const isNonEmptyText = (value: unknown): boolean => typeof value === "string" && value !== "";

export function addDetail(details: Values[], detail: Values): void {
  const last = details.at(-1);
  const isPiece = last !== undefined && detail["index"] !== undefined;
  if (isPiece && last["type"] === detail["type"] && last["index"] === detail["index"]) {
    details[details.length - 1] = joined(last, detail);
  } else details.push(detail);
}

function joined(last: Values, piece: Values): Values {
  const present = Object.entries(piece).filter(([, value]) => value !== null && value !== undefined);
  const members = present.map(([name, value]): [string, unknown] => {
    const before = last[name];
    const isJoined = JOINED.has(name) && typeof before === "string" && typeof value === "string";
    return [name, isJoined ? before + value : value];
  });
  return { ...last, ...Object.fromEntries(members) };
}
