/** Recognizer of IBAN_CODE. Source: guardrails reference, 1.2 and 1.5 (SWIFT registry). */

import { isIbanSum } from "../../../core/guardrails/index.ts";
import type { Recognizer } from "../types.ts";

/** Formats of the part after country and check digits: `n` for digits, `a` for letters, `c` for either. */
const FORMATS = new Map(
  (
    "AD 8n12c, AE 3n16n, AL 8n16c, AT 16n, AZ 4a20c, BA 16n, BE 12n, BG 4a6n8c, BH 4a14c, BI 23n, BR 23n1a1c, BY 4c4n16c, " +
    "CH 5n12c, CR 18n, CY 8n16c, CZ 20n, DE 18n, DJ 23n, DK 14n, DO 4c20n, EE 16n, EG 25n, ES 20n, FI 14n, FO 14n, " +
    "FR 10n11c2n, GB 4a14n, GE 2a16n, GI 4a15c, GL 14n, GR 7n16c, GT 24c, HR 17n, HU 24n, IE 4a14n, IL 19n, IQ 4a15n, " +
    "IS 22n, IT 1a10n12c, JO 4a4n18c, KW 4a22c, KZ 3n13c, LB 4n20c, LC 4a24c, LI 5n12c, LT 16n, LU 3n13c, LV 4a13c, " +
    "LY 21n, MC 10n11c2n, MD 2c18c, ME 18n, MK 3n10c2n, MR 23n, MT 4a5n18c, MU 4a19n3a, NL 4a10n, NO 11n, OM 3n16c, " +
    "PK 4a16c, PL 24n, PS 4a21c, PT 21n, QA 4a21c, RO 4a16c, RS 18n, RU 14n15c, SA 2n18c, SC 4a20n3a, SD 14n, SE 20n, " +
    "SI 15n, SK 20n, SM 1a10n12c, ST 21n, SV 4a20n, TL 19n, TN 20n, TR 6n16c, UA 6n19c, VA 18n, VG 4a16n, XK 16n"
  )
    .split(", ")
    .map((row) => [row.slice(0, 2), formatOf(row.slice(3))] as const),
);

function formatOf(format: string): RegExp {
  const classes: Readonly<Record<string, string>> = { n: "[0-9]", a: "[A-Z]", c: "[0-9A-Z]" };
  return new RegExp(`^${format.replace(/(\d+)([nac])/g, (_, count, kind) => `${classes[kind]}{${count}}`)}$`);
}

/** Returns whether a value is an IBAN. `value` is in upper case, without separators. */
function isIban(value: string): boolean {
  return FORMATS.get(value.slice(0, 2))?.test(value.slice(4)) === true && isIbanSum(value);
}

function shapes(): string[] {
  const found: string[] = [];
  for (let length = 11; length <= 30; length++) {
    found.push(`L2d2x${length}`);
    const fours = new Array<string>(Math.floor(length / 4)).fill("x4");
    found.push(["L2d2", ...fours, ...(length % 4 === 0 ? [] : [`x${length % 4}`])].join("-"));
  }
  return found;
}

export const IBANS: Recognizer = {
  name: "IbanRecognizer",
  entity: "IBAN_CODE",
  category: "pii",
  patterns: [{ kind: "shape", name: "iban", score: 0.5, shapes: shapes(), validate: isIban }],
  context: ["iban", "bank", "transaction"],
};
