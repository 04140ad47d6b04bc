/**
 * Recognizer of CRYPTO: wallet addresses with a checksum. Source: guardrails reference, 1.2 and 1.4; BIP 173, BIP 350,
 * EIP-55.
 */

import { base58CheckVersion, isBech32 } from "../../../core/guardrails/index.ts";
import type { Proof, Recognizer } from "../types.ts";
import { keccak256 } from "./keccak.ts";

/** Allowed first bytes by first character: Bitcoin, Litecoin, Dogecoin, Tron. */
const VERSIONS: Readonly<Record<string, readonly number[]>> = {
  "1": [0x00],
  "3": [0x05],
  L: [0x30],
  M: [0x32],
  D: [0x1e],
  T: [0x41],
};

const isAddress = (written: string): boolean => {
  const versions = VERSIONS[written[0] ?? ""];
  if (versions === undefined) return false;
  const version = base58CheckVersion(written);
  return version !== undefined && versions.includes(version);
};

/**
 * Checks the letter case of an Ethereum address. Letters of a single case prove nothing; mixed case is a checksum,
 * which must match.
 */
function etherProof(_value: string, written: string): Proof {
  const digits = written.slice(2);
  if (!/^0[xX][0-9a-fA-F]{40}$/.test(written)) return false;
  const lower = digits.toLowerCase();
  if (digits === lower || digits === digits.toUpperCase()) return undefined;
  const hash = keccak256(lower);
  for (let at = 0; at < 40; at++) {
    const character = lower[at]!;
    const right = Number.parseInt(hash[at]!, 16) > 7 ? character.toUpperCase() : character;
    if (digits[at] !== right) return false;
  }
  return true;
}

const lengths = (from: number, to: number, shape: (length: number) => string): string[] =>
  Array.from({ length: to - from + 1 }, (_, at) => shape(from + at));

export const WALLETS: Recognizer = {
  name: "CryptoRecognizer",
  entity: "CRYPTO",
  category: "pii",
  patterns: [
    {
      kind: "shape",
      name: "base58check",
      score: 0.5,
      shapes: lengths(26, 35, (length) => `x${length}`),
      validate: (_value, written) => isAddress(written),
    },
    {
      kind: "shape",
      name: "bech32",
      score: 0.5,
      shapes: [...lengths(25, 59, (length) => `L2d1x${length}`), ...lengths(25, 58, (length) => `L3d1x${length}`)],
      validate: (value, written) => /^(BC|LTC)1/.test(value) && isBech32(written),
    },
    { kind: "shape", name: "ether", score: 0.4, shapes: ["d1L1x40"], validate: etherProof },
  ],
  context: ["wallet", "btc", "bitcoin", "crypto", "ethereum", "eth", "usdt", "tron"],
};
