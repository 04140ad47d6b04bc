/** Common parts of answers in all formats. Source: judge-formats reference, 1. */
import type { ModelSaid } from "../ports.ts";
import { wrong } from "./types.ts";

/**
 * Returns the judge's answer without its reasoning. Throws a `DetectorError` if there is none, instead of reporting nothing
 * found.
 */
export function answerOf({ text, isFinished }: ModelSaid): string {
  if (!isFinished) throw wrong("is unfinished");
  let rest = text.replace(/^\ufeff/, "").trim();
  if (rest.startsWith("<think>")) {
    const end = rest.indexOf("</think>");
    if (end < 0) throw wrong("is unfinished");
    rest = rest.slice(end + "</think>".length).trim();
  }
  if (rest === "") throw wrong("is empty");
  return rest;
}
