/** Recognizers of IP_ADDRESS, MAC_ADDRESS, IMEI and VIN. Source: guardrails reference, 1.2 and 8.3. */

import { isIP } from "node:net";
import { isLuhn, isRepeated } from "../../../core/guardrails/index.ts";
import type { MatchPosition, Proof, Recognizer } from "../types.ts";

const DIGITS = [..."0123456789"];
const HEX = [..."0123456789abcdef"];

/** Returns whether the address is not part of a longer word, version or address; a port may follow an IPv4 address. */
function stands({ text, start, end }: MatchPosition, version: 4 | 6): boolean {
  const after = version === 4 ? /^(?:\w|\.\d)/ : /^(?:[\w:]|\.\d)/;
  return !/[\w.]$/.test(text.slice(Math.max(0, start - 1), start)) && !after.test(text.slice(end, end + 2));
}

/** Words before a version number of four parts, which looks like an address and identifies nobody. */
const VERSION_BEFORE = /\b(?:version|ver|release|build|rev(?:ision)?)\.?:? {0,2}v?$/i;
const MAX_VERSION_PREFIX_LENGTH = 14;

function isVersion({ text, start }: MatchPosition): boolean {
  return VERSION_BEFORE.test(text.slice(Math.max(0, start - MAX_VERSION_PREFIX_LENGTH), start));
}

function addressProof(version: 4 | 6): (value: string, around: MatchPosition) => Proof {
  return (value, around) => {
    const [whole = "", prefix] = value.split("/");
    const address = whole.split("%")[0]!;
    if (!stands(around, version) || isIP(address) !== version || !/\d/.test(address)) return false;
    if (version === 4 && isVersion(around)) return false;
    return prefix !== undefined && Number(prefix) > (version === 4 ? 32 : 128) ? false : undefined;
  };
}

export const ADDRESSES: Recognizer = {
  name: "IpRecognizer",
  entity: "IP_ADDRESS",
  category: "pii",
  patterns: [
    {
      kind: "text",
      name: "ipv4",
      score: 0.6,
      regex: "\\b\\d{1,3}(?:\\.\\d{1,3}){3}(?:/\\d{1,2})?\\b",
      keywords: DIGITS.map((digit) => `${digit}.`),
      validate: addressProof(4),
    },
    {
      kind: "text",
      name: "ipv6",
      score: 0.6,
      regex:
        "(?:[0-9a-f]{1,4}:|::)(?:[0-9a-f]{0,4}:){0,7}(?:(?:\\d{1,3}\\.){3}\\d{1,3}|[0-9a-f]{1,4})?(?:%[0-9a-z]{1,16})?(?:/\\d{1,3})?",
      keywords: [...HEX.map((digit) => `:${digit}`), "::"],
      // An address has eight groups, or fewer and a double colon. This rules out times of day.
      prefilter: /::|:[0-9a-f]{1,4}:[0-9a-f]{1,4}:/i,
      validate: addressProof(6),
    },
  ],
  context: ["ip", "ipv4", "ipv6"],
};

const notBroadcast = (value: string): undefined | false =>
  /^[0-9A-F]{12}$/.test(value) && !/^(?:0+|F+)$/.test(value) ? undefined : false;

export const HARDWARE_ADDRESSES: Recognizer = {
  name: "MacAddressRecognizer",
  entity: "MAC_ADDRESS",
  category: "pii",
  patterns: [
    {
      kind: "shape",
      name: "pairs",
      score: 0.6,
      shapes: ["x2-x2-x2-x2-x2-x2"],
      separators: ":-",
      // A longer sequence of pairs is a fingerprint.
      isWhole: true,
      validate: notBroadcast,
    },
    { kind: "shape", name: "dotted", score: 0.6, shapes: ["x4-x4-x4"], separators: ".", validate: notBroadcast },
  ],
  context: ["mac", "mac address", "hardware address", "physical address", "ethernet"],
};

export const PHONE_SETS: Recognizer = {
  name: "ImeiRecognizer",
  entity: "IMEI",
  category: "pii",
  patterns: [
    {
      kind: "shape",
      name: "imei",
      score: 0.1,
      shapes: ["d15", "d2-d6-d6-d1"],
      // One number in ten has a matching check digit, so a match proves little.
      validate: (value) => (isLuhn(value) && !isRepeated(value) ? undefined : false),
    },
  ],
  context: ["imei", "handset", "device id"],
};

const VIN_WEIGHTS = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2];
/** Values of the letters A to Z; I, O and Q are not used. Source: 49 CFR 565.15. */
const VIN_VALUES = [1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3, 4, 5, 0, 7, 0, 9, 2, 3, 4, 5, 6, 7, 8, 9];

function vinProof(value: string): Proof {
  // No region code begins with 0, but hexadecimal numbers do.
  if (/^0|[IOQ]/.test(value) || !/^(?=.*[A-Z]).{12}.\d{4}$/.test(value)) return false;
  let sum = 0;
  for (let at = 0; at < 17; at++) {
    const unit = value.charCodeAt(at);
    sum += VIN_WEIGHTS[at]! * (unit < 0x3a ? unit - 0x30 : VIN_VALUES[unit - 0x41]!);
  }
  return "0123456789X"[sum % 11] === value[8];
}

export const VEHICLES: Recognizer = {
  name: "UsVinRecognizer",
  entity: "US_VIN",
  category: "pii",
  patterns: [{ kind: "shape", name: "vin", score: 0.3, shapes: ["x17"], validate: vinProof }],
  context: ["vin", "vehicle identification", "chassis"],
};
