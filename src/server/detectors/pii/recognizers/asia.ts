/** Recognizers of identifiers of Asia, Africa and Oceania except the Gulf. Source: guardrails reference, 1.3. */

import {
  isAadhaar,
  isAbn,
  isAcn,
  isAuMedicare,
  isFrn,
  isGstin,
  isKoreanBrn,
  isNric,
  isPhTin,
  isRrn,
  isShortDate,
  isTfn,
  isThaiId,
  isUen,
  isVerhoeff,
  isZaId,
} from "../../../core/guardrails/index.ts";
import type { Proof } from "../types.ts";
import { BY_CONTEXT, keeps, like, national, proves, shape } from "./recognizer-rows.ts";

/**
 * Returns a check of a number with a date of birth and a digit for sex and century. A matching sum proves it; a wrong
 * one does not reject it.
 */
function korean(sex: RegExp, check: (value: string) => boolean): (value: string) => Proof {
  return (value) => {
    const isBorn = isShortDate(Number(value.slice(0, 2)), Number(value.slice(2, 4)), Number(value.slice(4, 6)));
    if (!isBorn || !sex.test(value.charAt(6))) return false;
    return check(value) ? true : undefined;
  };
}

/** Pattern of Thai numbers, with the provinces in the second and third digit. */
const THAI = /^[1-8](?:1[0-9]|2[0-7]|3[0-9]|4[0-9]|5[0-8]|6[0-7]|7[0-7]|8[0-6]|9[0-6])/;

const KOREAN_PASSPORT = /^[MSROD]/;

export const ASIA = [
  national(
    "SgFin",
    "SG_NRIC_FIN",
    ["nric", "fin", "identity card", "singapore"],
    shape("series, digits, letter", 0.5, "L1d7L1", proves(isNric)),
  ),
  national(
    "SgUen",
    "SG_UEN",
    ["uen", "unique entity number", "acra", "business registration"],
    shape("business or company", BY_CONTEXT, "d8L1 d9L1", keeps(isUen)),
    shape("other entity", 0.3, "L1d2L2d4L1", proves(isUen)),
  ),
  national(
    "AuAbn",
    "AU_ABN",
    ["abn", "australian business number"],
    shape("2-3-3-3", 0.1, "d2-d3-d3-d3", proves(isAbn), { separators: " " }),
    shape("bare", BY_CONTEXT, "d11", keeps(isAbn)),
  ),
  national(
    "AuAcn",
    "AU_ACN",
    ["acn", "australian company number", "company number"],
    shape("9", 0.3, "d3-d3-d3 d9", keeps(isAcn)),
  ),
  national("AuTfn", "AU_TFN", ["tfn", "tax file number", "tax file"], shape("9", 0.3, "d3-d3-d3 d9", keeps(isTfn))),
  national("AuMedicare", "AU_MEDICARE", ["medicare"], shape("10", BY_CONTEXT, "d4-d5-d1 d10", keeps(isAuMedicare))),
  national(
    "InPan",
    "IN_PAN",
    ["pan", "permanent account number", "income tax"],
    shape("holder's kind", 0.5, "L5d4L1", like(/^.{3}[ABCFGHJLPT]/)),
    shape("any", 0.1, "L5d4L1"),
  ),
  national(
    "InAadhaar",
    "IN_AADHAAR",
    ["aadhaar", "aadhar", "uidai", "आधार"],
    shape("12", BY_CONTEXT, "d12 d4-d4-d4", keeps(isAadhaar), { separators: " -:" }),
  ),
  national(
    "InGstin",
    "IN_GSTIN",
    ["gstin", "gst", "gst registration"],
    shape(
      "15",
      0.8,
      "d2L5d4L1x1L1x1",
      proves((value) => /^(?:0[1-9]|[12]\d|3[0-8]|97)/.test(value) && isGstin(value)),
    ),
  ),
  national(
    "InVoter",
    "IN_VOTER",
    ["voter", "epic", "elector", "election", "मतदाता"],
    shape("likely series", 0.4, "L3d7", like(/^.[ABCDGHJKMNPRSY]/)),
    shape("any", 0.3, "L3d7"),
  ),
  national(
    "InPassport",
    "IN_PASSPORT",
    ["passport", "पासपोर्ट"],
    shape("8", 0.1, "L1d7 L1d2-d5", like(/^[A-Z][1-9]\d{5}[1-9]$/), { separators: " " }),
  ),
  national(
    "KrRrn",
    "KR_RRN",
    ["주민등록번호", "주민번호", "rrn", "resident registration"],
    shape("6-7", 0.5, "d6-d7", korean(/[1-4]/, isRrn), { separators: "-" }),
    shape("bare", 0.3, "d13", korean(/[1-4]/, isRrn)),
  ),
  national(
    "KrFrn",
    "KR_FRN",
    ["외국인등록번호", "frn", "foreigner registration", "alien registration"],
    shape("6-7", 0.5, "d6-d7", korean(/[5-8]/, isFrn), { separators: "-" }),
    shape("bare", 0.3, "d13", korean(/[5-8]/, isFrn)),
  ),
  national(
    "KrBrn",
    "KR_BRN",
    ["사업자등록번호", "사업자번호", "brn", "business registration"],
    shape("3-2-5", 0.1, "d3-d2-d5", proves(isKoreanBrn), { separators: "-" }),
    shape("bare", BY_CONTEXT, "d10", keeps(isKoreanBrn)),
  ),
  national(
    "KrDriverLicense",
    "KR_DRIVER_LICENSE",
    ["운전면허", "운전면허번호", "driver license"],
    shape("2-2-6-2", 0.2, "d2-d2-d6-d2", like(/^(?:1[1-9]|2[0-68])/)),
  ),
  national(
    "KrPassport",
    "KR_PASSPORT",
    ["여권", "여권번호", "passport"],
    shape("current", 0.1, "L1d3L1d4", like(KOREAN_PASSPORT)),
    shape("older", 0.05, "L1d8", like(KOREAN_PASSPORT)),
  ),
  national(
    "ThTnin",
    "TH_TNIN",
    ["เลขประจำตัวประชาชน", "บัตรประชาชน", "tnin", "thai national", "thai id"],
    shape(
      "1-4-5-2-1",
      0.5,
      "d1-d4-d5-d2-d1",
      proves((value) => THAI.test(value) && isThaiId(value)),
    ),
    shape(
      "bare",
      BY_CONTEXT,
      "d13",
      keeps((value) => THAI.test(value) && isThaiId(value)),
    ),
  ),
  national(
    "PhTin",
    "PH_TIN",
    ["tin", "bir", "rdo", "taxpayer identification"],
    shape("in groups", 0.05, "d3-d3-d3 d3-d3-d3-d3", keeps(isPhTin)),
    shape("bare", 0.01, "d9 d12", keeps(isPhTin)),
  ),
  national(
    "NgNin",
    "NG_NIN",
    ["nin", "nimc", "national identification number"],
    shape("bare", 0.3, "d11", keeps(isVerhoeff)),
  ),
  national(
    "ZaIdNumber",
    "ZA_ID_NUMBER",
    ["identity number", "rsa id", "south african id", "sa id", "id number", "identiteitsnommer"],
    shape("13", 0.2, "d13 d6-d4-d3 d6-d4-d2-d1", proves(isZaId)),
  ),
];
