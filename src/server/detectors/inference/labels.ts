/**
 * Reads the names of a model's labels, and other values of its `config.json`. Source: specification document 3
 * (`labels`, `labels_path`); model-hub reference, 6.2.
 */

import { readFileSync, statSync } from "node:fs";

/** Maximum size of the file, in bytes. */
const MAX_CONFIG = 4 << 20;
const MAX_LABELS = 10_000;

export interface ModelConfig {
  /** Labels in index order; `undefined` if the file has none. */
  readonly labels: readonly string[] | undefined;
  /** Problem type, such as `multi_label_classification`. */
  readonly problemType: string | undefined;
}

/** Reads `config.json`. Throws an error that describes the problem of the file. */
export function readModelConfig(path: string): ModelConfig {
  const { size } = statSync(path);
  if (size > MAX_CONFIG)
    throw new Error(`${path} has ${size} bytes, which is too large for the configuration of a model`);
  const read: unknown = JSON.parse(readFileSync(path, "utf8"));
  if (typeof read !== "object" || read === null) throw new Error(`${path} is not a JSON object`);
  const problemType = "problem_type" in read && typeof read.problem_type === "string" ? read.problem_type : undefined;
  const labels = "id2label" in read && read.id2label != null ? labelsIn(read.id2label, path) : undefined;
  return { labels, problemType };
}

/** Parses labels whose keys are the numbers from 0 without gaps. */
function labelsIn(map: unknown, path: string): readonly string[] {
  const entries = typeof map === "object" && map !== null ? Object.entries(map) : [];
  const labels: string[] = [];
  for (const [key, label] of entries) {
    if (!/^\d{1,5}$/.test(key) || typeof label !== "string")
      throw new Error(`${path}: \`id2label\` is not a map of labels`);
    labels[Number(key)] = label;
  }
  const isWhole = labels.length === entries.length && labels.length > 0 && labels.length <= MAX_LABELS;
  if (!isWhole) throw new Error(`${path}: the indices of \`id2label\` do not run from 0 without a gap`);
  return labels;
}

/** Entity types of common labels, including the map of Presidio. Source: guardrails reference, 3.1. */
export const ENTITY_TYPES: Readonly<Record<string, string>> = {
  PER: "PERSON",
  PERS: "PERSON",
  PATIENT: "PERSON",
  STAFF: "PERSON",
  HCW: "PERSON",
  LOC: "LOCATION",
  GPE: "LOCATION",
  ORG: "ORGANIZATION",
  HOSP: "ORGANIZATION",
  HOSPITAL: "ORGANIZATION",
  PATORG: "ORGANIZATION",
  MIS: "MISC",
  MISC: "MISC",
  DATE: "DATE_TIME",
  TIME: "DATE_TIME",
  NORP: "NRP",
  PHONE: "PHONE_NUMBER",
};

/** Labels that usually mean that nothing was found, in upper case. Source: specification document 3, `negative`. */
export const CLEAN_LABELS: ReadonlySet<string> = new Set([
  "SAFE",
  "BENIGN",
  "OK",
  "NONE",
  "NEUTRAL",
  "CLEAN",
  "NORMAL",
  "LABEL_0",
]);
