/** Recognizers of identifiers of the United Kingdom. Source: guardrails reference, 1.3. */

import { isNhs } from "../../../core/guardrails/index.ts";
import { BY_CONTEXT, capital, keeps, like, national, shape } from "./recognizer-rows.ts";

const NINO = /^(?!BG|GB|KN|NK|NT|TN|ZZ)[ABCEGHJ-PRSTW-Z][ABCEGHJ-NPRSTW-Z]\d{6}[A-D]$/;
const LICENCE = /^[A-Z][A-Z9]{4}\d(?:0[1-9]|1[0-2]|5[1-9]|6[0-2])(?:0[1-9]|[12]\d|3[01])\d[A-Z][A-Z9][A-Z0-9][A-Z]{2}$/;
const POSTCODE = /^(?:[A-PR-UWYZ](?:\d[A-Z\d]?|[A-Z]\d[A-Z\d]?)\d[ABD-HJLNP-UW-Z]{2}|GIR0AA)$/;
const CURRENT_PLATE = /^[A-HJ-PR-Y]{2}(?:0[2-9]|[12]\d|5[1-9]|[67]\d)[A-HJ-PR-Z]{3}$/;

export const UK = [
  national(
    "Nhs",
    "UK_NHS",
    ["nhs", "national health service", "health authority", "health number", "patient"],
    shape("3-3-4", BY_CONTEXT, "d3-d3-d4 d10", keeps(isNhs)),
  ),
  national(
    "UkNino",
    "UK_NINO",
    ["national insurance", "ni number", "nino", "insurance number"],
    shape("prefix, digits, suffix", 0.5, "L2d6L1 L2-d2-d2-d2-L1 L2-d6-L1 L2d2-d2-d2L1", like(NINO)),
  ),
  national(
    "UkDrivingLicence",
    "UK_DRIVING_LICENCE",
    ["driving licence", "driver number", "dvla", "dl number", "licence number"],
    shape("16", 0.5, "L1x4d6L1x2L2", (value) =>
      LICENCE.test(value) && !/^.{0,4}9[A-Z]/.test(value.slice(0, 5)) ? undefined : false,
    ),
  ),
  national(
    "UkPassport",
    "UK_PASSPORT",
    ["passport", "hmpo", "travel document"],
    shape("letters and digits", 0.1, "L2d7"),
  ),
  national(
    "UkPostcode",
    "UK_POSTCODE",
    ["postcode", "post code", "zip", "address", "delivery"],
    shape("outward, inward", 0.1, "L1x1-d1L2 L1x2-d1L2 L1x3-d1L2", like(POSTCODE)),
    shape("bare", 0.1, "L1x1d1L2 L1x2d1L2 L1x3d1L2", capital(like(POSTCODE))),
  ),
  national(
    "UkVehicleRegistration",
    "UK_VEHICLE_REGISTRATION",
    ["vehicle", "registration", "plate", "vrn", "dvla", "v5c", "mot", "number plate"],
    shape("current", 0.3, "L2d2L3 L2d2-L3", (value, written) => {
      if (!CURRENT_PLATE.test(value)) return false;
      return written === written.toUpperCase() ? true : undefined;
    }),
    shape("prefix", 0.2, "L1d3L3 L1d3-L3 L1d2L3 L1d2-L3 L1d1-L3", capital()),
    shape("suffix", 0.15, "L3d3L1 L3-d3L1 L3d2L1 L3-d2L1", capital()),
  ),
];
