/** Whether a text that people are to read holds a secret: what the recognizers of secrets find, at once and in this thread. */

import { engineOf } from "./engines.ts";
import { SECRETS } from "./recognizers/secrets/index.ts";
import { compileScan, type Scan } from "./scan.ts";

/** A key of ours whose checksum is wrong, as one that was typed, is no less one. */
const GATEWAY_KEY = /gwk_[0-9A-Za-z]{8}_[A-Za-z0-9_-]{49}/;

let scan: Scan | undefined;

/** The entity type of the first, such as `GITHUB_TOKEN`; undefined: there is none. For texts of some hundred characters. */
export function secretIn(text: string): string | undefined {
  if (GATEWAY_KEY.test(text)) return "GATEWAY_KEY";
  scan ??= compile();
  return scan(text)[0]?.label;
}

function compile(): Scan {
  const engine = engineOf("pure");
  if (engine === undefined) throw new Error("the engine of V8 is always there");
  return compileScan(SECRETS, { engine, usesContext: false });
}
