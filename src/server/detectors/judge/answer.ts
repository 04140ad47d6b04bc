/** What all formats have in common of an answer. Source: judge-formats reference, 1. */
import type { ModelSaid } from "../ports.ts";
import { wrong } from "./types.ts";

/** What the judge says, without traces of its reasoning. Throws a `DetectorError`; never "nothing found" for want of an answer. */
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
