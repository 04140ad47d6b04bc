/**
 * Edits the file that owns a document, if it is on this machine: checks that the file has the text in force, and sets
 * single values without changing other lines.
 */

import { isMap, isScalar, isSeq, parseDocument } from "yaml";
import type { OwnedDocument } from "../../console/index.ts";
import { type DeploymentFile, openDeployment } from "../packs/pack-target-file.ts";
import { UsageError } from "../parse-flags.ts";
import type { Io } from "../process-io.ts";

/**
 * Returns why the document cannot be changed on this machine; `undefined` if it can. A file that differs from the
 * document in force must first be reloaded or corrected.
 */
export async function whyNotEditableHere({ file, text }: OwnedDocument, io: Io): Promise<string | undefined> {
  if (file === undefined) return undefined;
  try {
    return whyFileDiffers(await openDeployment(file, true, io), file, text);
  } catch (error) {
    if (error instanceof UsageError) return `${elsewhereText(file)} (${error.message}): do it there`;
    throw error;
  }
}

const elsewhereText = (file: string): string => `the document is ${file} of its node, and is not on this machine`;

export function whyFileDiffers(
  { source, withByteOrderMark }: DeploymentFile,
  file: string,
  text: string,
): string | undefined {
  if (source.text === text || withByteOrderMark(source.text) === text) return undefined;
  return source.text === ""
    ? `${elsewhereText(file)}: do it there`
    : `${file} on this machine differs from the configuration in force: reload it (R in config) or correct it first`;
}

/**
 * Returns the text with `version` raised, since a node rejects a different text with the same version. Returns it
 * unchanged if there is no version to raise.
 */
export function withVersion(text: string): string {
  const version = parseDocument(text).get("version");
  if (typeof version !== "number" || !Number.isSafeInteger(version)) return text;
  return withScalar(text, ["version"], version + 1) ?? text;
}

/** Returns the edited text. If it differs from the text before but has the same `version`, its `version` is raised. */
export function raisedVersion(before: string, after: string): string {
  const isSameVersion = parseDocument(before).get("version") === parseDocument(after).get("version");
  return before !== after && isSameVersion ? withVersion(after) : after;
}

/** Returns the detector's own `threshold` and its path; `undefined` if the document sets none. */
export function detectorThreshold(
  text: string,
  detector: string,
): { readonly path: readonly [string, ...(string | number)[]]; readonly threshold: number } | undefined {
  const parsed = parseDocument(text);
  const detectors: unknown = parsed.getIn(["guardrails", "detectors"]);
  const count = isSeq(detectors) ? detectors.items.length : 0;
  for (let at = 0; at < count; at += 1) {
    const of = ["guardrails", "detectors", at] as const;
    if (parsed.getIn([...of, "name"]) !== detector) continue;
    const threshold: unknown = parsed.getIn([...of, "threshold"]);
    return typeof threshold === "number" ? { path: [...of, "threshold"], threshold } : undefined;
  }
  return undefined;
}

/**
 * Sets one value without changing any other line. Returns `undefined` if the parent is missing, or is not written in
 * block style.
 */
export function withScalar(
  text: string,
  path: readonly [string, ...(string | number)[]],
  value: number,
): string | undefined {
  const parsed = parseDocument(text);
  const found = parsed.getIn(path, true);
  if (isScalar(found) && found.range) return text.slice(0, found.range[0]) + String(value) + text.slice(found.range[1]);
  if (found !== undefined) return undefined;
  const parent: unknown = parsed.getIn(path.slice(0, -1), true);
  if (!isMap(parent) || parent.flow || !parent.range) return undefined;
  const [start] = parent.range;
  const indent = text.slice(text.lastIndexOf("\n", start - 1) + 1, start);
  if (indent.trim() !== "") return undefined;
  return `${text.slice(0, start)}${path.at(-1)}: ${value}\n${indent}${text.slice(start)}`;
}
