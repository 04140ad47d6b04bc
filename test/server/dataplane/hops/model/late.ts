/** Guards whose detectors answer when a test says so, with the gateway's ensemble and policy. */
import type { Detector, DetectorInput, Finding } from "../../../../../src/server/core/guardrails/index.ts";
import type { Guard } from "../../../../../src/server/snapshot/index.ts";
import { guardOf } from "../../support/guards.ts";

/** Finds its own name as a word: `beside` finds `BESIDE`. */
class NameDetector implements Detector {
  readonly type = "pii";
  readonly readsContext = [];
  readonly horizon = undefined;
  readonly name: string;
  readonly fingerprint: string;
  callCount = 0;
  failure: Error | undefined;
  #gate: Promise<void> | undefined;

  constructor(name: string) {
    this.name = name;
    this.fingerprint = name;
  }

  /** Stops answering until the returned function is called. */
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

  detect(texts: readonly DetectorInput[]) {
    this.callCount++;
    const answer = () => {
      if (this.failure !== undefined) throw this.failure;
      return texts.map((scanned) => this.#find(scanned));
    };
    return this.#gate === undefined ? answer() : this.#gate.then(answer);
  }

  #find({ segment: { text } }: DetectorInput): readonly Finding[] {
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

interface LateGuardrails {
  readonly detectors: readonly { readonly name: string; readonly type: "pii"; readonly schedule?: string }[];
  readonly [key: string]: unknown;
}

interface LateGuard {
  readonly guard: Guard;
  readonly of: (name: string) => NameDetector;
}

/** `guardrails` of a document, each of whose detectors has a name. */
export function lateGuard(guardrails: LateGuardrails): LateGuard {
  const detectors = Object.fromEntries(guardrails.detectors.map(({ name }) => [name, new NameDetector(name)]));
  return { guard: guardOf(guardrails, detectors), of: (name) => detectors[name] as NameDetector };
}
