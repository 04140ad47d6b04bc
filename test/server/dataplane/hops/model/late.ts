/** Guards whose detectors answer when a test says so: the ensemble and the policy are those of the gateway. */
import assert from "node:assert/strict";
import { guardrails } from "../../../../../src/server/core/config/deployment/guardrails/index.ts";
import { readDocument } from "../../../../../src/server/core/config/index.ts";
import type { Detector, Finding, Scanned } from "../../../../../src/server/core/guardrails/index.ts";
import { compilePolicy } from "../../../../../src/server/core/guardrails/policy/index.ts";
import { compileEnsemble } from "../../../../../src/server/detectors/index.ts";
import { createGuard, type Guard } from "../../../../../src/server/snapshot/index.ts";

/** Finds words that it is named after: `beside` finds `BESIDE`. */
export class Words implements Detector {
  readonly type = "pii";
  readonly readsContext = [];
  readonly horizon = undefined;
  readonly name: string;
  readonly fingerprint: string;
  asked = 0;
  failure: Error | undefined;
  #gate: Promise<void> | undefined;

  constructor(name: string) {
    this.name = name;
    this.fingerprint = name;
  }

  /** It answers no more until what this returns is called. */
  hold(): () => void {
    let answer = (): void => undefined;
    this.#gate = new Promise((resolve) => {
      answer = resolve;
    });
    return () => {
      this.#gate = undefined;
      answer();
    };
  }

  detect(texts: readonly Scanned[]) {
    this.asked++;
    const answer = () => {
      if (this.failure !== undefined) throw this.failure;
      return texts.map((scanned) => this.#find(scanned));
    };
    return this.#gate === undefined ? answer() : this.#gate.then(answer);
  }

  #find({ segment: { text } }: Scanned): readonly Finding[] {
    const label = this.name.toUpperCase();
    return [...text.matchAll(new RegExp(label, "g"))].map(({ index: start }) => ({
      start,
      end: start + label.length,
      category: "custom",
      label,
      score: 1,
      recognizer: "",
      trace: undefined,
    }));
  }
}

export interface LateGuard {
  readonly guard: Guard;
  readonly of: (name: string) => Words;
}

const NO_SECRET = { kind: "problem", message: "there are no secrets here" } as const;

/** `document`: the value of `guardrails`; detectors are of type `pii`, with a name each. */
export function lateGuard(document: object): LateGuard {
  const references = { env: () => undefined, secret: () => NO_SECRET, file: () => NO_SECRET };
  const source = { name: "test", text: JSON.stringify(document) };
  const read = readDocument(guardrails, source, references, { fileAllowed: true });
  assert.ok(read.document, JSON.stringify(read.problems));
  const words = new Map<string, Words>();
  const build = (_: unknown, name: string) => {
    const detector = new Words(name);
    words.set(name, detector);
    return { kind: "detector", detector } as const;
  };
  const compiled = compileEnsemble(read.document, { build });
  assert.ok(compiled.kind === "ensemble");
  const { ensemble } = compiled;
  const facts = ensemble.members.map(({ name, kinds, mode, schedule }) => ({
    name,
    type: "pii",
    kinds: [...kinds],
    mode,
    schedule,
    gives: undefined,
    hasHorizon: false,
  }));
  const { of, problems } = compilePolicy(read.document, { detectors: facts, profiles: [] });
  assert.deepEqual(
    problems.filter(({ severity }) => severity === "error"),
    [],
  );
  const guard = createGuard(ensemble, of(undefined), read.document);
  return { guard, of: (name) => words.get(name) as Words };
}
