/** Recognizers without a country. Source: guardrails reference, 1.2. */

import { isDea } from "../../../core/guardrails/index.ts";
import type { Recognizer } from "../types.ts";
import { CARDS } from "./cards.ts";
import { WALLETS } from "./crypto.ts";
import { DATES } from "./dates.ts";
import { ADDRESSES, HARDWARE_ADDRESSES, PHONE_SETS, VEHICLES } from "./devices.ts";
import { EMAILS, URLS } from "./hosts.ts";
import { IBANS } from "./iban.ts";

/** Recognizer of registrations with the US Drug Enforcement Administration. */
const MEDICAL_LICENSES: Recognizer = {
  name: "MedicalLicenseRecognizer",
  entity: "MEDICAL_LICENSE",
  category: "pii",
  patterns: [
    {
      kind: "shape",
      name: "dea",
      score: 0.4,
      shapes: ["L2d7", "L1d8"],
      validate: (value) => /^[ABCDEFGHJKLMPRSTUX][A-Z9]/.test(value) && isDea(value),
    },
  ],
  context: ["medical", "certificate", "dea"],
};

export const GENERIC: readonly Recognizer[] = [
  CARDS,
  WALLETS,
  DATES,
  EMAILS,
  IBANS,
  ADDRESSES,
  HARDWARE_ADDRESSES,
  URLS,
  MEDICAL_LICENSES,
  PHONE_SETS,
  VEHICLES,
];
