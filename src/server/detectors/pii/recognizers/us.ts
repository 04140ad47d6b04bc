/** Recognizers of identifiers of the United States. Source: guardrails reference, 1.3, 1.5. */

import { isAbaRouting, isNpi, isRepeated } from "../../../core/guardrails/index.ts";
import { BY_CONTEXT, formed, keeps, like, national, proves, shape, upTo } from "./recognizer-rows.ts";

/** Checks a social security number. Excludes numbers of advertisements and examples, and those that are never issued. */
function isSsn(value: string): boolean {
  return (
    !/^(?:000|666|9|123456789|98765432|078051120)/.test(value) && !/^...00|0000$/.test(value) && !isRepeated(value)
  );
}

const ITIN = /^9\d\d(?:5\d|6[0-5]|7\d|8[0-8]|9[0-24-9])/;
const EIN = /^(?:0[1-6]|1[0-6]|2[0-7]|3\d|4[0-8]|5\d|6[0-8]|7[1-7]|8[0-8]|9[0-58-9])/;
const MBI_LETTER = "[AC-HJKMNP-RT-Y]";
const MBI = new RegExp(
  `^[1-9]${MBI_LETTER}(?:\\d|${MBI_LETTER})\\d${MBI_LETTER}(?:\\d|${MBI_LETTER})\\d${MBI_LETTER}{2}\\d\\d$`,
);

const PASSPORT_WORDS = ["passport", "travel document", "united states passport"];
const STATE_LICENSES = [
  upTo("L1d", 4, 14),
  "L1d18",
  upTo("L2d", 5, 7),
  "d2L3d5 d2L3d6 L1d6L1 d9L1 L2d6L1 d8L2 d3L2d4 d7L1 d8L1",
].join(" ");

export const US = [
  national(
    "UsSsn",
    "US_SSN",
    ["social security", "ssn", "social sec", "ssid", "social"],
    shape("3-2-4", 0.5, "d3-d2-d4", formed(isSsn), { separators: "- ." }),
    shape("loose", 0.05, "d5-d4 d3-d6 d9", formed(isSsn)),
  ),
  national(
    "UsItin",
    "US_ITIN",
    ["itin", "individual taxpayer", "taxpayer", "tax id", "taxid", "tin"],
    shape("3-2-4", 0.5, "d3-d2-d4", like(ITIN)),
    shape("bare", 0.3, "d9", like(ITIN)),
    shape("one separator", 0.05, "d5-d4 d3-d6", like(ITIN)),
  ),
  national(
    "UsEin",
    "US_EIN",
    ["ein", "fein", "employer identification", "employer id", "federal tax", "taxpayer", "tax id"],
    shape("2-7", 0.3, "d2-d7", like(EIN), { separators: "-" }),
    shape("bare", 0.01, "d9", like(EIN)),
  ),
  national(
    "UsBank",
    "US_BANK_NUMBER",
    ["account number", "account", "acct", "bank", "checking", "savings", "debit"],
    shape("bare", 0.05, upTo("d", 8, 17)),
  ),
  national(
    "AbaRouting",
    "ABA_ROUTING_NUMBER",
    ["aba", "routing", "abarouting", "bankrouting", "rtn", "transit number", "association"],
    shape(
      "bare",
      BY_CONTEXT,
      "d9",
      keeps((value) => /^[0-3678]/.test(value) && isAbaRouting(value)),
    ),
    shape(
      "4-4-1",
      0.3,
      "d4-d4-d1",
      proves((value) => /^[0-3678]/.test(value) && isAbaRouting(value)),
    ),
  ),
  national(
    "UsPassport",
    "US_PASSPORT",
    PASSPORT_WORDS,
    shape("digits", 0.05, "d9"),
    shape("next generation", 0.1, "L1d8"),
  ),
  national(
    "UsLicense",
    "US_DRIVER_LICENSE",
    ["driver", "driving", "dl", "dls", "cdl", "cdls"],
    shape("states", 0.3, STATE_LICENSES),
    shape("digits", 0.01, `${upTo("d", 6, 14)} d16`),
    shape("Washington", 0.3, "x12", like(/^[A-Z]{2,7}\d[A-Z0-9]*\d[A-Z0-9]*$/)),
  ),
  national(
    "UsMbi",
    "US_MBI",
    ["medicare", "mbi", "beneficiary", "cms", "medicaid", "hic", "hicn"],
    shape("bare", 0.3, "x11", like(MBI)),
    shape("4-3-4", 0.5, "x4-x3-x4", like(MBI), { separators: "-" }),
  ),
  national(
    "UsNpi",
    "US_NPI",
    ["npi", "national provider", "provider", "taxonomy", "physician"],
    shape(
      "bare",
      BY_CONTEXT,
      "d10",
      keeps((value) => /^[12]/.test(value) && isNpi(value)),
    ),
    shape(
      "4-3-3",
      BY_CONTEXT,
      "d4-d3-d3",
      keeps((value) => /^[12]/.test(value) && isNpi(value)),
    ),
  ),
];
