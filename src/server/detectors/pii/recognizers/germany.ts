/** Recognizers of identifiers of Germany. Source: guardrails reference, 1.3. */

import { isGermanVat, isIcao, isKvnr, isLanr, isRepeated, isRvnr, isSteuerId } from "../../../core/guardrails/index.ts";
import { BY_CONTEXT, capital, keeps, like, national, proves, shape, upTo } from "./recognizer-rows.ts";

const isDocument = (value: string): boolean => /^[CFGHJ-NPRTV-Z][CFGHJ-NPRTV-Z\d]{7}\d$/.test(value) && isIcao(value);

/**
 * Pattern of tax numbers in the form for all federal states: 13 digits that begin with the state, and a zero in the
 * fifth place.
 */
const ELSTER = /^(?:1[01]|2[1-46-8]|3[0-2]|4[01]|5\d|9\d)\d\d0\d{8}$/;
const STATE = /^(?:0[1-9]|1[0-6])\d{11}$/;

export const GERMANY = [
  national(
    "DeTaxId",
    "DE_TAX_ID",
    [
      "steuer-id",
      "steuerid",
      "steueridentifikationsnummer",
      "steuerliche identifikationsnummer",
      "idnr",
      "tax id",
      "tin",
    ],
    shape("bare", BY_CONTEXT, "d11 d2-d3-d3-d3", keeps(isSteuerId)),
  ),
  national(
    "DeTaxNumber",
    "DE_TAX_NUMBER",
    ["steuernummer", "steuer-nr", "st-nr", "stnr", "finanzamt", "tax number"],
    shape("of all states", 0.5, "d13", like(ELSTER)),
    shape("13 digits", 0.3, "d13", like(STATE)),
    shape("3/3/5", 0.4, "d3-d3-d5", undefined, { separators: "/" }),
    shape("in groups", 0.2, "d2-d3-d5 d3-d4-d4 d2-d4-d4 d2-d3-d4 d3-d3-d4", undefined, { separators: "/ -" }),
  ),
  national(
    "DeVatId",
    "DE_VAT_ID",
    ["ust-idnr", "ust-id", "ustid", "umsatzsteuer", "vat id", "vat", "mehrwertsteuer"],
    shape("bare", 0.5, "L2d9", proves(isGermanVat)),
    shape("in groups", 0.4, "L2-d9 L2-d3-d3-d3 L2d3-d3-d3", proves(isGermanVat), { separators: " .-" }),
  ),
  national(
    "DePassport",
    "DE_PASSPORT",
    ["reisepass", "reisepassnummer", "pass", "passnummer", "passport"],
    shape("9", BY_CONTEXT, "L1x7d1", keeps(isDocument)),
  ),
  national(
    "DeIdCard",
    "DE_ID_CARD",
    ["personalausweis", "ausweis", "ausweisnummer", "identity card", "id card", "perso"],
    shape("9", BY_CONTEXT, "L1x7d1", keeps(isDocument)),
    shape("old", 0.5, "L1d8", like(/^T/)),
  ),
  national(
    "DeSocialSecurity",
    "DE_SOCIAL_SECURITY",
    ["sozialversicherung", "rentenversicherung", "rvnr", "svnr", "versicherungsnummer", "social security"],
    shape("bare", 0.5, "d8L1d3", proves(isRvnr)),
    shape("in groups", 0.3, "d2-d6-L1-d3 d8-L1-d3 d2-d6-L1-d2-d1", proves(isRvnr)),
  ),
  national(
    "DeHealthInsurance",
    "DE_HEALTH_INSURANCE",
    [
      "krankenversicherung",
      "krankenversichertennummer",
      "krankenkasse",
      "versichertennummer",
      "kvnr",
      "egk",
      "health insurance",
    ],
    shape("bare", BY_CONTEXT, "L1d9", keeps(isKvnr)),
  ),
  national(
    "DeFuehrerschein",
    "DE_FUEHRERSCHEIN",
    ["führerschein", "fuehrerschein", "fahrerlaubnis", "driving licence"],
    shape("bare", 0.35, "L2d8x1 x1d2x6d1x1", capital(like(/^(?:[A-Z]{2}\d{8}[A-Z\d]|[A-Z]\d{2}[A-Z\d]{6}\d[A-Z\d])$/))),
  ),
  national(
    "DeKfz",
    "DE_KFZ",
    ["kennzeichen", "kfz", "nummernschild", "fahrzeug", "amtliches kennzeichen", "zulassung"],
    shape(
      "plate",
      0.3,
      [1, 2, 3]
        .flatMap((area) =>
          [1, 2].map(
            (series) =>
              `${upTo(`L${area}-L${series}-d`, 1, 4)} ${upTo(`L${area}-L${series}d`, 1, 4)} ${upTo(`L${area}-L${series}-d`, 1, 4, "L1")}`,
          ),
        )
        .join(" "),
      capital(like(/^[A-Z]{2,5}[1-9]\d{0,3}[EH]?$/)),
      { mayMixSeparators: true },
    ),
  ),
  national(
    "DeHandelsregister",
    "DE_HANDELSREGISTER",
    ["handelsregister", "amtsgericht", "registergericht", "registernummer"],
    shape("department and number", 0.5, `${upTo("L3-d", 1, 6)} ${upTo("L3d", 1, 6)}`, like(/^HR[AB]/)),
  ),
  national(
    "DePlz",
    "DE_PLZ",
    ["plz", "postleitzahl", "adresse", "anschrift"],
    shape("5", 0.05, "d5", like(/^(?!0100[0]|00|9999[9])\d{5}$/)),
  ),
  national(
    "DeLanr",
    "DE_LANR",
    ["lanr", "arztnummer", "lebenslange arztnummer", "arzt-nr"],
    shape("bare", 0.3, "d9", keeps(isLanr)),
  ),
  national(
    "DeBsnr",
    "DE_BSNR",
    ["bsnr", "betriebsstättennummer", "betriebsstätte", "betriebsstaettennummer"],
    shape(
      "bare",
      0.2,
      "d9",
      keeps((value) => !isRepeated(value) && !value.endsWith("0000000")),
    ),
  ),
];
