/**
 * Text formats of the configuration: how each is checked, described, and printed as a plain pattern.
 *
 * The patterns are for editors that read the printed schema. They accept a little more than the checks, never less.
 */

import { parseAddress, parseDuration } from "../../../../base/index.ts";
import type { Format } from "./schema.ts";

interface FormatRule {
  readonly check: (text: string) => boolean;
  /** Text that completes "expected …". */
  readonly expected: string;
  readonly pattern: string;
  /** Examples for editors, for keys without their own. */
  readonly examples: readonly string[];
}

const DURATION = "(\\d+(\\.\\d*)?|\\.\\d+)(ns|us|µs|μs|ms|s|m|h)";
const ADDRESS = "[^\\s/]*:\\d{1,5}";
const LONGEST_URL = 2048;

const duration: FormatRule = {
  check: (text) => (parseDuration(text) ?? -1) >= 0,
  expected: "a duration such as `250ms` or `1h30m`",
  pattern: `^\\+?(0|(${DURATION})+)$`,
  examples: ["250ms", "30s", "1h30m"],
};

const address: FormatRule = {
  check: (text) => parseAddress(text) !== undefined,
  expected: "an address such as `127.0.0.1:8484` or `:8484`",
  pattern: `^${ADDRESS}$`,
  examples: ["127.0.0.1:8484", ":8484"],
};

const url: FormatRule = {
  check: isHttpUrl,
  expected: "an absolute `http://` or `https://` URL without a user in it",
  pattern: "^[Hh][Tt][Tt][Pp][Ss]?://",
  examples: ["https://service.example.com"],
};

export const FORMATS: Readonly<Record<Format, FormatRule>> = {
  duration,
  "positive-duration": {
    ...duration,
    check: (text) => (parseDuration(text) ?? 0) > 0,
    expected: "a duration above zero such as `250ms` or `1h30m`",
  },
  "signed-duration": {
    check: (text) => parseDuration(text) !== undefined,
    expected: "a duration such as `12h` or `-1s`",
    pattern: `^[-+]?(0|(${DURATION})+)$`,
    examples: ["12h", "-1s"],
  },
  "duration-or-empty": orEmpty(duration),
  address,
  "address-or-empty": orEmpty(address),
  "address-or-none": {
    check: (text) => text === "none" || address.check(text),
    expected: `${address.expected}, or \`none\``,
    pattern: `^(none|${ADDRESS})$`,
    examples: [...address.examples, "none"],
  },
  url,
  "url-or-empty": orEmpty(url),
  date: {
    check: isDate,
    expected: "a date such as `2026-01-31`",
    pattern: "^\\d{4}-\\d{2}-\\d{2}$",
    examples: ["2026-01-31"],
  },
};

function orEmpty(rule: FormatRule): FormatRule {
  return {
    check: (text) => text === "" || rule.check(text),
    expected: `${rule.expected}, or nothing`,
    pattern: `${rule.pattern}|^$`,
    examples: rule.examples,
  };
}

function isHttpUrl(text: string): boolean {
  if (text.length > LONGEST_URL || !/^https?:\/\/[^/\\\s]/i.test(text) || !URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username === "" && password === "";
}

function isDate(text: string): boolean {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (match === null) return false;
  const [year, month, day] = match.slice(1).map(Number) as [number, number, number];
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1];
  return days !== undefined && day >= 1 && day <= days;
}
