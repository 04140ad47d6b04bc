/** Addresses that flags give, looked at before anything is opened. */

import { parseAddress } from "../base/index.ts";
import { clip, UsageError } from "./flags.ts";

/** Throws `UsageError` for anything but `host:port` or `:port`. */
export function checkAddress(flag: string, text: string): void {
  if (parseAddress(text) === undefined) {
    throw new UsageError(`flag '-${flag}' takes an address such as 127.0.0.1:8484, not '${clip(text)}'`);
  }
}
