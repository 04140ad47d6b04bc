/** Recognizer of telephone numbers. Source: guardrails reference, 1.6. */

import type { Recognizer } from "../types.ts";
import { nationalTest } from "./numbers.ts";
import { nationalSearch, searchInternational } from "./phone-search.ts";

const CONTEXT = [
  ...[
    "phone",
    "telephone",
    "tel",
    "mobile",
    "cell",
    "cellphone",
    "fax",
    "call",
    "dial",
    "whatsapp",
    "sms",
    "contact",
    "voicemail",
    "answering at",
    "message to",
    "reach me",
    "ring me",
  ],
  ...["telefon", "handy", "mobil", "rufnummer", "anruf", "fon", "téléphone", "portable", "appel", "teléfono", "móvil"],
  ...[
    "telefone",
    "celular",
    "telefono",
    "cellulare",
    "telefoon",
    "هاتف",
    "جوال",
    "تلفون",
    "موبايل",
    "الاتصال",
    "טלפון",
    "फोन",
    "फ़ोन",
    "电话",
    "電話",
    "전화",
  ],
];

const WRITTEN = String.raw`[0-9](?:[0-9]|[ \-./()]{1,3}[0-9]){6,27}(?:(?:;ext=| {0,2}(?:extension|ext\.?|x|#) ?)[0-9]{1,7})?`;

/**
 * Returns the recognizer. Numbers with a country code match in all regions, national ones as dialed in `regions`. A
 * plus sign with a number of its country's plan is hardly ever anything else; digits of a plan alone often are.
 */
export function phoneRecognizer(regions: readonly string[]): Recognizer {
  return {
    name: "PhoneRecognizer",
    entity: "PHONE_NUMBER",
    category: "pii",
    patterns: [
      {
        kind: "search",
        name: "international",
        score: 0.7,
        keywords: ["+", "00", "011"],
        containingRegex: String.raw`(?:\+[ (]?|\()?${WRITTEN}`,
        search: searchInternational,
      },
      {
        kind: "search",
        name: "national",
        score: 0.4,
        keywords: [],
        containingRegex: String.raw`\(?${WRITTEN}`,
        search: nationalSearch(nationalTest(regions)),
      },
    ],
    context: CONTEXT,
  };
}
