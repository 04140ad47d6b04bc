/** Validates addresses given as flags before anything is opened. */

import { parseAddress } from "../base/index.ts";
import { clipArgument, UsageError } from "./parse-flags.ts";

/** Throws `UsageError` if `text` is neither `host:port` nor `:port`. */
export function checkAddress(flag: string, text: string): void {
  if (parseAddress(text) === undefined) {
    throw new UsageError(`flag '-${flag}' takes an address such as 127.0.0.1:8484, not '${clipArgument(text)}'`);
  }
}
