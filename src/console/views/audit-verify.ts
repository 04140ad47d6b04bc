/** Verification of an exported audit trail, as by `gateway audit verify`: start, progress and result. */

import { escapeControls } from "../../base/index.ts";
import { askFile } from "../actions/ask-file.ts";
import type { Context } from "../model/context.ts";
import { BLANK, type Line, line } from "../model/text.ts";
import type { Verification } from "../model/verification.ts";
import type { Offer, View } from "../model/view.ts";

const PLACE = { view: "audit-verify" } as const;

/** Offer that every view of the audit trail has. */
export const verifyOffer: Offer = {
  verb: "verify",
  label: "verify file",
  needsRow: false,
  start: (_, { verification }) =>
    askFile("audit trail to verify", verification?.file ?? "", (file) => ({
      kind: "job",
      job: { kind: "verify_audit", file },
      place: PLACE,
    })),
};

const HOW_TO: readonly Line[] = [
  line("Nothing verified yet. Press V and name an exported trail: the JSON lines that the nodes write to stderr."),
  BLANK,
  line("It is checked on this machine, chain by chain: hashes, signatures, links, missing and duplicate numbers."),
  line("Nothing is sent to the gateway. The same on a command line:"),
  BLANK,
  line("  gateway audit verify FILE", "strong"),
  BLANK,
  line(
    "With the heads that the cluster has witnessed it also finds a trail that was cut short at its end. Save them with",
  ),
  line("w in audit-heads, then:"),
  BLANK,
  line("  gateway audit verify -heads audit-heads.json FILE", "strong"),
];

function lines({ verification }: Context): readonly Line[] {
  return verification === undefined ? HOW_TO : [...headOf(verification), BLANK, ...resultOf(verification)];
}

const headOf = ({ file }: Verification): readonly Line[] => [
  [
    { text: "file  ", tone: "dim" },
    { text: escapeControls(file), tone: "strong" },
  ],
];

function resultOf({ state }: Verification): readonly Line[] {
  switch (state.kind) {
    case "running":
      return [line(`verifying: ${escapeControls(state.message)}`)];
    case "failed":
      return [
        line(`! NOT CHECKED: ${escapeControls(state.message)}`, "fail"),
        BLANK,
        line("V tries again or takes another file."),
      ];
    case "done":
      return [
        state.report.isGood
          ? line("VERIFIED: every chain in the file is whole, and each record is signed by its chain's key.", "strong")
          : line("! DOES NOT VERIFY: the file was changed, or is incomplete. The findings are below.", "fail"),
        BLANK,
        ...state.report.lines,
        ...(state.report.isGood ? [] : ADVICE),
      ];
    default:
      return state satisfies never;
  }
}

const ADVICE: readonly Line[] = [
  BLANK,
  line(
    "Keep the file as it is. Compare it with another copy (the collector's, OTLP), and look at CONFLICTS in audit-heads.",
  ),
];

export const auditVerifyView: View = {
  id: "audit-verify",
  aliases: ["verify"],
  title: "Audit verify",
  about: "checks an exported audit trail on this machine",
  group: "audit",
  needs: () => [],
  body: { kind: "page", lines },
  offers: [verifyOffer],
};
