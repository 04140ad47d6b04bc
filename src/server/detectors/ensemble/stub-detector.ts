/** Stub for rehearsals: reports the given findings for each whole text. */
import type { Detector, DetectorInput, Finding } from "../../core/guardrails/index.ts";
import type { Member, StubFinding } from "./types.ts";

export function withStubDetector(member: Member, findings: readonly StubFinding[]): Member {
  const { name, type } = member.detector;
  const inText = ({ segment: { text } }: DetectorInput): readonly Finding[] =>
    findings.map((one) => ({ ...one, start: 0, end: text.length, recognizer: "", trace: undefined }));
  const detector: Detector = {
    name,
    type,
    fingerprint: "",
    readsContext: [],
    detect: (texts) => texts.map(inText),
    horizon: undefined,
  };
  return { ...member, detector };
}
