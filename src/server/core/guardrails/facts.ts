/** What policy has to know of detectors and of the document to be compiled. */

import type { Deployment, Path, Severity } from "../config/index.ts";
import type { FormatOf } from "./formats.ts";
import type { Issued } from "./issued.ts";
import type { GuardrailPolicy } from "./judgement.ts";
import type { SegmentKind } from "./types.ts";

/** `guardrails` of a document. */
export type Guardrails = NonNullable<Deployment["guardrails"]>;

export type GuardrailRule = Guardrails["rules"][number];

export interface DetectorFacts {
  readonly name: string;
  /** As in the document: `pii`, `llm`, … */
  readonly type: string;
  /** `apply_to`, with its default. */
  readonly kinds: readonly SegmentKind[];
  readonly mode: "inline" | "shadow";
  /** Of requests. */
  readonly schedule: "sync" | "overlap" | "async";
  /** Every `<category>/<LABEL>` that it can give; undefined: not known, or open. */
  readonly gives: readonly string[] | undefined;
  /** Its findings have a reach in streams: the `horizon` of `Detector`. */
  readonly hasHorizon: boolean;
}

export interface PolicyFacts {
  /** In the order of the document. */
  readonly detectors: readonly DetectorFacts[];
  /** `detectors`: undefined: all; empty: none. */
  readonly profiles: readonly { readonly name: string; readonly detectors: readonly string[] | undefined }[];
  /** Left out: of no type it is known how its values are written. */
  readonly formatOf?: FormatOf | undefined;
  /** Left out: what `fpe` writes is not remembered. */
  readonly issued?: Issued | undefined;
}

export interface GuardrailProblem {
  readonly severity: Severity;
  /** From the document's root: `["guardrails", "rules", 0, "when"]`. */
  readonly path: Path;
  readonly message: string;
}

/** What `compilePolicy(guardrails, facts)` of `guardrails/policy` gives. */
export interface CompiledPolicy {
  /** Undefined: no profile; one that is not known is as none. To be used only when no problem is an error. */
  readonly of: (profile: string | undefined) => GuardrailPolicy;
  readonly problems: readonly GuardrailProblem[];
}
