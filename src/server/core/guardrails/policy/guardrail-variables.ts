/** Variables of `when` and `select`. Source: design decisions, section 11, "CEL of `when`" and "An annotation". */

import { DOUBLE, INT, listOf, mapOf, recordOf, STRING, type Variables, type VariableTypes } from "../../cel/index.ts";
import { type GuardrailVariables, type Segment, utf8Length } from "../index.ts";
import type { Candidate } from "./finding-candidates.ts";

const ANNOTATION = recordOf("annotation", {
  type: STRING,
  category: STRING,
  label: STRING,
  score: DOUBLE,
  kind: STRING,
  detector: STRING,
  recognizer: STRING,
  ref: STRING,
  turn: INT,
  length: INT,
});

const CONTEXT: VariableTypes = {
  direction: STRING,
  hop: STRING,
  key: recordOf("key", { name: STRING, metadata: mapOf(STRING, STRING) }),
  agent: recordOf("agent", { name: STRING, issuer: STRING, subject: STRING }),
  user: recordOf("user", { name: STRING, issuer: STRING, subject: STRING, email: STRING }),
  profile: STRING,
  model: STRING,
  route: STRING,
  server: STRING,
  method: STRING,
  name: STRING,
  peer: STRING,
};

export const WHEN_VARIABLES: VariableTypes = {
  ...CONTEXT,
  annotations: listOf(ANNOTATION),
  labels: mapOf(STRING, DOUBLE),
};

export const SELECT_VARIABLES: VariableTypes = { ...CONTEXT, a: ANNOTATION };

/** Annotation as expressions see it; never contains the text. */
export interface AnnotationValue {
  readonly type: string;
  readonly category: string;
  readonly label: string;
  readonly score: number;
  readonly kind: string;
  readonly detector: string;
  readonly recognizer: string;
  readonly ref: string;
  readonly turn: bigint;
  /** Length of the text in UTF-8 bytes. */
  readonly length: bigint;
}

export function annotationValue({ annotation, type }: Candidate, { kind, ref, turn, text }: Segment): AnnotationValue {
  const { category, label, score, detector, recognizer, start, end } = annotation;
  const length = BigInt(utf8Length(text.slice(start, end)));
  return { type, category, label, score, kind, detector, recognizer, ref, turn: BigInt(turn), length };
}

/** Annotations of the detectors that a rule requires, extended as pieces arrive. */
export interface View {
  readonly annotations: AnnotationValue[];
  readonly labels: Record<string, number>;
}

/**
 * Builds the variables of `when`. The fields are written out, since an object spread takes longer than all rules of a policy.
 * The lists grow in place.
 */
export const whenVariables = (
  { key, agent, user, direction, hop, profile, model, route, server, method, name, peer }: GuardrailVariables,
  { annotations, labels }: View,
): Variables => ({
  key,
  agent,
  user,
  direction,
  hop,
  profile,
  model,
  route,
  server,
  method,
  name,
  peer,
  annotations,
  labels,
});

/** Returns an empty view. Its labels have no prototype, so that a label cannot match an inherited property. */
export const emptyView = (): View => ({ annotations: [], labels: Object.create(null) as Record<string, number> });

export function addToView({ annotations, labels }: View, value: AnnotationValue): void {
  annotations.push(value);
  labels[value.type] = Math.max(labels[value.type] ?? 0, value.score);
}
